// Sorting and filtering the table that is in the page: that of ../table.py.

const RISING = ["Rank", "Player", "Ranks"]; // columns that are sorted upwards first

const same = (head, other) => head.getAttribute("aria-sort") === other.getAttribute("aria-sort");

export class Table {
  // before: a table of which this one is a newer state; its order is kept.
  constructor(root, before = null) {
    this.body = root.tBodies[0];
    this.rows = [...this.body.rows];
    this.heads = [...root.tHead.rows[0].cells];
    this.player = this.heads.findIndex((head) => head.textContent === "Player");
    this.all = document.getElementById("all");
    this.name = document.getElementById("filter");
    this.kind = document.getElementById("kind");
    this.heads.forEach((head, column) => (head.firstChild.onclick = () => this.sort(column)));
    this.name.oninput = this.kind.onchange = () => this.filter();
    if (this.all) this.all.onclick = () => this.toggle();
    this.heads[0].setAttribute("aria-sort", "ascending");
    if (before) this.sortAs(before);
    this.filter();
  }

  // Names and ranks upwards first, everything else downwards; a second time the other way. Empty cells stay last.
  sort(column) {
    const head = this.heads[column], before = head.getAttribute("aria-sort");
    const upwards = before ? before === "descending" : RISING.includes(head.textContent);
    for (const other of this.heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", upwards ? "ascending" : "descending");
    const key = (row) => row.cells[column].dataset.v;
    const compare = column === this.player ? (a, b) => a.localeCompare(b, "en", { numeric: true }) : (a, b) => a - b;
    this.rows.sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === "" || b === "") return (a === "") - (b === "");
      return upwards ? compare(a, b) : compare(b, a);
    });
    this.body.append(...this.rows);
  }

  sortAs({ heads }) {
    const sorted = heads.find((head) => head.getAttribute("aria-sort"));
    const column = this.heads.findIndex((head) => head.textContent === sorted.textContent);
    if (column === -1) return;
    for (let i = 0; i < 2 && !same(this.heads[column], sorted); i++) this.sort(column);
  }

  toggle() {
    const pressed = this.all.getAttribute("aria-pressed") !== "true";
    this.all.setAttribute("aria-pressed", pressed);
    this.filter();
  }

  // Players that are asked for by name or kind are shown, whether in the short table or not.
  filter() {
    const name = this.name.value.trim().toLowerCase(), kind = this.kind.value;
    const everybody = name || kind || !this.all || this.all.getAttribute("aria-pressed") === "true";
    let shown = 0;
    for (const row of this.rows) {
      const its = row.cells[this.player].dataset.v.toLowerCase();
      const fits = (!kind || row.dataset.kind === kind) && its.includes(name);
      row.hidden = !fits || (!everybody && row.classList.contains("more"));
      shown += !row.hidden;
    }
    document.getElementById("count").textContent = `${shown} of ${this.rows.length} players`;
  }
}
