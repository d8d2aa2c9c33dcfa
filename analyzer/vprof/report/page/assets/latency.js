"use strict";
// The histogram and the latencies over time.

const MARGIN = { top: 46, right: 24, bottom: 40, left: 52 };
const CHART_HEIGHT = 300;
const QUANTILES = [["p50", "p50_ns"], ["p99", "p99_ns"], ["p99.9", "p999_ns"], ["max", "max_ns"], ["mean", "mean_ns"]];

// Powers of ten, with 2 and 5 between where there is room; at most about `most`.
function logTicks([low, high], most) {
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
      for (const step of steps) if (step * 10 ** power >= low && step * 10 ** power <= high) ticks.push(step * 10 ** power);
    if (ticks.length <= most || steps.length === 1) return ticks.filter((_, i) => i % Math.ceil(ticks.length / most) === 0);
  }
}

function frame(element, width, label) {
  d3.select(element).selectAll("svg").remove();
  return d3.select(element).append("svg").attr("width", width).attr("height", CHART_HEIGHT).attr("role", "img").attr("aria-label", label);
}

function axes(svg, width, x, y, xName, yName) {
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${CHART_HEIGHT - MARGIN.bottom})`).call(x);
  svg.append("g").attr("class", "axis").attr("transform", `translate(${MARGIN.left},0)`).call(y);
  svg.append("text").attr("class", "axis-name").attr("x", width - MARGIN.right).attr("y", CHART_HEIGHT - 6).attr("text-anchor", "end").text(xName);
  svg.append("text").attr("class", "axis-name").attr("x", 2).attr("y", MARGIN.top - 30).text(yName);
}

function drawHistogram(element, width, logCounts) {
  const { edges_ns: edges, counts } = data.latency.histogram;
  const most = d3.max(counts);
  const right = width - MARGIN.right;
  const floor = CHART_HEIGHT - MARGIN.bottom;
  const x = d3.scaleLog([edges[0], edges[edges.length - 1]], [MARGIN.left, right]);
  const y = logCounts ? d3.scaleSymlog([0, most], [floor, MARGIN.top]) : d3.scaleLinear([0, most], [floor, MARGIN.top]).nice();
  const svg = frame(element, width, "Histogram of latency");
  const yTicks = logCounts ? [0, ...logTicks([1, most], 5)] : y.ticks(5).filter(Number.isInteger);
  axes(
    svg, width,
    d3.axisBottom(x).tickValues(logTicks(x.domain(), width / 70)).tickFormat(duration).tickSizeOuter(0),
    d3.axisLeft(y).tickValues(yTicks).tickFormat((n) => count(n)),
    "latency, log scale", "intervals",
  );
  const bars = svg.append("g").attr("class", "bars").selectAll("rect").data(counts).join("rect");
  bars.attr("x", (_, i) => x(edges[i]) + 0.5).attr("width", (_, i) => Math.max(1, x(edges[i + 1]) - x(edges[i]) - 1));
  bars.attr("y", (n) => y(n)).attr("height", (n) => floor - y(n));
  bars.on("pointermove", (event, n) => {
    const i = bars.nodes().indexOf(event.currentTarget);
    showTooltip(`${duration(edges[i])} to ${duration(edges[i + 1])}`, [["intervals", count(n)], ["share", percent(n / analysis.intervals.count)]], event);
  }).on("pointerleave", hideTooltip);
  quantileMarks(svg, x, floor);
}

// Labels go to the first of three lines where they do not touch another one.
function quantileMarks(svg, x, floor) {
  const ends = [-Infinity, -Infinity, -Infinity];
  const marks = QUANTILES.map(([name, key]) => [name, x(Math.max(1, analysis.intervals[key]))]).sort((a, b) => a[1] - b[1]);
  for (const [name, at] of marks) {
    const wide = 7 * name.length;
    const row = Math.max(0, ends.findIndex((end) => end < at - wide / 2));
    ends[row] = at + wide / 2 + 4;
    const mark = svg.append("g").attr("class", "mark");
    mark.append("line").attr("x1", at).attr("x2", at).attr("y1", 20 + row * 12).attr("y2", floor);
    const anchor = at + wide / 2 > Number(svg.attr("width")) ? "end" : "middle";
    mark.append("text").attr("x", at).attr("y", 16 + row * 12).attr("text-anchor", anchor).text(name);
  }
}

function drawTimeline(element, width) {
  const p = data.latency.points;
  const floor = CHART_HEIGHT - MARGIN.bottom;
  const latency = p.latency_ns.map((ns) => Math.max(1, ns));
  const range = d3.extent(latency);
  const x = d3.scaleLinear([0, d3.max(p.start_s) || 1], [MARGIN.left, width - MARGIN.right]);
  const y = d3.scaleLog(range[0] === range[1] ? [range[0] * 0.9, range[1] * 1.1] : range, [floor, MARGIN.top - 20]);
  const svg = frame(element, width, "Latency of intervals over time");
  axes(
    svg, width,
    d3.axisBottom(x).ticks(width / 90).tickFormat((s) => `${s} s`).tickSizeOuter(0),
    d3.axisLeft(y).tickValues(logTicks(y.domain(), 7)).tickFormat(duration),
    "begin, seconds since the first", "latency, log scale",
  );
  const parts = p.types.map(() => []);
  p.start_s.forEach((s, i) => parts[p.type[i]].push(`M${x(s).toFixed(1)},${y(latency[i]).toFixed(1)}h0`));
  svg.append("g").attr("class", "dots").selectAll("path").data(parts).join("path").attr("class", (_, i) => `c${i % 6}`).attr("d", (part) => part.join(""));
  const halo = svg.append("circle").attr("class", "halo").attr("r", 5).attr("visibility", "hidden");
  const near = d3.quadtree(p.start_s.map((_, i) => i), (i) => x(p.start_s[i]), (i) => y(latency[i]));
  svg.on("pointermove", (event) => {
    const i = near.find(...d3.pointer(event), 30);
    halo.attr("visibility", i === undefined ? "hidden" : "visible");
    if (i === undefined) return hideTooltip();
    halo.attr("cx", x(p.start_s[i])).attr("cy", y(latency[i]));
    showTooltip(p.intervals[i], [["latency", duration(p.latency_ns[i])], ["begin", `${p.start_s[i]} s`], ["type", p.types[p.type[i]]]], event);
  });
  svg.on("pointerleave", () => (halo.attr("visibility", "hidden"), hideTooltip()));
}

function timelineNote() {
  const p = data.latency.points;
  const note = document.getElementById("timeline-note");
  const some = p.every > 1 || p.slowest < p.count;
  if (some) note.append(`${count(p.latency_ns.length)} of ${count(p.count)} intervals: the slowest ${count(p.slowest)}, and one in ${count(p.every)} of the others. `);
  if (p.types.length > 1) {
    const entries = p.types.map((type, i) => el("li", {}, el("i", { class: `dotted c${i % 6}` }), named(type)));
    note.after(el("ul", { class: "legend" }, ...entries));
  }
}

function latencySection() {
  const logCounts = document.getElementById("log-counts");
  const histogram = document.getElementById("histogram");
  const again = drawn(histogram, (width) => drawHistogram(histogram, width, logCounts.checked));
  logCounts.addEventListener("change", again);
  const timeline = document.getElementById("timeline");
  drawn(timeline, (width) => drawTimeline(timeline, width));
  timelineNote();
}
