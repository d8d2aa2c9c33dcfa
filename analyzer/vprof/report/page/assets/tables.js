"use strict";
// Tables: sortable by their headers, rows that open, bars of shares.

// columns: [{name, show(row) -> Node | string, value(row) -> number | string to sort by, number: right-aligned}]
// detail(row) -> Node or null: what a row opens. The order given is the first one.
function sortableTable(columns, rows, detail = () => null) {
  const body = el("tbody");
  const sort = { column: null, falling: true };
  const fill = () => body.replaceChildren(...ordered(rows, sort).flatMap((row) => tableRows(columns, row, detail)));
  const heads = columns.map((column) => {
    const click = () => {
      sort.falling = sort.column === column ? !sort.falling : Boolean(column.number);
      sort.column = column;
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[columns.indexOf(column)].setAttribute("aria-sort", sort.falling ? "descending" : "ascending");
      fill();
    };
    const inner = column.value ? el("button", { type: "button", onclick: click }, column.name) : column.name;
    return el("th", { scope: "col", class: column.number ? "number" : null }, inner);
  });
  fill();
  return el("div", { class: "table" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body));
}

function ordered(rows, { column, falling }) {
  if (!column) return rows;
  const sign = falling ? -1 : 1;
  const known = rows.filter((row) => column.value(row) !== null);
  const unknown = rows.filter((row) => column.value(row) === null);
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
  return [...known.sort((a, b) => sign * compare(column.value(a), column.value(b))), ...unknown];
}

function tableRows(columns, row, detail) {
  const inside = detail(row);
  const cells = columns.map((column) => {
    const shown = column.show(row);
    return el("td", { class: column.number ? "number" : column.class }, ...(Array.isArray(shown) ? shown : [shown]));
  });
  const line = el("tr", {}, ...cells);
  if (!inside) return [line];
  const opened = el("tr", { class: "detail", hidden: true }, el("td", { colspan: columns.length }, inside));
  const toggle = toggleButton(false, `More about ${columns[0].title ? columns[0].title(row) : "this row"}`, (open) => (opened.hidden = !open));
  cells[0].prepend(toggle);
  return [line, opened];
}

function toggleButton(open, label, changed) {
  const button = el("button", { type: "button", class: "toggle", "aria-expanded": String(open), "aria-label": label }, open ? "▾" : "▸");
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(now));
    button.textContent = now ? "▾" : "▸";
    changed(now);
  });
  return button;
}

// A plain table of texts: the first column is a name, the others are numbers.
function plainTable(header, rows) {
  const columns = header.map((name, i) => ({
    name,
    number: i > 0,
    class: "name",
    show: (row) => (i ? row[i] : row[0] instanceof Node ? row[0] : named(row[0])),
  }));
  return sortableTable(columns, rows);
}

const BAR = { width: 150, height: 14 };

// A bar from `zero` to `value` on a scale of BAR.width pixels, with its error bar; `text` says what it shows.
function errorBar(scale, zero, value, ci95, text) {
  const svg = d3.create("svg").attr("class", "share-bar").attr("width", BAR.width).attr("height", BAR.height).attr("role", "img");
  svg.attr("aria-label", text).append("title").text(text);
  const [from, to] = [scale(zero), scale(value)].sort((a, b) => a - b);
  svg.append("rect").attr("class", "value").attr("x", from).attr("y", 3).attr("width", to - from).attr("height", 8);
  if (ci95) {
    const [low, high] = ci95.map(scale);
    svg.append("path").attr("class", "error").attr("d", `M${low},7H${high}M${low},3V11M${high},3V11`);
  }
  return svg.node();
}

function meter(share, greatest = 1, width = 90) {
  if (share === null || share === undefined) return null;
  const bar = el("i", { class: share < 0 ? "below" : "" });
  bar.style.width = `${(Math.min(1, Math.abs(share) / greatest) * width).toFixed(1)}px`;
  const room = el("span", { class: "meter", "aria-hidden": "true" }, bar);
  room.style.width = `${width}px`;
  return room;
}
