"use strict";
// Puts the sections together: which tree is shown, by which metric; the smaller tables; the colours.

function trees() {
  const types = analysis.by_type ? analysis.by_type.types.filter((type) => type.tree) : [];
  const all = { name: `all (${count(analysis.intervals.count)})`, tree: analysis.tree, tail: analysis.tail_quantile };
  return [all, ...types.map((type) => ({ name: `${type.type} (${count(type.count)})`, tree: type.tree, tail: type.tail_quantile }))];
}

function treeSections() {
  const which = document.getElementById("which");
  const shown = trees();
  which.append(...shown.map((one, i) => el("option", { value: i }, one.name)));
  document.getElementById("which-label").hidden = shown.length < 2;
  const unzoom = document.getElementById("unzoom");
  const matches = document.getElementById("matches");
  const search = document.getElementById("search");
  const way = document.getElementById("flame-way");
  const metrics = METRICS.map(([key, name], i) => el("input", { type: "radio", name: "metric", value: key, checked: i === 0 }));
  const flame = new FlameGraph(document.getElementById("flame-chart"), (state) => {
    unzoom.disabled = !state.zoomed;
    setPermalink({ zoom: zoomText(flame.pathOf(flame.zoomed)) }, true);
    way.replaceChildren(...(state.zoomed ? ["Zoomed: ", ...placedAll(flame.pathOf(flame.zoomed))] : []));
    matches.textContent = search.value ? `${count(state.matches)} boxes, together ${percent(state.share)}` : "";
  });
  const table = new TreeTable(document.getElementById("tree-table"));
  METRICS.forEach(([, name], i) => document.getElementById("metric").append(el("label", {}, metrics[i], name)));
  const update = () => {
    const one = shown[which.value];
    metrics.forEach((input) => (input.disabled = one.tree[input.value] === null));
    if (metrics.find((input) => input.checked).disabled) (metrics.find((input) => !input.disabled) || metrics[2]).checked = true;
    const metric = metrics.find((input) => input.checked).value;
    flame.show(one.tree, metric);
    document.getElementById("flame-note").textContent = flameNote(one, metric);
    setPermalink({ metric: metric === METRICS[0][0] ? "" : metric, type: which.value === "0" ? "" : one.name });
    return one;
  };
  const updateBoth = () => {
    const one = update();
    table.show(one.tree, one.tail);
  };
  which.addEventListener("change", updateBoth);
  metrics.forEach((input) => input.addEventListener("change", update));
  search.addEventListener("input", () => {
    setPermalink({ search: search.value });
    flame.search(search.value);
  });
  unzoom.addEventListener("click", () => flame.zoom(flame.boxes[0]));
  document.getElementById("covariances").addEventListener("change", (event) => ((table.covariances = event.target.checked), table.draw()));
  document.getElementById("collapse").addEventListener("click", () => table.collapse());
  atEachAddress((state) => {
    which.value = Math.max(0, shown.findIndex(({ name }) => name === state.type));
    metrics.forEach((input, i) => (input.checked = input.value === state.metric || (i === 0 && !METRICS.some(([key]) => key === state.metric))));
    search.value = state.search || "";
    updateBoth();
    flame.open(zoomNames(state.zoom));
    flame.search(search.value);
  });
  drawn(document.getElementById("flame-chart"), () => flame.draw());
}

function flameNote({ tree, tail }, metric) {
  const notes = [];
  if (tree.share === null) notes.push("There is no variance to show: boxes are shares of mean time.");
  if (metric === "tail_share") notes.push(`The tail: what makes intervals beyond p${100 * tail} slower than the mean.`);
  else if (tail === null) notes.push("No share of the tail: it needs 100 intervals beyond a quantile.");
  notes.push(negativeShares(tree, metric));
  return notes.filter(Boolean).join(" ");
}

