"use strict";
// Ratios with their intervals, and p values: of a diff, of a sweep.

function ratioBar(row, scale) {
  if (!row || row.ratio === null) return "-";
  const text = row.ci95 ? row.ci95.map((end) => end.toFixed(3)).join(" to ") : "";
  return [errorBar(scale, 1, row.ratio, row.ci95, text || "no interval"), el("span", { class: "where" }, text)];
}

function pText(p) {
  return p === null ? "-" : String(Number(p.toPrecision(2)));
}
