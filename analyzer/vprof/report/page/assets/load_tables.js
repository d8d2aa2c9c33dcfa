"use strict";
// The tables of a load: by type, how transactions ended, pauses, floor, what ran.

const TIMES = [["mean", "mean_ns"], ["L2", "l2_ns"], ["p50", "p50_ns"], ["p95", "p95_ns"], ["p99", "p99_ns"], ["p99.9", "p999_ns"], ["max", "max_ns"]];

function rowsOfTypes() {
  const { all, types } = data.load;
  return types.length > 1 ? [all, ...types] : [all];
}

function typeTable() {
  const columns = [
    { name: "type", class: "name", value: (row) => row.type, show: (row) => named(row.type) },
    { name: "transactions/s", number: true, value: (row) => row.throughput_per_s, show: (row) => row.throughput_per_s.toFixed(1) },
    ...TIMES.map(([name, key]) => ({ name, number: true, value: (row) => row[key], show: (row) => row.texts[key] })),
    { name: "CV", number: true, value: (row) => row.cv, show: (row) => (row.cv === null ? "-" : row.cv.toFixed(2)) },
  ];
  document.getElementById("type-table").append(sortableTable(columns, rowsOfTypes()));
}

function outcomeTable() {
  const columns = [
    { name: "type", class: "name", value: (row) => row.type, show: (row) => named(row.type) },
    ...[...data.outcomes, "retries"].map((key) => ({ name: key.replace("_", " "), number: true, value: (row) => row[key], show: (row) => count(row[key]) })),
  ];
  document.getElementById("outcome-table").append(sortableTable(columns, rowsOfTypes()));
}

function pauseTable() {
  const place = document.getElementById("pause-table");
  const rows = data.load.pauses;
  if (!rows.length) return place.append(empty("No pause lies in the run: no lateness of 1 ms or more, and nothing from --overlay."));
  const columns = [
    { name: "pauses", class: "name", value: (row) => row.name, show: (row) => named(row.name) },
    { name: "number", number: true, value: (row) => row.count, show: (row) => count(row.count) },
    { name: "total", number: true, value: (row) => row.total_ns, show: (row) => row.texts.total_ns },
    { name: "longest", number: true, value: (row) => row.longest_ns, show: (row) => row.texts.longest_ns },
    { name: "held up", number: true, value: (row) => row.held_up, show: (row) => row.texts.held_up },
    { name: "by chance", number: true, value: (row) => row.by_chance, show: (row) => percent(row.by_chance) },
    { name: "explained", number: true, value: (row) => row.explained, show: (row) => percent(row.explained) },
    { name: "p", number: true, value: (row) => row.p, show: (row) => String(Number(row.p.toPrecision(2))) },
    { name: "p99.9 without", number: true, value: (row) => row.without_p999_ns, show: (row) => row.texts.without_p999_ns },
    { name: "max without", number: true, value: (row) => row.without_max_ns, show: (row) => row.texts.without_max_ns },
  ];
  place.append(sortableTable(columns, rows), ...rows.map((row) => el("p", { class: "note" }, named(row.said))));
}

function floorTable() {
  const keys = ["p50_ns", "p99_ns", "p999_ns", "max_ns"];
  const sources = [["transactions that do nothing, before the run", data.load.floor], ["lateness of a thread that wakes each ms, during it", data.load.lateness]];
  const rows = sources.filter(([, row]) => row).map(([name, row]) => [name, ...keys.map((key) => (row[key] === null ? "-" : duration(row[key]))), count(row.count)]);
  document.getElementById("floor-table").append(plainTable(["", "p50", "p99", "p99.9", "max", "number"], rows));
}

function ranTable() {
  const rows = data.ran.map(([what, text]) => el("tr", {}, el("th", { scope: "row" }, what), el("td", { class: "said" }, named(text))));
  document.getElementById("ran-table").append(el("div", { class: "table settings" }, el("table", {}, el("tbody", {}, ...rows))));
}
