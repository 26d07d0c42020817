// The token view: pick an instance by knob and outcome, see a strip of tokens for each run. Texts are data, never markup.
const views = JSON.parse(document.getElementById("views").textContent);
const make = (tag, name, text = "") => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== "") made.textContent = text;
  return made;
};
const choice = (label, values, changed) => {
  const box = make("label", "", `${label} `), list = make("select");
  for (const value of values) list.append(new Option(value, value));
  list.addEventListener("change", changed);
  box.append(list);
  return [box, () => list.value];
};
const facts = (token, most, probes) => {
  const lines = [["position", token.position], ["depth", `${token.depth} of ${most}`]];
  if (token.expected !== undefined) lines.push(["expected depth", token.expected]);
  if (token.predicts !== undefined) lines.push(["predicts", `${token.predicts} (${token.right ? "right" : "wrong"})`]);
  const known = (token.probes ?? []).map((value, i) => [probes[i], value]).filter(([, value]) => value !== null);
  return [...lines, ...known];
};
const explain = (panel, token, most, probes) => {
  panel.replaceChildren(make("b", "", token.text));
  for (const [name, value] of facts(token, most, probes)) panel.append(make("span", "", `${name} ${value}`));
  if (!token.probs) return;
  const bars = make("span", "probs");
  token.probs.forEach((q, i) => {
    const bar = make("i", i + 1 === token.depth ? "exit" : "", String(i + 1));
    bar.style.setProperty("--q", q);
    bar.title = `q(${i + 1}) = ${q}`;
    bars.append(bar);
  });
  panel.append("q(d) ", bars);
};
const strip = (one, most, probes) => {
  const made = make("div", "strip"), tokens = make("div", "tokens"), panel = make("div", "panel", "Point at a token.");
  const early = one.left_out ? ` (${one.left_out} earlier tokens are not shown)` : "";
  made.append(make("p", one.right ? "good" : "bad", `${one.run} answers ${one.predicted}: ${one.right ? "right" : "wrong"}${early}`));
  for (const token of one.tokens) {
    const box = make("span", token.predicts === undefined ? "token" : "token answer");
    box.append(make("b", "", token.text), make("small", "", String(token.depth)));
    box.style.setProperty("--share", `${Math.round((100 * token.depth) / most)}%`);
    box.tabIndex = 0;
    for (const event of ["pointerenter", "focus", "click"]) box.addEventListener(event, () => explain(panel, token, most, probes));
    tokens.append(box);
  }
  made.append(tokens, panel);
  return made;
};
for (const place of document.querySelectorAll(".tokenview")) {
  const { knob, max_depth: most, probes, instances } = views[place.dataset.tokens];
  const bar = make("div", "picker"), count = make("span"), card = make("div");
  let at = 0;
  const right = (one) => one.strips.every((own) => own.right);
  const fits = (one) => (["any", String(one.knob)].includes(size())) && (outcome() === "any" || right(one) === (outcome() === "right"));
  const show = (step) => {
    const found = instances.filter(fits);
    at = step === 0 ? 0 : (at + step + found.length) % Math.max(1, found.length);
    count.textContent = found.length ? `${at + 1} of ${found.length}` : "none like that";
    card.replaceChildren();
    if (!found.length) return;
    const one = found[at];
    card.append(make("p", "", `${knob} = ${one.knob}; true answer: ${one.answer}`), ...one.strips.map((own) => strip(own, most, probes)));
  };
  const [sizes, size] = choice(knob, ["any", ...new Set(instances.map((one) => one.knob))], () => show(0));
  const [outcomes, outcome] = choice("answer", ["any", "right", "wrong"], () => show(0));
  const turn = (text, step) => {
    const button = make("button", "", text);
    button.addEventListener("click", () => show(step));
    return button;
  };
  bar.append(sizes, outcomes, turn("previous", -1), turn("next", 1), count);
  place.append(bar, card);
  show(0);
}
