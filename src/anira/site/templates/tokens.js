// The token view: pick an instance by knob and outcome, and one run or two.
const views = JSON.parse(document.getElementById("views").textContent);
const choice = (label, values, changed, first = values[0]) => {
  const box = make("label", "", `${label} `), list = make("select");
  for (const value of values) list.append(new Option(value, value, false, value === first));
  list.addEventListener("change", changed);
  box.append(list);
  return [box, () => list.value];
};
const told = (one, most, probes) => {
  const early = one.left_out ? ` (${one.left_out} earlier tokens are not shown)` : "", made = strip(one, most, probes);
  made.prepend(make("p", one.right ? "good" : "bad", `${one.run} answers ${one.predicted}: ${one.right ? "right" : "wrong"}${early}`));
  made.append(...lens(one.tokens));
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
    card.append(...picked(one).map((own) => told(own, most, probes)));
  };
  const again = () => show(0);
  // The smallest instances show least: begin in the middle.
  const known = [...new Set(instances.map((one) => one.knob))];
  const [sizes, size] = choice(knob, ["any", ...known], again, known[Math.floor(known.length / 2)]);
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
