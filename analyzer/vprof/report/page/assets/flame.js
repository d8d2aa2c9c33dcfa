"use strict";
// The variance flame graph: boxes as wide as their shares, the callers above. Zoom, search, three metrics, keyboard.

const METRICS = [["share", "variance"], ["tail_share", "tail"], ["mean_share", "mean time"]];
const ROW = 20;
const NARROWEST = 0.7; // pixels; what is narrower is not drawn
const LEAST_NEGATIVE = -0.0005;

// Boxes of a tree, parents first: {node, parent, depth, kind, x0, x1, children}; x is a fraction of the root's width.
// Negative shares have no width: where they are, the positive siblings are scaled down to their parent's.
function flameBoxes(root, metric) {
  const boxes = [{ node: root, parent: null, depth: 0, kind: kindOf(root.node), x0: 0, x1: 1, children: [] }];
  for (let i = 0; i < boxes.length; i++) {
    const box = boxes[i];
    const drawn = box.node.children.filter((child) => child[metric] > 0).sort((a, b) => b.share - a.share);
    const sum = d3.sum(drawn, (child) => child[metric]);
    const scale = (box.x1 - box.x0) / Math.max(box.node[metric], sum);
    let at = box.x0;
    for (const node of drawn) {
      const next = at + node[metric] * scale;
      const child = { node, parent: box, depth: box.depth + 1, kind: kindOf(node.node, box.kind), x0: at, x1: next, children: [] };
      box.children.push(child);
      boxes.push(child);
      at = next;
    }
  }
  return boxes;
}

// What is not drawn because it has no width, in a sentence; "" if that is nothing.
function negativeShares(tree, metric) {
  const below = [];
  const work = [tree];
  while (work.length) {
    const node = work.pop();
    below.push(...node.children.filter((child) => child[metric] <= LEAST_NEGATIVE));
    work.push(...node.children);
  }
  if (!below.length) return "";
  const least = d3.least(below, (node) => node[metric]);
  return `Negative shares have no width: ${count(below.length)} of them, the largest is ${least.node} with ${percent(least[metric])}.`;
}

class FlameGraph {
  constructor(element, tell) {
    this.element = element;
    this.tell = tell; // called with {matches, share, zoomed}
    this.metric = "share";
    this.pattern = "";
    this.svg = d3.select(element).append("svg").attr("role", "group").attr("aria-label", "Variance flame graph");
    this.svg.on("keydown", (event) => this.key(event));
  }

  show(tree, metric) {
    const names = this.tree === tree ? this.pathOf(this.zoomed) : [];
    this.tree = tree;
    this.metric = metric;
    this.boxes = flameBoxes(tree, metric);
    this.open(names);
  }

  // Names from below the root to a box.
  pathOf(box) {
    const names = [];
    for (let at = box; at && at.parent; at = at.parent) names.unshift(at.node.node);
    return names;
  }

  // Zooms to the innermost box that has these names from below the root on. Says whether it has all of them.
  open(names) {
    let box = this.boxes[0];
    let steps = 0;
    for (const name of names) {
      const next = box.children.find((child) => child.node.node === name);
      if (!next) break;
      box = next;
      steps += 1;
    }
    this.zoomed = this.current = box;
    this.draw();
    return steps === names.length;
  }

  search(pattern) {
    this.pattern = pattern.toLowerCase();
    this.draw();
  }

  zoom(box) {
    this.zoomed = box;
    this.current = box;
    this.draw();
    this.focus(box);
  }

  visible() {
    const { x0, x1 } = this.zoomed;
    const scale = d3.scaleLinear([x0, x1], [0, this.width]).clamp(true);
    const around = new Set();
    for (let at = this.zoomed; at; at = at.parent) around.add(at);
    const seen = [];
    for (const box of this.boxes) {
      if (box.depth <= this.zoomed.depth && !around.has(box)) continue;
      [box.left, box.right] = around.has(box) ? [0, this.width] : [scale(box.x0), scale(box.x1)];
      if (box.right - box.left >= NARROWEST) seen.push(box);
    }
    return seen;
  }

