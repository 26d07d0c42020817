// The page is complete without this. It makes a strip of tokens one stop of the Tab key, with the arrow keys inside,
// and lets a tap on phones that do not focus what is tapped open a token.
for (const strip of document.querySelectorAll(".tokens")) {
  const tokens = [...strip.querySelectorAll(".token")];
  const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -tokens.length, End: tokens.length };
  const go = (token) => {
    tokens.forEach((other) => (other.tabIndex = other === token ? 0 : -1));
    token.focus();
  };
  tokens.forEach((token, i) => {
    token.tabIndex = i ? -1 : 0;
    token.addEventListener("click", () => go(token));
  });
  strip.addEventListener("keydown", (event) => {
    const i = tokens.indexOf(document.activeElement);
    if (event.key === "Escape") document.activeElement.blur();
    if (i < 0 || !(event.key in moves)) return;
    event.preventDefault();
    go(tokens[Math.min(tokens.length - 1, Math.max(0, i + moves[event.key]))]);
  });
}
