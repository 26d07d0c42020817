// A chart is drawn when it can first be seen: in a folded section it has no width yet.
const specs = JSON.parse(document.getElementById("specs").textContent);
// As many columns in the legend as its names leave room for; on a phone also long titles and names in two lines.
const parts = (spec) => [spec, ...[...(spec.layer ?? []), spec.spec].filter(Boolean).flatMap(parts)];
const fit = (spec, width) => {
  const units = parts(spec).map((part) => part.encoding ?? {});
  const names = units.flatMap(({ color }) => color?.scale?.domain ?? []).map(String);
  const widest = 40 + 7 * Math.max(0, ...names.map((name) => name.length));
  spec.config.legend.columns = Math.max(1, Math.min(4, Math.floor(width / widest)));
  if (width > 500) return spec;
  for (const { x, y } of units) {
    if (typeof x?.title === "string") x.title = x.title.match(/.{1,30}(?= |$)/g).map((line) => line.trim());
    if (y?.type === "nominal") y.axis = { ...y.axis, labelExpr: "split(datum.label, /: |, /)", labelLimit: 150 };
  }
  return spec;
};
const draw = (place) => {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const spec = fit(structuredClone(specs[place.dataset.chart]), place.clientWidth);
  window.vegaEmbed(place, spec, { actions: false, renderer: "svg" });
};
const drawWithin = (element) => element.querySelectorAll(".chart").forEach((place) => {
  const fold = place.closest("details");
  if (!fold || fold.open) draw(place);
});
drawWithin(document);
for (const fold of document.querySelectorAll("details")) {
  fold.addEventListener("toggle", () => drawWithin(fold));
}

// A click on the head of a column sorts by it, downwards first; rows without a number stay last.
const number = (row, column) => parseFloat(row.cells[column].firstChild.textContent.replace(/[,%+]/g, ""));
const sort = (head, column) => {
  const down = head.ariaSort !== "descending";
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.ariaSort = down ? "descending" : "ascending";
  const body = head.closest("table").tBodies[0];
  const rows = [...body.rows].map((row) => [row, number(row, column), row.cells[column].textContent]);
  const bare = rows.every(([, value]) => Number.isNaN(value));
  rows.sort(([, a, one], [, b, other]) => {
    if (bare) return down ? one.localeCompare(other) : other.localeCompare(one);
    return Number.isNaN(a) - Number.isNaN(b) || (down ? b - a : a - b) || 0;
  });
  body.append(...rows.map(([row]) => row));
};
for (const head of document.querySelectorAll("thead th")) {
  head.tabIndex = 0;
  head.addEventListener("click", () => sort(head, head.cellIndex));
  head.addEventListener("keydown", (event) => event.key === "Enter" && sort(head, head.cellIndex));
}