  draw() {
    this.width = Math.max(200, Math.floor(this.element.clientWidth));
    const seen = this.visible();
    const deepest = d3.max(seen, (box) => box.depth);
    this.svg.attr("width", this.width).attr("height", (deepest + 1) * ROW + 2).classed("searching", this.pattern !== "");
    const groups = this.svg.selectAll("g.box").data(seen, (box) => this.boxes.indexOf(box));
    const made = groups.join((enter) => {
      const group = enter.append("g").attr("role", "button");
      group.append("rect").attr("height", ROW - 1).attr("rx", 1.5);
      group.append("text").attr("x", 4).attr("y", ROW - 6);
      group.on("click", (event, box) => this.zoom(box));
      group.on("pointermove", (event, box) => this.explain(box, event)).on("pointerleave", hideTooltip);
      group.on("focus", (event, box) => ((this.current = box), this.explain(box, event.currentTarget))).on("blur", hideTooltip);
      return group;
    });
    made.attr("class", (box) => `box ${box.kind}${this.matches(box) ? " match" : ""}`);
    made.attr("aria-label", (box) => `${box.node.node}, ${this.figure(box.node)}`);
    made.attr("tabindex", (box) => (box === this.current ? 0 : -1));
    made.attr("transform", (box) => `translate(${box.left.toFixed(2)},${box.depth * ROW})`);
    made.select("rect").attr("width", (box) => (box.right - box.left).toFixed(2));
    made.select("text").text((box) => this.fitted(box));
    this.report();
  }

  figure(node) {
    return percent(node[this.metric]);
  }

  fitted({ node, left, right }) {
    const room = Math.floor((right - left - 8) / 7);
    const text = `${node.node} ${this.figure(node)}`;
    if (room < 3) return "";
    if (text.length <= room) return text;
    return node.node.length <= room ? node.node : `${node.node.slice(0, room - 1)}…`;
  }

  matches(box) {
    return this.pattern !== "" && box.node.node.toLowerCase().includes(this.pattern);
  }

  // The share of the matches counts each part of the tree once: the outermost ones.
  report() {
    const matching = new Set(this.boxes.filter((box) => this.matches(box)));
    let share = 0;
    for (const box of matching) {
      let around = box.parent;
      while (around && !matching.has(around)) around = around.parent;
      if (!around) share += box.node[this.metric];
    }
    this.tell({ matches: matching.size, share, zoomed: this.zoomed !== this.boxes[0] });
  }

  explain({ node }, at) {
    const factor = analysis.factors.find((one) => one.kind === "variance" && one.functions[0] === node.node);
    const ci = factor && factor.ci95 ? `${percent(factor.share)} (${percent(factor.ci95[0])} to ${percent(factor.ci95[1])})` : null;
    showTooltip(node.node, [
      data.meanings[node.node] && ["is", data.meanings[node.node]],
      ["share of variance", percent(node.share)],
      ["share of the tail", percent(node.tail_share)],
      ["share of mean time", percent(node.mean_share)],
      ["mean, sd", `${duration(node.mean_ns)}, ${duration(Math.sqrt(node.var_ns2))}`],
      factor && ["as a factor, 95 % interval", ci || `${percent(factor.share)}, ${factor.ci95_reason}`],
    ], at);
  }

  key(event) {
    const siblings = this.current.parent ? this.current.parent.children : [];
    const i = siblings.indexOf(this.current);
    const wanted = {
      ArrowUp: this.current.parent, ArrowDown: this.current.children[0], ArrowLeft: siblings[i - 1], ArrowRight: siblings[i + 1],
    }[event.key];
    if (event.key === "Enter" || event.key === " ") this.zoom(this.current);
    else if (event.key === "Escape") this.zoom(this.boxes[0]);
    else if (!event.key.startsWith("Arrow")) return;
    else if (wanted) this.focus(wanted);
    event.preventDefault();
  }

  focus(box) {
    const found = this.svg.selectAll("g.box").filter((one) => one === box).node();
    if (!found) return;
    this.svg.selectAll("g.box").attr("tabindex", (one) => (one === box ? 0 : -1));
    found.focus();
  }
}
