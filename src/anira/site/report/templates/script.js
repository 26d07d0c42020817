// The page is complete without this. It makes a strip of tokens one stop of the Tab key, with the arrow keys inside; lets a
// tap open a token on phones that do not focus what is tapped; and moves a tip under its token as far as the strip allows.
for (const strip of document.querySelectorAll(".tokens")) {
  const tokens = [...strip.querySelectorAll(".token")];
  const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -tokens.length, End: tokens.length };
  const go = (token) => {
    tokens.forEach((other) => (other.tabIndex = other === token ? 0 : -1));
    token.focus();
  };
  const place = ({ currentTarget: token }) => {
    const tip = token.querySelector(".tip");
    tip.style.left = "0";
    tip.style.left = `${Math.max(0, Math.min(token.offsetLeft, strip.clientWidth - tip.offsetWidth))}px`;
  };
  tokens.forEach((token, i) => {
    token.tabIndex = i ? -1 : 0;
    token.addEventListener("click", () => go(token));
    token.addEventListener("focus", place);
    token.addEventListener("pointerenter", place);
  });
  strip.addEventListener("keydown", (event) => {
    const i = tokens.indexOf(document.activeElement);
    if (i < 0) return;
    if (event.key === "Escape") tokens[i].blur();
    if (!(event.key in moves)) return;
    event.preventDefault();
    go(tokens[Math.min(tokens.length - 1, Math.max(0, i + moves[event.key]))]);
  });
}
