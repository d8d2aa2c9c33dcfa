"use strict";
// Critical paths of single intervals: a lane for each thread, steps where they ran, arrows where one woke another.

const LANE = 40;
const TOP = 26;
// Words for kinds of steps (vprof/tables/kinds.py); all but work and the sum of short steps are waits.
const KIND_NAMES = { ...data.lanes, short: "several short steps" };
const isWait = (kind) => kind !== "exec" && kind !== "short" && kind !== "aborted";

// Steps with those inside waits, in order of time: {step, depth, kind}.
function flattened(steps) {
  const flat = [];
  const work = steps.map((step) => ({ step, depth: 0, own: true })).reverse();
  while (work.length) {
    const { step, depth, own } = work.pop();
    flat.push({ step, depth, kind: isWait(step.kind) ? "wait" : own ? "own" : "other", explained: step.steps.length > 0 });
    const below = { depth: depth + 1, own: own && step.kind === "aborted" };
    work.push(...step.steps.map((inner) => ({ step: inner, ...below })).reverse());
  }
  return flat;
}

class PathPanel {
  constructor(first) {
    this.select = el("select", { "aria-label": "Interval" }, ...data.paths.map(({ label, path }, i) =>
      el("option", { value: i, selected: i === first }, `${label}: ${duration(path.latency_ns)} (${path.interval}${path.type ? `, ${path.type}` : ""})`)));
    this.lanes = el("div", { class: "lanes" });
    this.lost = el("p", { class: "note lost" });
    this.table = el("details", {}, el("summary", {}, "Steps as a table"));
    this.element = el("div", {}, this.select, this.lost, this.lanes, this.table);
    this.select.addEventListener("change", () => this.show());
  }

  get path() {
    return data.paths[this.select.value].path;
  }

