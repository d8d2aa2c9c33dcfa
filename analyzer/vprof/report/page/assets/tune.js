"use strict";
// Puts the sections of a sweep together: settings as points, in numbers, their factors, what ran.

const BASELINE = data.tune.settings[0].setting;
const SPOT = 5;
const LEGEND = [["baseline", "the target's own"], ["better", "better"], ["worse", "worse"], ["traded", "traded"], ["other", "no difference found, given up (hollow)"]];

function extent(points, axis) {
  const values = points.flatMap((point) => [point[axis], ...(point[`${axis}_ci95`] || [])]).filter((value) => value > 0);
  const [low, high] = d3.extent(values);
  const room = Math.max((high - low) * 0.08, high * 0.02);
  return [Math.max(0, low - room), high + room];
}

function drawTrade(element, width, chart) {
  const svg = frame(element, width, `Mean and ${chart.name} of each setting`);
  if (!chart.points.length) return;
  const right = width - MARGIN.right;
  const floor = CHART_HEIGHT - MARGIN.bottom;
  const x = d3.scaleLinear(extent(chart.points, "x"), [MARGIN.left + 14, right]);
  const y = d3.scaleLinear(extent(chart.points, "y"), [floor, MARGIN.top - 16]);
  axes(
    svg, width,
    d3.axisBottom(x).ticks(Math.max(2, width / 110)).tickFormat(duration).tickSizeOuter(0),
    d3.axisLeft(y).ticks(6).tickFormat(duration),
    "mean", chart.name,
  );
  const front = chart.front.map((name) => chart.points.find((point) => point.setting === name)).filter(Boolean);
  svg.append("path").attr("class", "front").attr("d", d3.line((point) => x(point.x), (point) => y(point.y))(front));
  const spots = svg.append("g").selectAll("g").data(chart.points).join("g");
  spots.attr("class", (point) => `point ${point.setting === BASELINE ? "baseline" : point.verdict}`).attr("tabindex", 0);
  spots.attr("role", "img").attr("aria-label", (point) => `${point.setting}: ${point.texts.map((pair) => pair.join(" ")).join(", ")}`);
  spots.append("path").attr("d", (point) => cross(point, x, y));
  spots.append("circle").attr("cx", (point) => x(point.x)).attr("cy", (point) => y(point.y)).attr("r", SPOT);
  spotNames(spots, x, y, right);
  spots.on("pointermove", (event, point) => showTooltip(named(point.setting), [...point.texts, ["found", foundText(point)]], event));
  spots.on("pointerleave", hideTooltip);
}

function cross(point, x, y) {
  const across = point.x_ci95 ? `M${x(point.x_ci95[0])},${y(point.y)}H${x(point.x_ci95[1])}` : "";
  const up = point.y_ci95 ? `M${x(point.x)},${y(point.y_ci95[0])}V${y(point.y_ci95[1])}` : "";
  return across + up;
}

// Names stand beside their points, where no other one and no point is.
function spotNames(spots, x, y, right) {
  const taken = spots.data().map((point) => ({ left: x(point.x) - SPOT, right: x(point.x) + SPOT, down: y(point.y) + SPOT }));
  spots.each(function name(point) {
    const short = point.setting.length > 28 ? `${point.setting.slice(0, 27)}…` : point.setting;
    const wide = 6.6 * short.length;
    const [before, after] = [x(point.x) - 8 - wide, x(point.x) + 8];
    const places = [-6, 13, -18, 25, 37].flatMap((down) => [after, before].map((left) => ({ left, right: left + wide, down: y(point.y) + down })));
    const inside = places.filter((place) => place.left >= 0 && place.right <= right + MARGIN.right);
    const free = inside.find((place) => !taken.some((one) => Math.abs(one.down - place.down) < 12 && place.left < one.right && one.left < place.right));
    const at = free || inside[0] || places[0];
    taken.push(at);
    d3.select(this).append("text").attr("x", at.left).attr("y", at.down).text(short);
  });
}

function foundText(row) {
  return row.setting === BASELINE ? "the target's own" : row.verdict.replace("-", " ");
}

function tradeSection() {
  document.getElementById("trade-legend").append(
    ...LEGEND.map(([mark, text]) => el("li", {}, el("i", { class: `spot ${mark}` }), text)),
    el("li", {}, el("i", { class: "front" }), "Pareto front"),
  );
  data.against.forEach((chart, i) => {
    const place = document.getElementById(`trade-${i}`);
    drawn(place, (width) => drawTrade(place, width, chart));
  });
}

