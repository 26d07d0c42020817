// The token view: pick an instance by knob and outcome, and one run or two. Texts are data, never markup.
const views = JSON.parse(document.getElementById("views").textContent);
const make = (tag, name, text = "") => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== "") made.textContent = text;
  return made;
};
const choice = (label, values, changed, first = values[0]) => {
  const box = make("label", "", `${label} `), list = make("select");
  for (const value of values) list.append(new Option(value, value, false, value === first));
  list.addEventListener("change", changed);
  box.append(list);
  return [box, () => list.value];
};
const shape = (tag, facts, text = "") => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(facts)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
};
const problem = ({ size: [width, height], boxes, lines }) => {
  const made = shape("svg", { class: "problem", viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": "the problem" });
  made.append(...lines.map((d) => shape("path", { d })));
  for (const { text, x, y, width: wide, kind, turn } of boxes) {
    made.append(shape("rect", { x: x - wide / 2, y: y - 13, width: wide, height: 26, rx: 12, class: kind }));
    made.append(shape("text", { x, y: y + 5 }, text), shape("text", { x: x + wide / 2 + 3, y: y - 7, class: "turn" }, turn));
  }
  return made;
};
const facts = (token, most, probes) => {
  const lines = [["position", token.position], ["depth", `${token.depth} of ${most}`]];
  if (token.expected !== undefined) lines.push(["expected depth", token.expected]);
  if (token.predicts !== undefined) lines.push(["predicts", `${token.predicts} (${token.right ? "right" : "wrong"})`]);
  const known = (token.probes ?? []).map((value, i) => [probes[i], value]).filter(([, value]) => value !== null);
  return [...lines, ...known];
};
// One column for each iteration: its exit probability, and what would be said after it.
const iterations = ({ probs = [], lens = [], depth, truth }) => Array.from({ length: Math.max(probs.length, lens.length) }, (_, i) => {
  const made = make("i", i + 1 === depth ? "exit" : "");
  if (probs.length) {
    const bar = make("span", "bar");
    bar.style.setProperty("--q", probs[i]);
    made.title = `q(${i + 1}) = ${probs[i]}`;
    made.append(bar);
  }
  made.append(make("span", "", String(i + 1)));
  if (lens.length) made.append(make("span", lens[i] === truth ? "good" : "bad", lens[i] ?? "\u00a0"));
  return made;
});
const explain = (panel, token, most, probes) => {
  const said = make("div", "facts"), columns = make("div", "iterations");
  said.append(make("b", "", token.text), ...facts(token, most, probes).map(([name, value]) => make("span", "", `${name} ${value}`)));
  if (token.probs || token.lens) columns.append([token.probs && "q(d)", token.lens && "says after d"].filter(Boolean).join(", "), ...iterations(token));
  panel.replaceChildren(said, columns);
};
// The answers of a strip, one column each: what would be said after each iteration.
const lens = (tokens) => {
  const answers = tokens.filter((token) => token.lens);
  if (!answers.length || answers.length > 60) return [];
  const table = make("table", "lens"), most = Math.max(...answers.map((token) => token.lens.length));
  for (let d = 0; d < most; d += 1) {
    const row = table.insertRow();
    row.append(make("th", "", d ? String(d + 1) : "after iteration 1"));
    for (const token of answers) row.append(make("td", d >= token.lens.length ? "" : token.lens[d] === token.truth ? "good" : "bad", token.lens[d] ?? ""));
  }
  const box = make("div", "wide");
  box.tabIndex = 0;
  box.append(table);
  return [box];
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
  made.append(tokens, panel, ...lens(one.tokens));
  return made;
};
for (const place of document.querySelectorAll(".tokenview")) {
  const { knob, max_depth: most, probes, runs, instances } = views[place.dataset.tokens];
  const bar = make("div", "picker"), count = make("span"), card = make("div");
  let at = 0;
  const picked = (one) => [run(), other()].map((name) => one.strips.find((own) => own.run === name)).filter(Boolean);
  const right = (one) => picked(one).every((own) => own.right);
  const fits = (one) => (["any", String(one.knob)].includes(size())) && (outcome() === "any" || right(one) === (outcome() === "right"));
  const show = (step) => {
    const found = instances.filter(fits);
    at = step === 0 ? 0 : (at + step + found.length) % Math.max(1, found.length);
    count.textContent = found.length ? `${at + 1} of ${found.length}` : "none like that";
    card.replaceChildren();
    if (!found.length) return;
    const one = found[at];
    card.append(make("p", "", `${knob} = ${one.knob}; true answer: ${one.answer}`));
    if (one.picture) card.append(problem(one.picture));
    card.append(...picked(one).map((own) => strip(own, most, probes)));
  };
  const again = () => show(0);
  const [sizes, size] = choice(knob, ["any", ...new Set(instances.map((one) => one.knob))], again);
  const [outcomes, outcome] = choice("answer", ["any", "right", "wrong"], again);
  const [first, run] = choice("run", runs, again);
  const [second, other] = choice("beside", ["none", ...runs], again, runs[1] ?? "none");
  const turn = (text, step) => {
    const button = make("button", "", text);
    button.addEventListener("click", () => show(step));
    return button;
  };
  bar.append(sizes, outcomes, ...(runs.length > 1 ? [first, second] : []), turn("previous", -1), turn("next", 1), count);
  place.append(bar, card);
  show(0);
}