  show() {
    this.changed();
    this.lost.textContent = data.paths[this.select.value].lost;
    const rows = flattened(this.path.steps).map(({ step, depth }) => {
      const name = el("td", { class: "name" }, KIND_NAMES[step.kind] || step.kind);
      name.style.paddingLeft = `${depth * 0.8}rem`;
      const numbers = [step.start_ns, step.duration_ns].map((ns) => el("td", { class: "number" }, duration(ns)));
      return el("tr", {}, ...numbers, name, el("td", {}, named(step.thread)), el("td", { class: "name" }, ...says(step)));
    });
    const heads = ["at", "takes", "what", "thread", "where"].map((name) => el("th", { scope: "col" }, name));
    const table = el("div", { class: "table" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), el("tbody", {}, ...rows)));
    this.table.replaceChildren(this.table.firstChild, table);
  }

  draw(width, longest) {
    const flat = flattened(this.path.steps);
    const threads = [...new Set(flat.flatMap(({ step }) => [step.thread, ...(step.ended_by === null ? [] : [step.ended_by])]))];
    const height = TOP + threads.length * LANE + 4;
    const x = d3.scaleLinear([0, longest || this.path.latency_ns || 1], [14, width - 16]);
    const lane = (thread) => TOP + threads.indexOf(thread) * LANE;
    d3.select(this.lanes).selectAll("svg").remove();
    const svg = d3.select(this.lanes).append("svg").attr("width", width).attr("height", height);
    svg.attr("role", "img").attr("aria-label", `Critical path of interval ${this.path.interval}, ${duration(this.path.latency_ns)}`);
    hatch(svg);
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${TOP - 6})`).call(d3.axisTop(x).ticks(width / 90).tickFormat(duration).tickSizeOuter(0));
    const rows = svg.append("g").selectAll("g").data(threads).join("g").attr("class", "lane").attr("transform", (thread) => `translate(0,${lane(thread)})`);
    rows.append("line").attr("x2", width).attr("y2", 0);
    rows.append("text").attr("x", 4).attr("y", 12).text((thread) => thread);
    const steps = svg.append("g").selectAll("rect").data(flat).join("rect");
    steps.attr("class", ({ kind, explained }) => `step ${kind}${explained ? " thin" : ""}`);
    steps.attr("x", ({ step }) => x(step.start_ns)).attr("width", ({ step }) => Math.max(0.8, x(step.start_ns + step.duration_ns) - x(step.start_ns)));
    steps.attr("y", ({ step, explained }) => lane(step.thread) + (explained ? 32 : 16)).attr("height", ({ explained }) => (explained ? 6 : 16));
    steps.on("pointermove", (event, { step }) => stepTooltip(step, event)).on("pointerleave", hideTooltip);
    labels(svg, flat, x, lane);
    arrows(svg, flat, x, lane);
  }
}

function hatch(svg) {
  const pattern = svg.append("defs").append("pattern").attr("id", "hatch").attr("width", 6).attr("height", 6);
  pattern.attr("patternUnits", "userSpaceOnUse").attr("patternTransform", "rotate(45)");
  pattern.append("line").attr("class", "hatch-line").attr("y2", 6);
}

function labels(svg, flat, x, lane) {
  const roomy = flat.filter(({ step, explained }) => !explained && x(step.duration_ns) - x(0) > 40);
  const texts = svg.append("g").selectAll("text").data(roomy).join("text").attr("class", ({ kind }) => `label ${kind}`);
  texts.attr("x", ({ step }) => x(step.start_ns) + 4).attr("y", ({ step }) => lane(step.thread) + 28);
  texts.text(({ step }) => {
    const name = step.kind === "exec" ? step.stack[step.stack.length - 1] || "(no probe)" : KIND_NAMES[step.kind] || step.kind;
    const room = Math.floor((x(step.duration_ns) - x(0) - 6) / 6.6);
    return name.length <= room ? name : `${name.slice(0, Math.max(0, room - 1))}…`;
  });
}

function arrows(svg, flat, x, lane) {
  const woken = flat.filter(({ step }) => step.ended_by !== null && step.ended_by !== step.thread && (step.kind === "blocked" || step.kind === "queue"));
  const wakes = svg.append("g").selectAll("g").data(woken).join("g");
  const ends = ({ step }) => {
    const from = lane(step.ended_by), to = lane(step.thread);
    return from < to ? [from + 32, to + 14] : [from + 16, to + 40];
  };
  const at = ({ step }) => x(step.start_ns + step.duration_ns);
  wakes.append("path").attr("class", "wake").attr("d", (one) => `M${at(one)},${ends(one)[0]}V${ends(one)[1]}`);
  wakes.append("path").attr("class", "wake-head").attr("d", (one) => {
    const [from, to] = ends(one);
    const back = from < to ? -6 : 6;
    return `M${at(one)},${to}l-3.5,${back}h7z`;
  });
}

function says(step) {
  const nowhere = step.kind === "short" ? "" : "(outside probed functions)";
  const stack = step.stack.length ? placedAll(step.stack) : [nowhere];
  const object = step.object_class ? `; ${step.object_class}` : "";
  const ended = step.ended_by === null ? [] : ["; ended by ", named(step.ended_by), ...(step.ended_in ? [" in ", placed(step.ended_in)] : [])];
  return [...stack, object, ...ended];
}

function stepTooltip(step, event) {
  showTooltip(step.stack[step.stack.length - 1] || KIND_NAMES[step.kind] || step.kind, [
    ["what", KIND_NAMES[step.kind] || step.kind],
    ["takes", `${duration(step.duration_ns)}, from ${duration(step.start_ns)}`],
    ["thread", step.thread],
    step.stack.length > 1 && ["called from", step.stack.slice(-6, -1).join(" > ")],
    step.object_class && ["waits for", step.object_class],
    step.ended_by !== null && ["ended by", step.ended_by + (step.ended_in ? ` in ${step.ended_in}` : "")],
  ], event);
}

function pathSection() {
  const place = document.getElementById("path-panels");
  if (!data.paths.length) return place.append(empty(data.missing.paths || "No critical path is small enough to be drawn."));
  const median = data.paths.findIndex(({ label }) => label === "median");
  const panels = (data.paths.length > 1 ? [0, Math.max(median, 0)] : [0]).map((first) => new PathPanel(first));
  place.append(...panels.map((panel) => panel.element));
  const same = document.getElementById("same-scale");
  const drawAll = () => {
    const longest = same.checked ? d3.max(panels, (panel) => panel.path.latency_ns) : 0;
    panels.forEach((panel) => panel.draw(Math.floor(panel.lanes.clientWidth), longest));
  };
  panels.forEach((panel) => ((panel.changed = drawAll), panel.show()));
  // The first panel's interval is in the address.
  atEachAddress((state) => {
    panels[0].select.value = Math.max(0, data.paths.findIndex(({ path }) => path.interval === state.interval));
    panels[0].show();
  });
  panels[0].select.addEventListener("change", () => setPermalink({ interval: panels[0].select.value === "0" ? "" : panels[0].path.interval }, true));
  same.addEventListener("change", drawAll);
  drawn(place, drawAll);
}
