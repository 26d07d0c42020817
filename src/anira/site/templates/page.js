// A chart is drawn when it can first be seen: in a folded section it has no width yet.
const specs = JSON.parse(document.getElementById("specs").textContent);
const draw = (place) => {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  window.vegaEmbed(place, specs[place.dataset.chart], { actions: false, renderer: "svg" });
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