function waitSection() {
  const place = document.getElementById("wait-tables");
  const causes = Object.entries(analysis.blocked_ns);
  const total = d3.sum(causes, ([, ns]) => ns);
  if (!total) return place.append(empty("No interval waited on its critical path."));
  const pair = el("div", { class: "pair" });
  place.append(pair);
  const rows = causes.map(([cause, ns]) => [el("span", {}, cause), el("span", {}, meter(ns / total), el("span", { class: "figure" }, percent(ns / total))), duration(ns)]);
  pair.append(el("div", {}, el("h3", {}, "Causes"), plainTable(["", "of blocked time", "total"], rows)));
  if (data.waits) {
    const [side] = data.waits.sides;
    const share = `${percent(data.waits.share)} of the variance of latency is waiting; each row is a part of that.`;
    pair.append(el("div", {}, partTable("Who waited", side.callers)));
    pair.append(el("div", {}, partTable("What the threads did that were waited for", side.wakers), el("p", { class: "note" }, share)));
  } else if (data.missing.waits) pair.append(el("div", {}, el("h3", {}, "By waker"), empty(data.missing.waits)));
  if (analysis.waited_for.objects.length) place.append(el("h3", {}, "The hottest objects"), objectTable());
  if (analysis.unknown.length) pair.append(el("div", {}, el("h3", {}, "Waits that nobody is known to have ended"), unknownTable()));
}

function objectTable() {
  const most = (functions) => functions.slice(0, 2).map((one) => one.function || "outside probed functions").join(", ");
  const said = (one) => `waited for in ${most(one.waiters)}${one.holders.length ? `; meanwhile ${most(one.holders)}` : ""}`;
  const rows = analysis.waited_for.objects.slice(0, 20).map((one) => [
    el("span", {}, named(one.title), el("div", { class: "where" }, said(one))),
    percent(one.share),
    duration(one.total_ns),
    count(one.waits),
    `${one.queue_mean.toFixed(1)} / ${count(one.queue_max)}`,
    one.hold_mean_ns === null ? "–" : duration(one.hold_mean_ns),
  ]);
  return plainTable(["", "of the variance", "blocked", "waits", "queue: mean / most", "held"], rows);
}

function unknownTable() {
  const rows = analysis.unknown.slice(0, 12).map((one) => {
    const at = (one.site ? `${one.function}@${one.site}` : one.function) || "outside probed functions";
    const name = el("span", {}, placed(at), one.thread ? ` (thread ${one.thread})` : "", el("div", { class: "where" }, one.waker_known ? "what the waker did is not recorded" : one.advice));
    return [name, percent(one.share), count(one.count), duration(one.total_ns)];
  });
  return plainTable(["", "of all time", "waits", "total"], rows);
}

function typeSection() {
  const place = document.getElementById("type-table");
  const split = analysis.by_type;
  if (split.types.length < 2) return place.append(empty("All intervals are of one type."));
  const total = split.within_ns2 + split.between_ns2;
  const columns = [
    { name: "type", class: "name", value: (row) => row.type, show: (row) => named(row.type) },
    { name: "intervals", number: true, value: (row) => row.count, show: (row) => count(row.count) },
    { name: "mean", number: true, value: (row) => row.mean_ns, show: (row) => duration(row.mean_ns) },
    { name: "sd", number: true, value: (row) => row.variance_ns2, show: (row) => duration(Math.sqrt(row.variance_ns2)) },
    { name: "p99", number: true, value: (row) => row.p99_ns, show: (row) => duration(row.p99_ns) },
  ];
  place.append(sortableTable(columns, split.types));
  if (total) place.append(el("p", { class: "note" }, `${percent(split.within_ns2 / total)} of the variance lies within types, ${percent(split.between_ns2 / total)} between them (inherent work). The flame graph and the tree show one type if you choose it above them.`));
}

function hostSection() {
  const place = document.getElementById("host-table");
  if (!place) return;
  const split = analysis.by_host;
  const total = split.within_ns2 + split.between_ns2;
  const columns = [
    { name: "host", class: "name", value: (row) => row.host, show: (row) => named(row.host || "(host not known)") },
    { name: "of the variance", number: true, value: (row) => row.share, show: (row) => percent(row.share) },
    { name: "by its mean", number: true, value: (row) => row.between, show: (row) => percent(row.between) },
    { name: "intervals", number: true, value: (row) => row.count, show: (row) => count(row.count) },
    { name: "mean", number: true, value: (row) => row.mean_ns, show: (row) => duration(row.mean_ns) },
    { name: "sd", number: true, value: (row) => row.variance_ns2, show: (row) => duration(Math.sqrt(row.variance_ns2)) },
    { name: "p99", number: true, value: (row) => row.p99_ns, show: (row) => duration(row.p99_ns) },
  ];
  place.append(sortableTable(columns, split.hosts));
  if (total) place.append(el("p", { class: "note" }, `${percent(split.within_ns2 / total)} of the variance lies within hosts, ${percent(split.between_ns2 / total)} between them.`));
  [...data.hosts, split.reason].filter(Boolean).forEach((said) => place.append(el("p", { class: "note" }, `${said}.`)));
}

