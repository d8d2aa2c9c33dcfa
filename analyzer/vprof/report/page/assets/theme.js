"use strict";
// The button that chooses the colours.

// auto follows the system; the choice is kept where the browser lets a file keep something.
function theme() {
  const button = document.getElementById("theme");
  const kept = (() => { try { return localStorage.getItem("vprof-theme"); } catch { return null; } })();
  let choice = ["light", "dark"].includes(kept) ? kept : "auto";
  const apply = () => {
    document.documentElement.dataset.theme = choice;
    button.textContent = `Theme: ${choice}`;
    button.setAttribute("aria-label", `Colours: ${choice === "auto" ? "as the system has them" : choice}`);
  };
  button.addEventListener("click", () => {
    choice = { auto: "dark", dark: "light", light: "auto" }[choice];
    try { localStorage.setItem("vprof-theme", choice); } catch { /* not kept then */ }
    apply();
  });
  apply();
}
