"use strict";
const ROWS = 25; // of pairs on one page of the table, so that a page of any number of pairs stays quick
const specs = JSON.parse(document.getElementById("charts").textContent);
const opened = new Map();

class Pairs {
  constructor(section, index) {
    this.section = section;
    this.data = JSON.parse(document.getElementById(`pairs-${index}`).textContent);
    this.langs = specs[index].langs;
    this.band = null;
    this.page = 0;
    this.words = [];
    this.lower = null;
    this.search = section.querySelector("input[type=search]");
    this.search.addEventListener("input", () => { clearTimeout(this.later); this.later = setTimeout(() => this.filter(), 80); });
    section.querySelector(".back").addEventListener("click", () => this.turn(-1));
    section.querySelector(".on").addEventListener("click", () => this.turn(1));
    this.addBands(section.querySelector(".bands"));
    this.filter();
  }

  addBands(box) {
    const add = (label, count, band) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = label + " ";
      const small = document.createElement("small");
      small.textContent = count.toLocaleString("en");
      button.append(small);
      button.setAttribute("aria-pressed", String(band === this.band));
      button.addEventListener("click", () => {
        this.band = band;
        for (const other of box.children) other.setAttribute("aria-pressed", String(other === button));
        this.filter();
      });
      box.append(button);
    };
    if (!this.data.bands.length) return;
    add("all", this.data.counts.reduce((sum, count) => sum + count, 0), null);
    for (let band = this.data.bands.length - 1; band >= 0; band--) add(this.data.bands[band], this.data.counts[band], band);
  }

  filter() {
    const { src, tgt, band } = this.data;
    this.words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (this.words.length && !this.lower) this.lower = src.map((text, row) => `${text}\n${tgt[row]}`.toLowerCase());
    this.rows = [];
    for (let row = 0; row < src.length; row++) {
      if (this.band !== null && band[row] !== this.band) continue;
      if (this.words.every((word) => this.lower[row].includes(word))) this.rows.push(row);
    }
    this.page = 0;
    this.show();
  }

  turn(by) {
    this.page += by;
    this.show();
    this.section.querySelector(".pairs-panel").scrollIntoView();
  }

  show() {
    const pages = Math.max(1, Math.ceil(this.rows.length / ROWS));
    const rows = this.rows.slice(this.page * ROWS, (this.page + 1) * ROWS);
    this.section.querySelector("table.pairs tbody").replaceChildren(...rows.map((row) => this.row(row)));
    this.section.querySelector(".found").textContent = `${this.rows.length.toLocaleString("en")} shown`;
    this.section.querySelector(".page").textContent = `page ${this.page + 1} of ${pages.toLocaleString("en")}`;
    this.section.querySelector(".back").disabled = this.page === 0;
    this.section.querySelector(".on").disabled = this.page >= pages - 1;
  }

  row(row) {
    const line = document.createElement("tr");
    const score = line.insertCell();
    score.className = "n";
    score.textContent = this.data.score[row].toFixed(3);
    if (this.data.right) {
      const cell = line.insertCell();
      cell.className = this.data.right[row] ? "yes" : "no";
      cell.textContent = this.data.right[row] ? "right" : "wrong";
    }
    ["src", "tgt"].forEach((side, number) => line.append(this.text(side, number, row)));
    return line;
  }

  text(side, number, row) {
    const cell = document.createElement("td");
    cell.className = "text";
    const sentence = document.createElement("bdi");
    sentence.dir = direction(this.langs[number]);
    if (this.langs[number]) sentence.lang = this.langs[number];
    this.marked(sentence, this.data[side][row]);
    const at = document.createElement("span");
    at.className = "at";
    const file = this.data[`${side}Files`][this.data[`${side}File`][row]] || "";
    at.textContent = `${file.split("/").pop()}:${this.data[`${side}Line`][row]}`;
    at.title = file;
    cell.append(sentence, at);
    return cell;
  }

  marked(element, text) {
    const lower = text.toLowerCase();
    // Where small letters are of another length than capitals, places in the two texts differ.
    const words = lower.length === text.length ? this.words : [];
    let from = 0;
    while (words.length) {
      const hits = words.map((word) => [lower.indexOf(word, from), word.length]).filter(([place]) => place >= 0);
      if (!hits.length) break;
      const [place, length] = hits.reduce((best, hit) => (hit[0] < best[0] ? hit : best));
      const mark = document.createElement("mark");
      mark.textContent = text.slice(place, place + length);
      element.append(text.slice(from, place), mark);
      from = place + length;
    }
    element.append(text.slice(from));
  }
}

function show(index) {
  for (const section of document.querySelectorAll("section.mine")) section.hidden = section.dataset.mine !== String(index);
  for (const tab of document.querySelectorAll("nav.mines button")) tab.setAttribute("aria-selected", String(tab.dataset.show === String(index)));
  if (opened.has(index)) return;
  const section = document.getElementById(`mine-${index}`);
  opened.set(index, new Pairs(section, index));
  for (const chart of section.querySelectorAll(".chart")) draw(chart, specs[index].charts[chart.dataset.chart]);
}

for (const button of document.querySelectorAll("[data-show]"))
  button.addEventListener("click", () => {
    show(Number(button.dataset.show));
    if (!button.closest("nav")) document.querySelector("nav.mines").scrollIntoView();
  });
for (const chart of document.querySelectorAll('[data-mine="rounds"]')) draw(chart, specs.rounds.charts[chart.dataset.chart]);
followTheme(document.querySelector("button.theme"));
if (document.getElementById("mine-0")) show(0);
