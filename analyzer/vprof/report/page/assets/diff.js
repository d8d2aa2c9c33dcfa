"use strict";
// Puts the sections of a diff together: latencies, flame graphs, factors, what ran.

function factorSection() {
  const place = document.getElementById("factor-table");
  const { factors, no_factors: reason } = data.diff;
  if (!factors.length) return place.append(empty(reason ? `No factors: ${reason}.` : "No factor is large enough (--min-share)."));
  const ends = factors.flatMap((factor) => [factor.change, ...(factor.ci95 || [])]);
  const scale = d3.scaleLinear([Math.min(0, ...ends), Math.max(0, ...ends)], [1, BAR.width - 1]);
  const columns = [
    { name: "factor", class: "name", value: (row) => row.functions.join(" "), show: factorName },
    { name: "before", number: true, value: (row) => row.before, show: (row) => percent(row.before) },
    { name: "after", number: true, value: (row) => row.after, show: (row) => percent(row.after) },
    { name: "change", number: true, value: (row) => row.change, show: (row) => signed(row.change) },
    { name: "found", value: (row) => row.found, show: (row) => el("span", { class: `found ${{ lost: "better", gained: "worse" }[row.found] || ""}` }, row.found) },
    { name: "95 % interval", value: (row) => (row.ci95 ? row.ci95[0] : null), show: (row) => changeBar(row, scale) },
    { name: "p", number: true, value: (row) => row.p_holm, show: (row) => pText(row.p_holm) },
  ];
  const show = (rows) => place.replaceChildren(sortableTable(columns, rows));
  const left = factors.length - data.most_factors;
  show(factors.slice(0, data.most_factors));
  if (left > 0) {
    const more = el("button", { type: "button", onclick: () => show(factors) }, `Show ${count(left)} more that changed less`);
    place.append(more);
  }
}

function factorName(row) {
  return el("span", {}, ...placedAll(row.functions, " with "));
}

function changeBar(row, scale) {
  const text = row.ci95 ? row.ci95.map(signed).join(" to ") : "";
  return [errorBar(scale, 0, row.change, row.ci95, text || "no interval"), el("span", { class: "where" }, text)];
}

function ranSection() {
  const place = document.getElementById("ran-table");
  const heads = ["", "before", "after"].map((name) => el("th", { scope: "col" }, name));
  const rows = data.ran.map((row) => {
    const what = el("th", { scope: "row" }, row.what, row.differs ? el("div", { class: "where" }, "differs") : null);
    return el("tr", { class: row.differs ? "differs" : null }, what, ...SIDES.map((side) => el("td", { class: "said" }, ...said(row[side]))));
  });
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows));
  place.append(rows.length ? el("div", { class: "table" }, table) : empty("The traces do not say what ran."));
  runTable();
}

function said(texts) {
  return texts.length ? texts.map((text) => el("div", {}, named(text))) : ["-"];
}

function runTable() {
  const runs = SIDES.flatMap((side) => data.diff[side].map((run) => ({ side, ...run })));
  const leftOut = (run) => Object.entries(run.excluded).filter(([, n]) => n).map(([why, n]) => `${count(n)} ${why}`).join(", ");
  const columns = [
    { name: "side", value: (run) => run.side, show: (run) => run.side },
    { name: "trace", class: "name", value: (run) => run.trace, show: (run) => named(run.trace) },
    { name: "intervals", number: true, value: (run) => run.intervals, show: (run) => count(run.intervals) },
    { name: "left out", class: "name", show: (run) => leftOut(run) || "none" },
    ...data.diff.metrics.map(({ metric }, i) => ({ name: metric, number: true, value: (run) => run.metrics[metric], show: (run) => run.texts[i] })),
  ];
  document.getElementById("run-table").append(sortableTable(columns, runs));
}

theme();
latencySection();
flameSection();
factorSection();
ranSection();
sectionLinks();
