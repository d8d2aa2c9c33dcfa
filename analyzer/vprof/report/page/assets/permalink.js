"use strict";
// What is shown, in the page's address: a copy of it opens the same view, and back returns to the one before.

// The fragment as {key: text}; what is no such fragment has no keys.
function permalinkState() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

let opening = false; // the view is made from the address, and does not change it

// Keys without a text go. `step`: the view before is one that back returns to.
function setPermalink(changes, step = false) {
  if (opening) return;
  const state = new URLSearchParams(Object.entries({ ...permalinkState(), ...changes }).filter(([, text]) => text));
  const fragment = `#${state}`;
  if (fragment === (location.hash || "#")) return;
  if (step) history.pushState(null, "", fragment);
  else history.replaceState(null, "", fragment);
}

// Calls `open(state)` now, and for each address that back or a link leads to.
function atEachAddress(open) {
  const again = () => {
    opening = true;
    try {
      open(permalinkState());
    } finally {
      opening = false;
    }
  };
  again();
  window.addEventListener("popstate", again);
}

// A link to a section scrolls there, and leaves in the address what is shown.
function sectionLinks() {
  const scroll = ({ section }) => document.getElementById(section)?.scrollIntoView();
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      setPermalink({ section: link.hash.slice(1) }, true);
      scroll(permalinkState());
    });
  }
  scroll(permalinkState());
}

// Names from below the root to a box, as a text and back. Anything else is the root.
const zoomText = (names) => (names.length ? JSON.stringify(names) : "");
function zoomNames(text) {
  try {
    const names = JSON.parse(text);
    return Array.isArray(names) ? names : [];
  } catch {
    return [];
  }
}
