"use strict";
// The table of factors: shares with their error bars, what lies behind each.

const PARTS = [
  ["sites", "Called at"],
  ["callers", "Called from"],
  ["inside", "Its time is spent in"],
  ["wakers", "What it waited for, by what the other thread did"],
];
const SHOWN_PARTS = 8;
const SMALLEST_PART = 0.001;

function factorSection() {
  const place = document.getElementById("factor-table");
  const { factors } = analysis;
  if (!factors.length) return place.append(empty(analysis.no_ranking || "No function holds enough of the variance to be listed."));
  const ends = factors.flatMap((factor) => [factor.share, ...(factor.ci95 || [])]);
  const scale = d3.scaleLinear([Math.min(0, ...ends), Math.max(...ends)], [1, BAR.width - 1]);
  const columns = [
    { name: "#", number: true, value: (row) => row.rank, show: (row) => String(row.rank), title: (row) => row.functions.join(" and ") },
    { name: "factor", class: "name", value: (row) => row.functions.join(" "), show: factorName },
    { name: "share", number: true, value: (row) => row.share, show: (row) => percent(row.share) },
    { name: "95 % interval", value: (row) => (row.ci95 ? row.ci95[0] : null), show: (row) => shareBar(row, scale) },
    { name: "ranked first", number: true, value: (row) => row.first, show: (row) => percent(row.first) },
    { name: "height", number: true, value: (row) => row.height, show: (row) => String(row.height) },
    ...(data.gains ? [{ name: "if constant", number: true, value: (row) => gainOf(row.rank - 1), show: (row) => gainText(row.rank - 1) }] : []),
  ];
  const rows = factors.map((factor, i) => ({ ...factor, rank: i + 1, explained: data.explained[i] }));
  place.append(sortableTable(columns, rows, (row) => row.explained && explanation(row.explained)));
  const reasons = [...new Set(factors.map((factor) => factor.ci95_reason).filter(Boolean))];
  document.getElementById("factor-note").textContent = [
    reasons.length ? `No error bars: ${reasons.join("; ")}.` : `Lines are 95 % intervals. Ranked first: the part of the resamples of the run that rank it first.`,
    data.missing.explained ? `Callers and call sites are not shown: ${data.missing.explained}.` : "",
  ].join(" ");
}

function factorName(row) {
  const parts = placedAll(row.functions, " with ");
  const kind = row.kind === "covariance" ? " (covariance)" : "";
  const lines = [["defined in", row.places], ["called at", row.sites]].filter(([, places]) => places.some(Boolean));
  const definitions = row.source.map((source, i) => definition(source, row.functions[i])).filter(Boolean);
  const links = { "defined in": row.links, "called at": row.sites.map((site) => SITE_LINKS.get(site)) };
  return [el("span", {}, ...parts, kind), ...lines.map(([what, places]) => sourceLines(what, places, links[what])), ...definitions];
}

// The first lines of a definition, behind a click.
function definition(source, name) {
  if (!source) return null;
  const lines = source.lines.map((text, i) => `${String(source.first + i).padStart(5)}  ${text}\n`);
  const remark = source.remark ? el("span", { class: "where" }, ` (${source.remark})`) : null;
  return el("details", { class: "definition" }, el("summary", {}, "source of ", named(name), remark), el("pre", {}, ...lines));
}

// A path's last two parts; all of it where the pointer rests. `links`: of the same length, to them.
function sourceLines(what, places, links) {
  const known = [...new Set(places.filter(Boolean))];
  const shown = known.slice(0, 4).map((place) => place.replace(/:0$/, "").split("/").slice(-2).join("/"));
  const more = known.length > shown.length ? ` and ${known.length - shown.length} more` : "";
  const text = shown.flatMap((one, i) => [i ? ", " : "", linked(one, links[places.indexOf(known[i])])]);
  return el("div", { class: "where", title: known.join("\n") }, `${what} `, ...text, more);
}

function shareBar(row, scale) {
  const text = row.ci95 ? `${percent(row.ci95[0])} to ${percent(row.ci95[1])}` : "no interval";
  return [errorBar(scale, 0, row.share, row.ci95, text), el("span", { class: "where" }, row.ci95 ? text : "")];
}

function explanation(one) {
  const sides = one.sides.map((side) => {
    const lists = PARTS.map(([key, title]) => partTable(title, side[key].filter((part) => part.name || key === "callers")));
    const head = `mean ${duration(side.mean_ns)}, sd ${duration(side.sd_ns)}, in ${count(side.occurs)} intervals`;
    return el("div", {}, el("h3", {}, one.sides.length > 1 ? placed(side.function) : "", one.sides.length > 1 ? `: ${head}` : head), ...lists, waitedForTable(side.objects));
  });
  const half = one.half ? `${count(one.half)} interval${one.half > 1 ? "s hold" : " holds"} half of it.` : "";
  return el("div", {}, el("div", { class: "pair" }, ...sides), el("p", { class: "note" }, half));
}

function waitedForTable(objects) {
  if (!objects.length) return null;
  const rows = objects.slice(0, SHOWN_PARTS).map((one) => [named(one.title), count(one.intervals), duration(one.mean_ns)]);
  return el("div", {}, el("h3", {}, "What its waits were for"), plainTable(["", "intervals", "mean time"], rows));
}

function partTable(title, parts) {
  if (!parts.length) return null;
  const shown = parts.filter((part) => Math.abs(part.share) >= SMALLEST_PART).slice(0, SHOWN_PARTS);
  const rows = shown.map((part) => [part.name ? el("span", {}, ...placedAll(part.name.split(" > "))) : "(nothing with a probe)", percent(part.share), duration(part.mean_ns)]);
  const rest = parts.filter((part) => !shown.includes(part));
  const more = rest.length ? el("p", { class: "note" }, `not shown: ${rest.length}, together ${percent(d3.sum(rest, (part) => part.share))}`) : null;
  return el("div", {}, el("h3", {}, title), plainTable(["", "share of it", "mean time"], rows), more);
}
