// The explorer: pick or type a problem, and see what each run makes of it. Without a server, draw what stands here.
const state = JSON.parse(document.getElementById("state").textContent);
const find = (id) => document.getElementById(id);
const most = Math.max(...state.runs.map((run) => run.max_depth));
let problemNow = state.problem;
let chosen = null; // the position of the token that all runs explain

const send = async (path, body) => {
  let answer;
  try {
    answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Error("no answer: is anira explore still running?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error ?? `the server failed (${answer.status}): see its terminal`);
};
// While one call is under way, only the latest of the others waits: a slider makes many.
const latest = (act) => {
  let busy = false, waiting = null;
  return async (...given) => {
    if (busy) { waiting = given; return; }
    busy = true;
    for (let now = given; now; now = waiting) { waiting = null; await act(...now); }
    busy = false;
  };
};
const labelled = (text, control) => {
  const made = make("label", "", `${text} `);
  made.append(control);
  return made;
};
const number = (value, low, high, step = 1) => Object.assign(make("input"), { type: "number", min: low, max: high, step, value });

// Which numbers stand for which shade.
const scale = () => {
  const shown = most <= 8 ? Array.from({ length: most }, (_, i) => i + 1) : [1, Math.ceil(most / 4), Math.ceil(most / 2), Math.ceil((3 * most) / 4), most];
  const swatch = (depth) => {
    const made = make("span", "token", String(depth));
    made.style.setProperty("--share", `${Math.round((100 * depth) / most)}%`);
    return made;
  };
  find("scale").append("iterations:", ...shown.map(swatch), make("span", "", "An outlined box predicts the next token of the answer."));
};
const drawProblem = (one) => {
  const part = state.parts.find(({ subtask }) => subtask === (one.row?.subtask ?? "")) ?? state.parts[0];
  const from = one.row ? `row ${one.row.row} of the eval stream` : "typed by hand";
  if (find("fixed-question")) find("fixed-question").textContent = one.question;
  const known = one.answer === one.question ? ["Every token of it is to be predicted"] : ["Correct answer: ", make("b", "", one.answer)];
  find("truth").replaceChildren(...known, ` (${part.knob} = ${one.knob}, ${from})`);
  // A drawing of one line, such as a formula with its modulus, says what the picture leaves out.
  const written = one.picture && one.drawing.includes("\n") ? [] : [make("pre", "drawing", one.drawing)];
  find("picture").replaceChildren(...(one.picture ? [problem(one.picture)] : []), ...written);
  problemNow = one;
};

// How a run chooses depth: a rule of its policy, with a threshold where the rule has one, or a forced depth.
const depthControls = (run, changed) => {
  const made = make("div", "depth"), rule = make("select"), slider = Object.assign(make("input"), { type: "range", min: 0, step: 1 });
  const exact = number(0), hint = make("p", "hint"), forced = "forced depth";
  const rules = run.rules.length ? run.rules : [{ name: "" }];
  for (const { name } of rules) rule.append(new Option(name === "" ? "its own rule" : name === run.default_rule ? `${name} (its own)` : name, name));
  rule.append(new Option("the same for all tokens", forced));
  rule.value = run.default_rule;
  const depths = { stops: Array.from({ length: run.max_depth }, (_, i) => i + 1), low: 1, high: run.max_depth, start: run.max_depth };
  const bounds = () => (rule.value === forced ? depths : rules.find(({ name }) => name === rule.value));
  const nearest = (value) => bounds().stops.reduce((best, stop, i, stops) => (Math.abs(stop - value) < Math.abs(stops[best] - value) ? i : best), 0);
  const arrange = () => {
    const { stops, low, high, start, range, deeper } = bounds(), has = Boolean(stops);
    slider.hidden = exact.hidden = slider.previousElementSibling.hidden = !has;
    hint.textContent = has && range ? `threshold in ${range}; ${deeper} ones let tokens run longer` : "";
    if (!has) return;
    Object.assign(exact, { min: low, max: high, step: rule.value === forced ? 1 : "any", value: start });
    Object.assign(slider, { max: stops.length - 1 });
    slider.value = nearest(start);
    const name = rule.value === forced ? "depth" : "threshold";
    slider.previousElementSibling.textContent = name;
    slider.ariaLabel = `${name} of ${run.label}`;
    exact.ariaLabel = `${name} of ${run.label}, exactly`;
  };
  made.append(make("span", "", "depth by"), rule, make("span"), slider, exact, hint);
  rule.ariaLabel = `How ${run.label} chooses depth`;
  rule.addEventListener("change", () => { arrange(); changed(); });
  slider.addEventListener("input", () => { exact.value = bounds().stops[slider.value]; changed(); });
  exact.addEventListener("change", () => { slider.value = nearest(Number(exact.value)); changed(); });
  arrange();
  made.choice = () => {
    const value = bounds().stops ? Number(exact.value) : null;
    if (rule.value === forced) return { select: null, threshold: null, depth: value };
    return { select: rule.value || null, threshold: value, depth: null };
  };
  return made;
};
const verdict = (view) => {
  if (view.right) return "right";
  return view.lenient ? `right too, beside ${view.answer}` : `wrong, it is ${view.answer}`;
};
const drawView = (place, run, view, told) => {
  const right = view.right || view.lenient, tokens = strip(view, most, view.probes, told);
  const answers = view.tokens.filter((token) => token.predicts !== undefined), hits = answers.filter((token) => token.right).length;
  const line = view.written ? `Answer: ${view.predicted} (${verdict(view)})` : `${hits} of ${answers.length} predictions are right`;
  const said = make("p", `said ${right ? "good" : "bad"}`, line);
  const cost = [`${view.mean_depth} of ${run.max_depth} iterations per token on average`, ...view.notes];
  place.replaceChildren(said, make("p", "cost", `${cost.join("; ")}.`), tokens, ...(answers.length > 1 ? lens(view.tokens) : []));
  if (!tokens.pick(chosen)) tokens.pick(answers[0]?.position);
  return tokens;
};
const card = (run, i, told) => {
  const made = make("article", "run"), result = make("div", "result"), mistake = make("p", "bad");
  const controls = state.live ? depthControls(run, () => made.read(problemNow.question)) : make("p", "about", asked(state.choices[i], run));
  result.setAttribute("role", "status");
  mistake.setAttribute("role", "alert");
  made.ariaLabel = run.label;
  made.append(make("h3", "", run.label), make("p", "about", `policy ${run.policy}, ${run.about}`), controls, mistake, result);
  made.show = (view) => { made.tokens = drawView(result, run, view, (position) => told(i, position)); };
  made.choice = controls.choice;
  made.read = latest(async (question) => {
    made.classList.add("waiting");
    mistake.textContent = "";
    try {
      made.show(await (await send("/read", { run: i, question, choice: made.choice() })).json());
    } catch (error) {
      mistake.textContent = error.message;
      result.replaceChildren();
    }
    made.classList.remove("waiting");
  });
  return made;
};
const asked = ({ select, threshold, depth }, run) => {
  if (depth !== null) return `depth forced to ${depth}`;
  return `depth by ${select ?? (run.default_rule || "its own rule")}${threshold === null ? "" : `, threshold ${threshold}`}`;
};

const choose = (from, position) => {
  chosen = position;
  cards.forEach((other, i) => i !== from && other.tokens?.pick(position));
};
const cards = state.runs.map((run, i) => card(run, i, choose));
find("runs").append(...cards);
scale();
drawProblem(state.problem);

const ask = latest(async (wanted) => {
  const stale = (is) => document.body.classList.toggle("stale", is);
  find("mistake").textContent = "";
  stale(false);
  try {
    const found = await (await send("/problem", wanted)).json();
    if (wanted.row) find("question").value = found.question;
    drawProblem(found);
    await Promise.all(cards.map((one) => one.read(found.question)));
  } catch (error) {
    find("mistake").textContent = `${error.message}. What stands below is still about ${problemNow.question}`;
    stale(true);
  }
});
const makePicker = () => {
  const first = state.problem.row ?? { subtask: state.parts[0].subtask, knob: state.problem.knob, row: 0 };
  const subtask = make("select"), knob = number(first.knob), row = number(first.row, 0, state.last_row);
  for (const part of state.parts) subtask.append(new Option(part.subtask, part.subtask));
  subtask.value = first.subtask;
  const knobLabel = labelled("", knob), part = () => state.parts[subtask.selectedIndex] ?? state.parts[0];
  const arrange = () => {
    const { knob: name, meaning, minimum, maximum, seen: [low, high] } = part();
    knobLabel.firstChild.textContent = `${name} `;
    find("knob").textContent = `${name}: ${meaning}. Trained on ${low === high ? low : `${low} to ${high}`}; ${minimum} to ${maximum} can be asked for.`;
    Object.assign(knob, { min: minimum, max: maximum });
  };
  const pick = () => ask({ question: null, row: { subtask: part().subtask, knob: Number(knob.value), row: Number(row.value) } });
  const turn = (text, next) => {
    const button = Object.assign(make("button", "", text), { type: "button" });
    button.addEventListener("click", () => { row.value = Math.min(state.last_row, Math.max(0, next(Number(row.value)))); pick(); });
    return button;
  };
  subtask.addEventListener("change", () => { arrange(); knob.value = part().seen[0]; pick(); });
  for (const control of [knob, row]) control.addEventListener("change", pick);
  arrange();
  find("picker").append(...(state.parts.length > 1 ? [labelled("subtask", subtask)] : []), knobLabel, labelled("row", row));
  find("picker").append(turn("previous", (at) => at - 1), turn("next", (at) => at + 1), turn("random", () => Math.floor(Math.random() * 4096)));
};
const makeForm = () => {
  const question = find("question"), typed = () => ask({ question: question.value, row: null });
  let pause = 0;
  question.maxLength = state.longest;
  question.value = state.problem.question;
  question.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(typed, 500); });
  question.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) typed(); });
  find("ask").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(pause); typed(); });
};
const save = async () => {
  find("saved").textContent = "";
  try {
    const { question, row } = problemNow;
    const page = await (await send("/export", { question, row, choices: cards.map((one) => one.choice()) })).blob();
    const link = Object.assign(make("a"), { href: URL.createObjectURL(page), download: `explore-${state.task}.html` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    find("saved").textContent = `saved as ${link.download}`;
  } catch (error) {
    find("saved").textContent = error.message;
  }
};
if (state.live) {
  makePicker();
  makeForm();
  find("export").addEventListener("click", save);
  cards.forEach((one) => one.read(state.problem.question));
} else {
  cards.forEach((one, i) => one.show(state.views[i]));
}
