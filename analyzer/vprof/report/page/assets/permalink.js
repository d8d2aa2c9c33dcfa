"use strict";
// What is shown, in the page's address: a copy of it opens the same view, and back returns to the one before.

// The fragment as {key: text}; what is no such fragment has no keys.
function permalinkState() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

// Keys without a text go. `step`: the view before is one that back returns to.
function setPermalink(changes, step = false) {
  const state = new URLSearchParams(Object.entries({ ...permalinkState(), ...changes }).filter(([, text]) => text));
  const fragment = `#${state}`;
  if (fragment === (location.hash || "#")) return;
  if (step) history.pushState(null, "", fragment);
  else history.replaceState(null, "", fragment);
}

// Names from below the root to a box, as a text and back. Anything else is the root.
const zoomText = (nodes) => (nodes.length ? JSON.stringify(nodes.map((node) => node.node)) : "");
function zoomNames(text) {
  try {
    const names = JSON.parse(text);
    return Array.isArray(names) ? names : [];
  } catch {
    return [];
  }
}
