const specs = JSON.parse(document.getElementById("specs").textContent);
for (const [name, spec] of Object.entries(specs)) {
  window.vegaEmbed(`#chart-${name}`, spec, { actions: false, renderer: "svg" });
}
