// How an instance is drawn: the picture of a problem, and its tokens shaded by depth. Texts are data, never markup.
const make = (tag, name, text = "") => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== "") made.textContent = text;
  return made;
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
const seen = (text) => ({ " ": "\u2423", "\n": "\u23ce", "\t": "\u21e5" })[text] ?? text;
const facts = (token, most, probes) => {
  const lines = [["position", token.position], ["depth", `${token.depth} of ${most}`]];
  if (token.expected !== undefined) lines.push(["expected depth", token.expected]);
  const wrong = token.truth === undefined ? "wrong" : `wrong, it is ${seen(token.truth)}`;
  if (token.predicts !== undefined) lines.push(["predicts", `${seen(token.predicts)} (${token.right ? "right" : wrong})`]);
  const known = (token.probes ?? []).map((value, i) => [probes[i], value]).filter(([, value]) => value !== null);
  return [...lines, ...known];
};
// What would be said after each iteration: the likeliest token, or the likeliest few with their probabilities.
const said = ({ after, lens = [] }) => after ?? lens.map((text) => [[text]]);
const guess = ([text, share], truth) => {
  const right = text === truth, made = make("span", right ? "guess good" : "guess bad", right ? `${seen(text)} \u2713` : seen(text));
  if (share !== undefined) made.append(make("small", "", share.toFixed(2)));
  return made;
};
// One row for each iteration: its exit probability, and what would be said after it.
const iterations = (token) => {
  const { probs = [], depth, truth } = token, after = said(token), last = Math.max(probs.length, after.length);
  const table = make("table", "iterations"), head = table.createTHead().insertRow(), body = table.createTBody();
  if (!last) return [];
  head.append(make("th", "", "iteration"), ...(probs.length ? [make("th", "", "exit probability")] : []), ...(after.length ? [make("th", "", "says after it")] : []));
  for (let i = 0; i < last; i += 1) {
    const row = body.insertRow(), bar = make("span", "bar"), cells = [make("th", "", String(i + 1))];
    bar.style.setProperty("--q", probs[i]);
    if (probs.length) cells.push(make("td"));
    if (probs.length) cells[1].append(bar, probs[i].toFixed(2));
    if (after.length) cells.push(make("td"));
    if (after.length) cells.at(-1).append(...(after[i] ?? []).map((one) => guess(one, truth)));
    row.classList.toggle("exit", i + 1 === depth);
    row.append(...cells);
  }
  const box = make("div", "wide");
  box.append(table);
  return [box];
};
const explain = (panel, token, most, probes) => {
  const line = make("div", "facts");
  line.append(make("b", "", seen(token.text)), ...facts(token, most, probes).map(([name, value]) => make("span", "", `${name} ${value}`)));
  panel.replaceChildren(line, ...iterations(token));
};
// The answers of a strip, one column each: what would be said after each iteration.
const lens = (tokens) => {
  const answers = tokens.filter((token) => said(token).length);
  if (!answers.length || answers.length > 60) return [];
  const columns = answers.map((token) => said(token).map(([[text]]) => text)), table = make("table", "lens");
  table.insertRow().append(make("th", "", "correct answer"), ...answers.map((token) => make("td", "", seen(token.truth ?? ""))));
  for (let d = 0; d < Math.max(...columns.map((column) => column.length)); d += 1) {
    const row = table.insertRow();
    row.append(make("th", "", d ? String(d + 1) : "after iteration 1"));
    columns.forEach((column, i) => row.append(make("td", d >= column.length ? "" : column[d] === answers[i].truth ? "good" : "bad", seen(column[d] ?? ""))));
  }
  const box = make("div", "wide");
  box.tabIndex = 0;
  box.append(table);
  return [box];
};
const box = (token, most) => {
  const answers = token.predicts !== undefined, made = make("span", answers ? "token answer" : "token");
  made.append(make("b", "", seen(token.text)), make("small", "", String(token.depth)));
  if (answers) made.append(make("em", "", `\u2192 ${seen(token.predicts)} ${token.right ? "\u2713" : "\u2717"}`));
  made.style.setProperty("--share", `${Math.round((100 * token.depth) / most)}%`);
  made.role = "option";
  made.tabIndex = -1;
  made.ariaLabel = `${token.text}, depth ${token.depth}${answers ? `, predicts ${token.predicts}` : ""}`;
  return made;
};
// The boxes of a strip are one stop for the Tab key; arrows, Home and End move over them. `told` hears who was picked.
const boxes = (one, most, panel, probes, told) => {
  const made = make("div", "tokens"), all = one.tokens.map((token) => box(token, most));
  const pick = (i) => {
    all.forEach((other, j) => { other.tabIndex = i === j ? 0 : -1; other.ariaSelected = String(i === j); });
    explain(panel, one.tokens[i], most, probes);
  };
  const at = (target) => all.indexOf(target.closest(".token"));
  const to = { ArrowLeft: (i) => i - 1, ArrowUp: (i) => i - 1, ArrowRight: (i) => i + 1, ArrowDown: (i) => i + 1, Home: () => 0, End: () => all.length - 1 };
  const chosen = ({ target }) => {
    const i = at(target);
    if (i >= 0) { pick(i); told(one.tokens[i].position); }
  };
  for (const event of ["pointerover", "focusin", "click"]) made.addEventListener(event, chosen);
  made.addEventListener("keydown", (event) => {
    const next = to[event.key] && all[to[event.key](at(event.target))];
    if (next) next.focus();
    if (to[event.key]) event.preventDefault();
  });
  made.role = "listbox";
  made.ariaLabel = "Tokens, shaded by depth";
  made.append(...all);
  if (all.length) all[0].tabIndex = 0;
  made.pick = (position) => {
    const i = one.tokens.findIndex((token) => token.position === position);
    if (i >= 0) pick(i);
    return i >= 0;
  };
  return made;
};
const strip = (one, most, probes, told = () => {}) => {
  const made = make("div", "strip"), panel = make("div", "panel", "Point at a token, or move over them with the arrow keys.");
  const tokens = boxes(one, most, panel, probes, told);
  made.append(tokens, panel);
  made.pick = tokens.pick;
  return made;
};