function settingTable() {
  const rows = data.tune.settings;
  const change = (row) => row.changes[0] || null;
  const ends = rows.flatMap((row) => (change(row) ? [change(row).ratio, ...(change(row).ci95 || [])] : [])).filter((ratio) => ratio > 0);
  const scale = d3.scaleLog([Math.min(0.9, ...ends), Math.max(1.1, ...ends)], [1, BAR.width - 1]);
  const shown = ["mean", "p99", "variance", ...(["mean", "p99", "variance"].includes(data.tune.metric) ? [] : [data.tune.metric])];
  const columns = [
    { name: "setting", class: "name", title: (row) => row.setting, value: (row) => row.setting, show: (row) => named(row.setting) },
    { name: "runs", number: true, value: (row) => row.runs, show: (row) => count(row.runs) },
    ...shown.map((name) => ({ name, number: true, value: (row) => row.figures[name].value, show: (row) => row.texts[name] })),
    { name: "found", value: (row) => row.verdict, show: (row) => el("span", { class: `found ${row.verdict}` }, foundText(row)) },
    { name: "ratio", number: true, value: (row) => change(row)?.ratio ?? null, show: (row) => change(row)?.ratio?.toFixed(3) ?? "-" },
    { name: "95 % interval", show: (row) => ratioBar(change(row), scale) },
    { name: "p", number: true, value: (row) => change(row)?.p_holm ?? null, show: (row) => pText(change(row)?.p_holm ?? null) },
  ];
  document.getElementById("setting-table").append(sortableTable(columns, rows, settingDetail));
}

function settingDetail(row) {
  if (row.verdict === "failed") return el("p", {}, "failed: ", named(row.why));
  if (!row.changes.length) return null;
  const texts = [...(row.why ? [`given up: ${row.why}`] : []), ...row.lines, row.restart ? "takes effect when the server is started" : "takes effect without a restart", `trades ${row.trades.join("; ") || "nothing"}`];
  const table = plainTable(
    ["metric", "ratio", "95 % interval", "p", "found"],
    row.changes.map((one) => [one.metric, one.ratio?.toFixed(3) ?? "-", one.ci95 ? one.ci95.map((end) => end.toFixed(3)).join(" to ") : "-", pText(one.p_holm ?? one.p), one.found || "-"]),
  );
  return el("div", {}, ...texts.map((text) => el("p", { class: "note" }, named(text))), table);
}

function factorTables() {
  const place = document.getElementById("factor-tables");
  const traced = data.tune.settings.filter((row) => row.factors.length);
  if (!traced.length) return place.append(empty("The runs were not traced, or no factor is large enough (--trace)."));
  for (const row of traced) {
    const columns = [
      { name: "factor", class: "name", value: (f) => f.functions.join(" "), show: (f) => named(f.functions.join(" with ")) },
      { name: "baseline", number: true, value: (f) => f.before, show: (f) => percent(f.before) },
      { name: "here", number: true, value: (f) => f.after, show: (f) => percent(f.after) },
      { name: "change", number: true, value: (f) => f.change, show: (f) => percent(f.change) },
      { name: "95 % interval", show: (f) => (f.ci95 ? f.ci95.map(percent).join(" to ") : "-") },
      { name: "found", value: (f) => f.found, show: (f) => el("span", { class: `found ${{ lost: "better", gained: "worse" }[f.found] || ""}` }, f.found) },
    ];
    place.append(el("h3", {}, named(row.setting)), sortableTable(columns, row.factors));
  }
}

function ranTables() {
  document.getElementById("ran-table").append(plainTable(["", "sweep"], data.ran.map(([what, text]) => [what, named(text)])));
  const columns = [
    { name: "round", number: true, value: (run) => run.round, show: (run) => count(run.round + 1) },
    { name: "setting", class: "name", value: (run) => run.setting, show: (run) => named(run.setting) },
    { name: "intervals", number: true, value: (run) => run.intervals, show: (run) => (run.failed ? "-" : count(run.intervals)) },
    ...["mean", "p99", "variance"].map((name) => ({ name, number: true, value: (run) => run.metrics[name] ?? null, show: (run) => run.texts[name] || "-" })),
    { name: "remark", class: "name", show: (run) => named(run.failed || run.said || "") },
  ];
  document.getElementById("run-table").append(sortableTable(columns, data.tune.runs));
}

theme();
tradeSection();
settingTable();
factorTables();
ranTables();
sectionLinks();
