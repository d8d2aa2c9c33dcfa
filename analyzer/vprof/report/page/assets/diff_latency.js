"use strict";
// The latencies of both sides over each other, and the metrics in numbers.

const SIDES = ["before", "after"];
const MARKED = ["p99", "p50", "max", "mean", "p99.9"]; // in order of importance: where labels touch, the first one stays

function drawOverlay(element, width, logShares) {
  const { edges_ns: edges } = data.latency;
  const totals = SIDES.map((side) => d3.sum(data.latency[side]));
  const shares = SIDES.map((side, s) => data.latency[side].map((n) => n / totals[s]));
  const most = d3.max(shares.flat());
  const least = 1 / d3.max(totals);
  const floor = CHART_HEIGHT - MARGIN.bottom;
  const x = d3.scaleLog([edges[0], edges[edges.length - 1]], [MARGIN.left, width - MARGIN.right]);
  const y = logShares ? d3.scaleSymlog([0, most], [floor, MARGIN.top]).constant(least) : d3.scaleLinear([0, most], [floor, MARGIN.top]).nice();
  const svg = frame(element, width, "Histograms of latency before and after");
  axes(
    svg, width,
    d3.axisBottom(x).tickValues(logTicks(x.domain(), width / 70)).tickFormat(duration).tickSizeOuter(0),
    d3.axisLeft(y).tickValues(logShares ? [0, ...logTicks([least, most], 5)] : y.ticks(5)).tickFormat((share) => `${+(100 * share).toPrecision(2)} %`),
    "latency, log scale", "part of the intervals",
  );
  shares.forEach((side, s) => {
    const line = [...side, side[side.length - 1]];
    const area = d3.area((_, i) => x(edges[i]), floor, (share) => y(share)).curve(d3.curveStepAfter);
    svg.append("path").attr("class", `histogram ${SIDES[s]}`).attr("d", area(line));
    sideMarks(svg, x, floor, s);
  });
  const bins = svg.append("g").attr("class", "bins").selectAll("rect").data(shares[0]).join("rect");
  bins.attr("x", (_, i) => x(edges[i])).attr("width", (_, i) => Math.max(1, x(edges[i + 1]) - x(edges[i])));
  bins.attr("y", MARGIN.top).attr("height", floor - MARGIN.top);
  bins.on("pointermove", (event) => {
    const i = bins.nodes().indexOf(event.currentTarget);
    const rows = SIDES.map((side, s) => [side, `${percent(shares[s][i])}, ${count(data.latency[side][i])} of ${count(totals[s])}`]);
    showTooltip(`${duration(edges[i])} to ${duration(edges[i + 1])}`, rows, event);
  }).on("pointerleave", hideTooltip);
}

// Each side has a line of labels of its own.
function sideMarks(svg, x, floor, s) {
  const side = SIDES[s];
  const placed = [];
  for (const name of MARKED) {
    const ns = data.diff.metrics.find((row) => row.metric === name)[side];
    if (ns === null) continue;
    const at = x(Math.max(1, ns));
    const wide = 7 * name.length;
    if (placed.some((one) => Math.abs(one.at - at) < (one.wide + wide) / 2 + 4)) continue;
    placed.push({ at, wide });
    const mark = svg.append("g").attr("class", `mark ${side}`);
    mark.append("line").attr("x1", at).attr("x2", at).attr("y1", 20 + s * 12).attr("y2", floor);
    const anchor = at + wide / 2 > Number(svg.attr("width")) ? "end" : "middle";
    mark.append("text").attr("x", at).attr("y", 16 + s * 12).attr("text-anchor", anchor).text(name);
  }
}

function metricTable() {
  const rows = data.diff.metrics;
  const ends = rows.flatMap((row) => [row.ratio, ...(row.ci95 || [])]).filter((ratio) => ratio > 0);
  const least = Math.min(0.9, ...ends), most = Math.max(1.1, ...ends);
  const scale = d3.scaleLog([least, most], [1, BAR.width - 1]);
  const columns = [
    { name: "metric", show: (row) => row.metric },
    { name: "before", number: true, show: (row) => row.texts[0] },
    { name: "after", number: true, show: (row) => row.texts[1] },
    { name: "ratio", number: true, show: (row) => (row.ratio === null ? "-" : row.ratio.toFixed(3)) },
    { name: "found", show: (row) => el("span", { class: `found ${row.found}` }, row.found) },
    { name: "95 % interval", show: (row) => ratioBar(row, scale) },
    { name: "p", number: true, show: (row) => pText(row.p_holm ?? row.p) },
  ];
  document.getElementById("metric-table").append(sortableTable(columns, rows));
  const reasons = [...new Set(rows.map((row) => row.reason).filter(Boolean))];
  document.getElementById("metric-note").textContent = reasons.length ? `${reasons.join("; ")}.` : "";
}

function predictedTable() {
  if (!data.diff.prediction) return;
  const ratio = (value) => (value === null ? "-" : value.toFixed(3));
  const ends = (pair) => (pair ? pair.map(ratio).join(" to ") : "-");
  const kind = { "as predicted": "better", "better than predicted": "better", "worse than predicted": "worse" };
  const columns = [
    { name: "metric", show: (row) => row.metric },
    { name: "predicted", number: true, show: (row) => ratio(row.ratio) },
    { name: "with model error", number: true, show: (row) => ends(row.widened) },
    { name: "measured", number: true, show: (row) => ratio(row.measured) },
    { name: "95 % interval", number: true, show: (row) => ends(row.measured_ci95) },
    { name: "found", show: (row) => el("span", { class: `found ${kind[row.found] || ""}` }, row.found || "-") },
  ];
  document.getElementById("predicted-table").append(sortableTable(columns, data.diff.prediction.figures));
}

function latencySection() {
  const logShares = document.getElementById("log-shares");
  const place = document.getElementById("overlay");
  const again = drawn(place, (width) => drawOverlay(place, width, logShares.checked));
  logShares.addEventListener("change", again);
  metricTable();
  predictedTable();
}
