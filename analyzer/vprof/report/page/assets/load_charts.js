"use strict";
// Latency over the time of a run with the pauses drawn in, and percentiles with an axis that stretches towards 100 %.

const LANE = 8; // height of the strip of a source of pauses
const BANDS = [["p50", "p50_ns"], ["p99", "p99_ns"], ["max", "max_ns"]];

// So that neither the slowest nor the fastest is cut by the chart's edge.
function withRoom([low, high]) {
  const room = Math.max(1.1, (high / low) ** 0.04);
  return [low / room, high * room];
}

function drawLoadTimeline(element, width) {
  const { bands, points: p, spans, seconds } = data;
  const floor = CHART_HEIGHT - MARGIN.bottom - spans.length * LANE;
  const values = [...p.latency_ns, ...BANDS.flatMap(([, key]) => bands[key])].filter((ns) => ns !== null).map((ns) => Math.max(1, ns));
  const x = d3.scaleLinear([0, seconds], [MARGIN.left, width - MARGIN.right]);
  const y = d3.scaleLog(withRoom(d3.extent(values)), [floor, MARGIN.top - 20]).clamp(true);
  const svg = frame(element, width, "Latency of transactions over the time of the run");
  axes(
    svg, width,
    d3.axisBottom(x).ticks(width / 90).tickFormat((s) => `${s} s`).tickSizeOuter(0),
    d3.axisLeft(y).tickValues(logTicks(y.domain(), 7)).tickFormat(duration),
    "intended start, seconds since the begin", "latency, log scale",
  );
  spans.forEach((source, s) => drawPauses(svg, x, source, s, floor));
  for (const [name, key] of BANDS) {
    const line = d3.line().defined(([, ns]) => ns !== null).x(([at]) => x(at)).y(([, ns]) => y(Math.max(1, ns)));
    svg.append("path").attr("class", `band ${name}`).attr("d", line(bands[key].map((ns, i) => [(i + 0.5) * bands.slice_s, ns])));
  }
  const parts = p.types.map(() => []);
  p.start_s.forEach((s, i) => parts[p.type[i]].push(`M${x(s).toFixed(1)},${y(Math.max(1, p.latency_ns[i])).toFixed(1)}h0`));
  svg.append("g").attr("class", "dots slowest").selectAll("path").data(parts).join("path").attr("class", (_, i) => `c${i % 6}`).attr("d", (part) => part.join(""));
  followTimeline(svg, x, y);
}

// Each source has a strip of its own below the latencies, and shades what lies above.
function drawPauses(svg, x, source, s, floor) {
  const group = svg.append("g");
  for (const [kind, top, height] of [["shade", MARGIN.top - 20, floor - MARGIN.top + 20], ["lane", floor + s * LANE + 1, LANE - 2]]) {
    group.selectAll(`.${kind}`).data(source.spans).join("rect").attr("class", `pause ${kind} s${s % 4}`)
      .attr("x", ([from]) => x(from)).attr("width", ([from, to]) => Math.max(kind === "lane" ? 1 : 0.5, x(to) - x(from)))
      .attr("y", top).attr("height", height);
  }
}

function followTimeline(svg, x, y) {
  const { bands, points: p, spans } = data;
  const halo = svg.append("circle").attr("class", "halo").attr("r", 5).attr("visibility", "hidden");
  const near = d3.quadtree(p.start_s.map((_, i) => i), (i) => x(p.start_s[i]), (i) => y(Math.max(1, p.latency_ns[i])));
  svg.on("pointermove", (event) => {
    const [px, py] = d3.pointer(event);
    const i = near.find(px, py, 12);
    halo.attr("visibility", i === undefined ? "hidden" : "visible");
    const at = i === undefined ? x.invert(px) : p.start_s[i];
    const pausing = spans.filter((source) => source.spans.some(([from, to]) => from <= at && at < to)).map((source) => ["pause", named(source.name)]);
    if (i !== undefined) {
      halo.attr("cx", x(p.start_s[i])).attr("cy", y(Math.max(1, p.latency_ns[i])));
      const rows = [["latency", duration(p.latency_ns[i])], ["should begin", `${at} s`], ["type", named(p.types[p.type[i]])]];
      return showTooltip("one of the slowest", [...rows, ...pausing], event);
    }
    const slice = Math.floor(at / bands.slice_s);
    if (!(slice in bands.count)) return hideTooltip();
    const rows = BANDS.map(([name, key]) => [name, bands[key][slice] === null ? "-" : duration(bands[key][slice])]);
    showTooltip(`${at.toFixed(2)} s`, [["transactions", count(bands.count[slice])], ...rows, ...pausing], event);
  });
  svg.on("pointerleave", () => (halo.attr("visibility", "hidden"), hideTooltip()));
}

