"use strict";
// What changes of factors would gain: a table, and the latencies now and then as curves.

const GAIN_FIGURES = [["variance", "variance"], ["p99", "p99"], ["mean", "mean"], ["throughput", "throughput"]];

// 0.6 -> "−40 %", 1.25 -> "+25 %".
function changeText(ratio) {
  if (ratio === null || ratio === undefined) return "-";
  const by = Math.round(1000 * (ratio - 1)) / 10;
  return by === 0 ? "0 %" : `${by > 0 ? "+" : "−"}${Math.abs(by)} %`;
}

// The change of a factor that makes it constant: it is tried first.
function constantOf(factor) {
  return data.gains.tried.find((one) => one.factor === factor);
}

function gainOf(factor) {
  const one = constantOf(factor);
  return one && one.ratios.variance !== undefined ? one.ratios.variance : null;
}

function gainText(factor) {
  const one = constantOf(factor);
  if (!one || one.why_not) return el("span", { class: "where", title: one ? one.why_not : "" }, "-");
  return el("span", { title: "predicted change of the variance of latency, and of its p99" }, changeText(one.ratios.variance), el("div", { class: "where" }, `p99 ${changeText(one.ratios.p99)}`));
}

function gainSection() {
  const place = document.getElementById("gain-table");
  const figure = document.querySelector("#gains figure");
  const shown = data.gains ? data.gains.tried.filter((one) => !one.why_not) : [];
  if (!shown.length) {
    figure.hidden = document.querySelector("#gains .controls").hidden = true;
    return place.append(empty(data.missing.gains || "No factor has time of its own that could be changed."));
  }
  const columns = [
    { name: "change", class: "name", value: (row) => row.changes.join(" "), show: (row) => named(row.changes.join(" with ")) },
    ...GAIN_FIGURES.map(([key, name]) => ({ name, number: true, value: (row) => row.ratios[key], show: (row) => changeText(row.ratios[key]) })),
  ];
  place.append(sortableTable(columns, shown));
  const reasons = [...new Set(data.gains.tried.map((one) => one.why_not).filter(Boolean))];
  place.append(...reasons.map((reason) => el("p", { class: "note" }, named(reason))));
  const which = document.getElementById("gain");
  which.append(...shown.map((one, i) => el("option", { value: i }, one.changes.join(" with "))));
  const chart = document.getElementById("gain-chart");
  const again = drawn(chart, (width) => drawGain(chart, width, shown[which.value]));
  which.addEventListener("change", again);
}

function drawGain(element, width, one) {
  const { at, now_ns: now } = data.gains;
  const curves = [["now", now], ["then", one.then_ns]].map(([name, ns]) => [name, ns.map((value) => Math.max(1, value))]);
  const [low, high] = d3.extent(curves.flatMap(([, ns]) => ns));
  const x = d3.scaleLog(low === high ? [low * 0.9, high * 1.1] : [low, high], [MARGIN.left, width - MARGIN.right]);
  const y = d3.scaleLinear([0, 1], [CHART_HEIGHT - MARGIN.bottom, MARGIN.top - 20]);
  const svg = frame(element, width, `Latencies now, and predicted with ${one.changes.join(" and ")}`);
  axes(
    svg, width,
    d3.axisBottom(x).tickValues(logTicks(x.domain(), width / 70)).tickFormat(duration).tickSizeOuter(0),
    d3.axisLeft(y).ticks(5).tickFormat((part) => `${100 * part} %`),
    "latency, log scale", "part of the intervals",
  );
  const lines = svg.append("g").attr("class", "steps");
  for (const [name, ns] of curves) lines.append("path").attr("class", name).attr("d", d3.line((_, i) => x(ns[i]), (_, i) => y(at[i]))(ns));
  svg.on("pointermove", (event) => {
    const part = Math.min(1, Math.max(0, y.invert(d3.pointer(event)[1])));
    const i = Math.min(at.length - 1, d3.bisectLeft(at, part));
    showTooltip(`${percent(at[i])} of the intervals take at most`, [["now", duration(now[i])], ["predicted", duration(one.then_ns[i])]], event);
  }).on("pointerleave", hideTooltip);
}
