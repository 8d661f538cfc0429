"use strict";
const { langs, pairs, state } = JSON.parse(document.getElementById("data").textContent);
const VERDICTS = { y: "right", j: "right", ArrowRight: "right", n: "wrong", ArrowLeft: "wrong", s: "skip", " ": "skip" };
const find = (selector) => document.querySelector(selector);
const unsaved = new Map(); // marks on their way to the disk, by pair
const loaded = new Promise((resolve) => addEventListener("load", resolve)); // the charts' library comes last: keys need none
let saved = state.verdicts; // came with the page, so that the very first key marks what is not marked yet
let current = null;
let later = 0;
let undoing = 0; // requests to undo that are on their way
let busy = Promise.resolve(); // requests one after the other, so that marks are kept in the order of the keys

function show() {
  const isMarked = (pair) => pair.key in saved || unsaved.has(pair.key);
  const done = pairs.filter(isMarked).length;
  current = pairs.find((pair) => !isMarked(pair)) || null;
  ["src", "tgt"].forEach((side, number) => {
    const sentence = document.getElementById(side);
    sentence.textContent = current ? current[side] : side === "src" ? "All pairs are marked." : "";
    sentence.dir = current ? direction(langs[number]) : "auto";
    if (current && langs[number]) sentence.lang = langs[number];
  });
  find("progress").max = pairs.length;
  find("progress").value = done;
  find(".left").textContent = `${done} of ${pairs.length}`;
  for (const button of document.querySelectorAll("[data-verdict]")) button.disabled = !current;
  find("[data-undo]").disabled = done === 0;
}

function conclude({ result }) {
  const percent = (share) => `${(100 * share).toFixed(1)}%`;
  if (document.activeElement !== find("#wanted")) find("#wanted").value = Math.round(100 * result.wanted);
  find("#threshold").textContent = result.threshold === null ? "–" : result.threshold.toFixed(4);
  const marked = `${result.right} right, ${result.wrong} wrong, ${result.skipped} skipped. `;
  if (!(result.right + result.wrong)) find("#said").textContent = "Nothing is marked yet.";
  else if (result.threshold === null) find("#said").textContent = marked + "No threshold reaches that precision by the marks so far.";
  else find("#said").textContent = marked + `Keeps ${result.kept.toLocaleString("en")} pairs, of which ${percent(result.precision)} are right (${percent(result.precision_low)} to ${percent(result.precision_high)}).`;
  clearTimeout(later);
  later = setTimeout(drawCurve, 150); // not for every key of somebody who is quick
}

async function drawCurve() {
  await loaded;
  const answer = await fetch("chart").catch(() => null); // the next key says that the server has stopped
  const spec = answer && await answer.json();
  if (spec) draw(find("#chart"), spec);
}

function ask(body) {
  busy = busy.then(async () => {
    try {
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch("mark", { method: "POST", headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(await answer.text());
      const now = await answer.json();
      find(".trouble").textContent = "";
      saved = now.verdicts;
      conclude(now);
    } catch (error) {
      find(".trouble").textContent = `Not saved: ${error.message}. Is twinlode review still running?`;
    }
    unsaved.delete(body.pair); // what did not reach the disk comes up again
    show();
  });
}

function undo() {
  undoing += 1;
  ask({ action: "undo" });
  busy = busy.then(() => { undoing -= 1; });
}

function mark(verdict) {
  if (undoing) { // the next mark is for the pair that comes back
    busy = busy.then(() => mark(verdict));
    return;
  }
  if (!current) return;
  ask({ action: "mark", pair: current.key, verdict });
  unsaved.set(current.key, verdict);
  show();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input")) return;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key in VERDICTS) mark(VERDICTS[key]);
  else if (key === "u" || key === "Backspace") undo();
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-verdict]"))
  button.addEventListener("click", () => { mark(button.dataset.verdict); button.blur(); });
find("[data-undo]").addEventListener("click", (event) => { undo(); event.target.blur(); });
find("#wanted").addEventListener("change", (event) => {
  const percent = Number(event.target.value);
  if (percent > 0 && percent <= 100) ask({ action: "want", precision: percent / 100 });
  event.target.blur();
});
followTheme(find("button.theme"));
show();
conclude(state);
