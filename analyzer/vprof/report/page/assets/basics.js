"use strict";
// The page's data, numbers as people read them, elements made of text. Names of the traced program become text nodes only.

const data = JSON.parse(document.getElementById("data").textContent);
const analysis = data.analysis;

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];

function threeDigits(value) {
  const size = Math.abs(value);
  const digits = size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : 2;
  return value.toFixed(digits);
}

function duration(ns) {
  for (const [scale, unit] of UNITS) if (Math.abs(ns) >= scale * 0.9995) return `${threeDigits(ns / scale)} ${unit}`;
  return `${threeDigits(ns)} ns`;
}

function percent(share) {
  return share === null || share === undefined ? "-" : `${(share * 100).toFixed(1).replace(/^-0\.0$/, "0.0")} %`;
}

const count = new Intl.NumberFormat("en-US").format;

// el("td", {class: "number"}, "12 ms"): attributes by name, "on..." are listeners; strings become text.
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function named(text) {
  return el("bdi", {}, text);
}

const LINKS = new Map(Object.entries(data.links || {}));
const SITE_LINKS = new Map(Object.entries(data.site_links || {}));

// A text as a link, if there is one.
function linked(text, link) {
  return link ? el("a", { href: link, rel: "noreferrer" }, named(text)) : named(text);
}

// The name of a function or node, as a link to where that function is defined; a call site, as one to the call.
function placed(name) {
  const [, of] = /^(?:body|rest)\((.*)\)$/s.exec(name) || [];
  const called = name.slice(0, Math.max(0, name.lastIndexOf("@")));
  return linked(name, LINKS.get(name) || LINKS.get(of) || LINKS.get(called) || SITE_LINKS.get(name));
}

// Several of them: callers, or the two of a covariance.
function placedAll(names, separator = " > ") {
  return names.flatMap((name, i) => [i ? separator : "", placed(name)]);
}

function empty(why) {
  return el("p", { class: "empty" }, why);
}

// Of a node of the tree: it waits, or it is work of a thread that somebody waited for, or the interval's own work.
function kindOf(name, parentKind) {
  if (parentKind === undefined) return "root";
  if (name.startsWith("[") && name !== "[aborted]") return "wait";
  return parentKind === "wait" || parentKind === "other" ? "other" : "own";
}

// Calls `draw(width)` now and whenever the width of the element has changed.
function drawn(element, draw) {
  let width = 0;
  const again = () => {
    const now = Math.floor(element.clientWidth);
    if (now && now !== width) draw((width = now));
  };
  again();
  new ResizeObserver(again).observe(element);
  return () => draw((width = Math.floor(element.clientWidth)));
}

