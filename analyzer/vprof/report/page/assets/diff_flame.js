"use strict";
// The flame graphs of both sides and of their difference: three views of the same nodes, zoomed and searched together.

// Zooms all graphs along these names, or as far on the way as each has boxes, and puts them into the address.
function zoomTogether(graphs, names) {
  const whole = graphs.map((graph) => graph.open(names));
  const known = whole.some(Boolean); // an address may name anything
  graphs.forEach((graph, i) => graph.arrived(whole[i] || !known, names[names.length - 1]));
  setPermalink({ zoom: known ? zoomText(names) : "" }, true);
}

class LinkedGraph extends FlameGraph {
  constructor(element, label, tell) {
    super(element, tell);
    this.svg.attr("aria-label", label);
    this.others = [];
  }

  zoom(box) {
    super.zoom(box);
    zoomTogether([this, ...this.others], this.pathOf(box));
  }

  explain({ node }, at) {
    showTooltip(node.node, changeRows(node), at);
  }
}

class DifferenceGraph extends LinkedGraph {
  figure(node) {
    return signed(node.change);
  }

  draw() {
    super.draw();
    const most = d3.max(this.boxes, (box) => Math.abs(box.node.change));
    const groups = this.svg.selectAll("g.box");
    groups.classed("own wait other", false);
    groups.classed("root", ({ node }) => !visible(node.change));
    groups.classed("gained", ({ node }) => visible(node.change) && node.change > 0);
    groups.classed("lost", ({ node }) => visible(node.change) && node.change < 0);
    groups.style("--by", ({ node }) => `${(100 * Math.sqrt(Math.abs(node.change) / most)).toFixed(0)}%`);
  }
}

const LEAST_CHANGE = 0.0005; // of the variance before: less is 0.0 %

function visible(change) {
  return Math.abs(change) >= LEAST_CHANGE;
}

function signed(change) {
  return `${change > 0 && visible(change) ? "+" : ""}${percent(visible(change) ? change : 0)}`;
}

function changeRows(node) {
  const factor = data.diff.factors.find((one) => one.kind === "variance" && one.functions[0] === node.node);
  const ci = factor && factor.ci95 ? ` (${factor.ci95.map(signed).join(" to ")})` : "";
  const said = (share, ns, side) => (ns ? `${percent(share)} of the variance, mean ${duration(ns)}` : `did not run${node.off.includes(side) ? ", or was not on" : ""}`);
  return [
    data.meanings[node.node] && ["is", data.meanings[node.node]],
    ["before", said(node.before, node.mean_before_ns, "before")],
    ["after", said(node.after, node.mean_after_ns, "after")],
    ["change", `${signed(node.change)} of the variance before, now ${percent(node.before + node.change)} of it`],
    factor && ["as a factor", `${signed(factor.change)}${ci}${factor.found && `: ${factor.found}`}`],
    node.off.length && ["not switched on in every run", node.off.join(" and ")],
  ];
}

function flameSection() {
  if (!data.tree) {
    document.getElementById("flame-graphs").hidden = true;
    return document.getElementById("flame-empty").append(empty(`No flame graphs: ${data.no_tree}.`));
  }
  const unzoom = document.getElementById("unzoom");
  const search = document.getElementById("search");
  const found = {};
  const made = [["before", LinkedGraph, "before"], ["after", LinkedGraph, "after"], ["difference", DifferenceGraph, "share"]];
  const graphs = made.map(([name, Graph, metric]) => {
    const place = document.getElementById(`flame-${name}`);
    const graph = new Graph(place, `Variance flame graph: ${name}`, (state) => {
      found[name] = state;
      unzoom.disabled = !Object.values(found).some((one) => one.zoomed);
      showMatches(search.value, found);
    });
    const note = document.getElementById(`note-${name}`);
    const usual = name === "difference" ? "" : negativeShares(data.tree, metric);
    graph.arrived = (there, name) => {
      note.textContent = there ? usual : `${name} has no box here: what is shown is the last of its callers that has one.`;
    };
    graph.show(data.tree, metric);
    drawn(place, () => graph.draw());
    return graph;
  });
  for (const graph of graphs) graph.others = graphs.filter((other) => other !== graph);
  const searchAll = () => graphs.forEach((graph) => graph.search(search.value));
  search.addEventListener("input", () => (setPermalink({ search: search.value }), searchAll()));
  unzoom.addEventListener("click", () => graphs[0].zoom(graphs[0].boxes[0]));
  atEachAddress((state) => {
    zoomTogether(graphs, zoomNames(state.zoom));
    search.value = state.search || "";
    searchAll();
  });
}

function showMatches(pattern, found) {
  const sides = SIDES.filter((side) => found[side]);
  const said = sides.map((side) => `${side} ${count(found[side].matches)} boxes, together ${percent(found[side].share)}`);
  document.getElementById("matches").textContent = pattern ? said.join("; ") : "";
}
