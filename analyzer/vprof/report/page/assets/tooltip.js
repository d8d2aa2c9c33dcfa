"use strict";
// One tooltip for all charts, at the pointer or at the focused element.

const tooltip = document.getElementById("tooltip");
let anchor = null; // the focused element that is explained, or the last event of the pointer

function showTooltip(title, rows, at) {
  const table = el("table", {}, ...rows.filter(Boolean).map(([what, value]) => el("tr", {}, el("td", {}, what), el("td", {}, value))));
  tooltip.replaceChildren(el("b", {}, named(title)), table);
  tooltip.hidden = false;
  anchor = at;
  placeTooltip();
}

function placeTooltip() {
  const point = anchor instanceof Element ? below(anchor) : [anchor.clientX + 14, anchor.clientY + 16];
  const size = tooltip.getBoundingClientRect();
  tooltip.style.left = `${Math.max(4, Math.min(point[0], innerWidth - size.width - 8))}px`;
  tooltip.style.top = `${point[1] + size.height > innerHeight ? Math.max(4, point[1] - size.height - 34) : point[1]}px`;
}

function below(element) {
  const box = element.getBoundingClientRect();
  return [box.left + 8, box.bottom + 6];
}

function hideTooltip() {
  tooltip.hidden = true;
}

// Focus scrolls its element into view: the tooltip goes with it.
function followScroll() {
  if (!tooltip.hidden && anchor instanceof Element) placeTooltip();
  else hideTooltip();
}

addEventListener("scroll", followScroll, { passive: true, capture: true });
