"use strict";
// Draws Vega-Lite specifications in the colours of the page, again whenever those change.
const drawn = new Map();
const RIGHT_TO_LEFT = new Set(["ar", "arc", "ckb", "dv", "fa", "he", "ks", "ku", "ps", "sd", "ug", "ur", "yi"]);

// So many that each language of a loop has its own; charts.py knows how many there are.
const LIGHT = ["#2f7fd8", "#2f9e6e", "#d9822b", "#a854c4", "#d64550", "#1797a6", "#8a6d3b", "#e377c2", "#5b6ee1", "#7f9e1f",
  "#9c2f6f", "#6b7785", "#b5651d", "#00845a", "#7a4fd0", "#c2185b", "#3f6f8f", "#b59b00", "#7c463b", "#4bb3e3"];
const DARK = ["#6aa9f0", "#57c294", "#f0b95f", "#d98be8", "#f27b84", "#5cc8d6", "#c9a66b", "#f5a6dc", "#9aa6ff", "#b7d455",
  "#d977b0", "#a8b3c0", "#e39a5b", "#3fd0a0", "#b597ff", "#ff7fb0", "#86b6d6", "#e6d04a", "#c99a8f", "#9fd3ff"];

// A sentence of a language that is written from the right may well begin with a Latin word.
function direction(lang) {
  return RIGHT_TO_LEFT.has((lang || "").split("-")[0]) ? "rtl" : "auto";
}

function isDark() {
  const asked = document.documentElement.dataset.theme;
  return asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function chartConfig() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
  const soft = colour("--soft"), line = colour("--line");
  return {
    background: "transparent", font, view: { stroke: null },
    axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 11,
      titleFontSize: 12, titleFontWeight: 500, labelFont: font, titleFont: font, labelOverlap: "greedy", labelSeparation: 6 },
    legend: { labelColor: soft, titleColor: soft, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500, symbolType: "square" },
    range: { category: isDark() ? DARK : LIGHT },
  };
}

async function draw(element, spec) {
  const before = drawn.get(element);
  if (before && before.view) before.view.finalize();
  drawn.set(element, { spec, view: null });
  const options = { actions: false, renderer: "svg", config: chartConfig(), tooltip: { theme: isDark() ? "dark" : "light" } };
  const result = await vegaEmbed(element, spec, options);
  drawn.set(element, { spec, view: result.view });
}

function redraw() {
  for (const [element, { spec }] of drawn) draw(element, spec);
}

function followTheme(button) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
}