function drillSection() {
  const place = document.getElementById("drill-tables");
  if (!place) return;
  const some = (names) => names.slice(0, 6).join(", ") + (names.length > 6 ? ` and ${names.length - 6} more` : "");
  const steps = data.drill.steps.map((step) => {
    const led = Object.entries(step.expanded).map(([name, below]) => `${name} → ${some(below)}`);
    const others = [["off again", step.dropped], ["left out, it would distort, or records were lost", step.left_out]].map(([what, names]) => (names.length ? `${what}: ${some(names)}` : ""));
    const done = [...led, ...others, step.no_ranking].filter(Boolean);
    return [String(step.number), count(step.intervals), duration(step.mean_ns), duration(step.stddev_ns), duration(step.p99_ns), count(step.on.length), el("span", { class: "where" }, ...done.map((line) => el("div", {}, named(line))))];
  });
  const names = ["step", "intervals", "mean", "sd", "p99", "functions on", "what it led to"];
  const columns = names.map((name, i) => ({ name, number: i > 0 && i < 6, class: i === 6 ? "name" : null, show: (row) => row[i] }));
  const findings = (data.drill.findings || []).map((one) => {
    const parts = [one.confirmed ? "confirmed on fresh data" : "not confirmed", one.is_inherent ? "inherent: types of intervals differ by it" : "", one.waiting >= 0.05 ? `${percent(one.waiting)} of it is waiting` : "", ...(one.missing ?? [])];
    const name = el("span", {}, ...placedAll(one.functions, " with "), el("div", { class: "where" }, ...placedAll(one.path)));
    const interval = one.ci95 ? `${percent(one.ci95[0])} to ${percent(one.ci95[1])}` : one.ci95_reason;
    return [name, percent(one.share), interval, parts.filter(Boolean).join("; ")];
  });
  const heads = ["finding", "share", "95 % interval of all at once", "what it is"];
  const shown = heads.map((name, i) => ({ name, number: i === 1, class: i === 1 ? null : "name", show: (row) => row[i] }));
  const found = findings.length ? sortableTable(shown, findings) : empty("No findings: no function held enough of the variance, or the drill-down was not finished.");
  place.append(found, el("h3", {}, "Steps"), sortableTable(columns, steps));
}

function settingsTable(rows) {
  const lines = rows.map(([what, value]) => el("tr", {}, el("th", { scope: "row" }, what), el("td", { class: "name" }, value)));
  return el("table", { class: "settings" }, el("tbody", {}, ...lines));
}

function runSection() {
  document.getElementById("settings").append(settingsTable(data.run.map(([what, value]) => [what, named(value)])));
  const place = document.getElementById("trust");
  const { loss, distortion } = analysis;
  const excluded = Object.entries(analysis.intervals.excluded).map(([why, n]) => `${count(n)} ${why}`);
  const dropped = loss.written === undefined ? "the trace does not say" : `${count(loss.dropped)} of ${count(loss.written)}`;
  place.append(settingsTable([
    ["records dropped", dropped],
    ["intervals or variance lost with them", percent(loss.lost_share)],
    ["intervals left out", excluded.join(", ") || "none"],
    ["blocks of equal weight that the run counts as (n_eff)", analysis.n_eff === null ? "not known: too few intervals, or no ranking" : count(Math.round(analysis.n_eff))],
  ]));
  if (!distortion) place.append(empty("What the probes do to the latencies was not measured (vprof record --measure-distortion)."));
  else if (!distortion.effects.length) place.append(empty(distortion.reason));
  else {
    const signed = (part) => `${part > 0 ? "+" : ""}${(100 * part).toFixed(1)} %`;
    const rows = distortion.effects.map((one) => [one.metric, signed(one.change), one.ci95.map(signed).join(" to "), percent(one.detectable)]);
    place.append(el("h3", {}, "What the probes do (on against off, in turn)"), plainTable(["", "change", "95 % interval", "would be seen from"], rows));
    place.append(el("p", { class: "note" }, `${count(distortion.on)} intervals on, ${count(distortion.off)} off, ${count(distortion.rounds)} rounds of four slices.`));
  }
  const remarks = [...analysis.warnings, ...analysis.notes];
  if (remarks.length) place.append(el("h3", {}, "Remarks"), el("ul", {}, ...remarks.map((remark) => el("li", {}, remark))));
}

theme();
latencySection();
treeSections();
factorSection();
gainSection();
pathSection();
waitSection();
typeSection();
hostSection();
drillSection();
runSection();
sectionLinks();
