"use strict";
// The variance tree as an outline: nodes open and close, covariances of siblings on request.

const FIRST_ROWS = 24;

class TreeTable {
  constructor(element) {
    this.element = element;
    this.covariances = false;
  }

  show(tree, tailQuantile) {
    this.tree = tree;
    this.tail = tailQuantile;
    this.open = heaviest(tree, FIRST_ROWS);
    this.draw();
  }

  collapse() {
    this.open = new Set([this.tree]);
    this.draw();
  }

  draw() {
    const tail = this.tail ? `beyond p${100 * this.tail}` : "tail";
    const heads = ["", "variance", tail, "mean", "mean time", "sd"];
    const head = el("tr", {}, ...heads.map((name, i) => el("th", { scope: "col", class: i ? "number" : null }, name)));
    const table = el("table", {}, el("thead", {}, head), el("tbody", {}, ...this.rows()));
    const { scrollTop, scrollLeft } = this.element;
    this.element.replaceChildren(table);
    Object.assign(this.element, { scrollTop, scrollLeft });
  }

  rows() {
    const rows = [];
    const work = [{ node: this.tree, depth: 0, kind: kindOf(this.tree.node) }];
    while (work.length) {
      const at = work.pop();
      if (at.row) {
        rows.push(at.row);
        continue;
      }
      rows.push(this.row(at));
      if (!this.open.has(at.node)) continue;
      const children = [...at.node.children].sort((a, b) => heaviness(b) - heaviness(a));
      const below = children.map((node) => ({ node, depth: at.depth + 1, kind: kindOf(node.node, at.kind) }));
      work.push(...[...below, ...this.extra(at).map((row) => ({ row }))].reverse());
    }
    return rows;
  }

  row({ node, depth, kind }) {
    const inner = node.children.length || (this.covariances && Object.keys(node.cov).length);
    const toggle = inner ? toggleButton(this.open.has(node), `What is below ${node.node}`, (open) => this.turn(node, open)) : el("span", { class: "toggle" }, " ");
    const name = el("td", { class: "name" }, toggle, el("i", { class: `dot ${kind}` }), placed(node.node));
    name.style.paddingLeft = `${0.4 + depth * 0.85}rem`;
    name.title = node.node;
    const shares = ["share", "tail_share", "mean_share"].map((key) => el("td", { class: "number" }, key === "share" ? meter(node[key]) : "", el("span", { class: "figure" }, percent(node[key]))));
    const times = [node.mean_ns, Math.sqrt(node.var_ns2)].map((ns) => el("td", { class: "number" }, duration(ns)));
    return el("tr", { "aria-level": depth + 1 }, name, ...shares, ...times);
  }

  turn(node, open) {
    if (open) this.open.add(node);
    else this.open.delete(node);
    const at = [...this.element.querySelectorAll(".toggle")].indexOf(document.activeElement);
    this.draw();
    this.element.querySelectorAll(".toggle")[at]?.focus();
  }

  extra({ node, depth }) {
    const line = (text, share) => {
      const cell = el("td", { class: "name" }, text);
      cell.style.paddingLeft = `${2 + (depth + 1) * 0.85}rem`;
      return el("tr", { class: "cov" }, cell, el("td", { class: "number" }, percent(share)), el("td", { colspan: 4 }));
    };
    const rows = [];
    if (this.covariances) {
      const total = this.tree.var_ns2;
      for (const [pair, ns2] of Object.entries(node.cov)) rows.push(line(el("span", {}, "2 Cov ", named(pair.replace("|", ", "))), total ? (2 * ns2) / total : null));
      if (node.left_out_pairs) rows.push(line(`${count(node.left_out_pairs)} smaller covariances are not in this page`, null));
    }
    if (node.left_out) rows.push(line(`${count(node.left_out)} lighter nodes are not in this page`, null));
    return rows;
  }
}

function heaviness(node) {
  return Math.max(Math.abs(node.share ?? 0), Math.abs(node.tail_share ?? 0), node.share === null ? node.mean_share ?? 0 : 0);
}

// The nodes to open at first: about so many rows, the heaviest ones.
function heaviest(tree, rows) {
  const open = new Set();
  const waiting = [tree];
  for (let shown = 1; waiting.length && shown < rows; ) {
    waiting.sort((a, b) => heaviness(b) - heaviness(a));
    const node = waiting.shift();
    open.add(node);
    shown += node.children.length;
    waiting.push(...node.children.filter((child) => child.children.length));
  }
  return open;
}