function percentileText(odds) {
  if (odds <= 1) return "0 %";
  const digits = Math.max(0, Math.ceil(Math.log10(odds)) - 2);
  return `${(100 - 100 / odds).toFixed(digits)} %`;
}

function drawCurves(element, width) {
  const { curves } = data;
  const floor = CHART_HEIGHT - MARGIN.bottom;
  const all = curves.flatMap((curve) => curve.points);
  const most = d3.max(all, ([odds]) => odds);
  const high = d3.max(all, ([, ns]) => ns);
  const low = Math.min(high / 2, d3.min(all.filter(([odds]) => odds >= 1.5), ([, ns]) => ns) ?? 1); // what a few were faster than is below
  const x = d3.scaleLog([1, most], [MARGIN.left, width - MARGIN.right]);
  const y = d3.scaleLog([low, withRoom([low, high])[1]], [floor, MARGIN.top - 20]).clamp(true);
  const svg = frame(element, width, "Percentiles of latency");
  const marks = [1, 2, ...d3.range(1, 10).map((power) => 10 ** power)].filter((odds) => odds <= most);
  svg.append("g").selectAll("line").data(marks).join("line").attr("class", "rule").attr("x1", x).attr("x2", x).attr("y1", MARGIN.top - 20).attr("y2", floor);
  axes(
    svg, width,
    d3.axisBottom(x).tickValues(marks.filter((odds) => width > 560 || odds !== 2)).tickFormat((odds) => (width > 560 ? percentileText(odds) : percentileText(odds).replace(" ", ""))).tickSizeOuter(0),
    d3.axisLeft(y).tickValues(logTicks(y.domain(), 7)).tickFormat(duration),
    "part of the transactions that took no longer", "latency, log scale",
  );
  const line = d3.line(([odds]) => x(odds), ([, ns]) => y(ns)).curve(d3.curveStepBefore);
  for (const [i, curve] of [...curves.entries()].reverse()) svg.append("path").attr("class", curveClass(curve, i)).attr("d", line(curve.points));
  const cursor = svg.append("line").attr("class", "cursor").attr("y1", MARGIN.top - 20).attr("y2", floor).attr("visibility", "hidden");
  svg.on("pointermove", (event) => {
    const odds = Math.min(most, Math.max(1, x.invert(d3.pointer(event)[0])));
    cursor.attr("visibility", "visible").attr("x1", x(odds)).attr("x2", x(odds));
    const at = (curve) => curve.points[Math.min(curve.points.length - 1, d3.bisectLeft(curve.points.map(([o]) => o), odds))][1];
    showTooltip(percentileText(odds), curves.map((curve) => [named(curve.name), duration(at(curve))]), event);
  }).on("pointerleave", () => (cursor.attr("visibility", "hidden"), hideTooltip()));
}

function curveClass(curve, i) {
  return `curve ${curve.kind}${curve.kind === "type" ? ` c${(i - 1) % 6}` : ""}`;
}

function legend(id, entries) {
  document.getElementById(id).append(...entries.map(([mark, text]) => el("li", {}, el("i", { class: mark }), named(text))));
}

function loadCharts() {
  const { points: p, spans, curves, bands } = data;
  const types = p.types.length > 1 ? p.types.map((type, i) => [`dotted c${i % 6}`, type]) : [];
  legend("timeline-legend", [...BANDS.map(([name]) => [`line band ${name}`, name]), ...types, ...spans.map((source, s) => [`s${s % 4}`, source.name])]);
  legend("curve-legend", curves.map((curve, i) => [curveClass(curve, i).replace("curve", "line"), curve.name]));
  const left = spans.filter((source) => source.left_out).map((source) => `${source.name}: ${count(source.left_out)} shorter ones are not drawn.`);
  const said = `Lines: of each ${threeDigits(bands.slice_s * 1000)} ms. Dots: the slowest ${count(p.latency_ns.length)} of ${count(p.count)} transactions.`;
  document.getElementById("timeline-note").textContent = [said, ...left].join(" ");
  for (const [id, draw] of [["timeline", drawLoadTimeline], ["curves", drawCurves]]) {
    const place = document.getElementById(id);
    drawn(place, (width) => draw(place, width));
  }
}
