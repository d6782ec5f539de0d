// SPDX-License-Identifier: Apache-2.0
// Figures of benches: a bar with its spread for each library and case, the speed-ups of ours on a
// scale of their own, limits as lines. `headwayCharts` is for tests and the curious.

const data = JSON.parse(document.getElementById("headway-data").textContent);
const OURS = "headway";
const RIVAL_COLOURS = ["completion", "collective", "help", "agent", "combine", "copy"];
// A bar of so many times the best one's length is cut, so that the others can be told apart.
const CUT = 5;
// Ends of the scale of speed-ups, powers of two; what lies outside is an arrow at its end.
const RATIO_SPAN = 2.3;
const VERDICTS = ["holds", "missed", "open"];

/** Every library in the order of its first appearance. */
const libraries = [...new Set(data.benches.flatMap((bench) => bench.libraries))];
const variants = new Set(data.benches.flatMap((bench) => bench.variants));
const rivals = libraries.filter((name) => name !== OURS && !variants.has(name));

function colourOf(library) {
  if (library === OURS) {
    return "var(--message)";
  }
  return variants.has(library) ? "var(--variant)"
    : `var(--${RIVAL_COLOURS[rivals.indexOf(library) % RIVAL_COLOURS.length]})`;
}

/** Three significant digits; large ones whole. */
function formatNumber(value) {
  const size = Math.abs(value);
  if (size >= 1000) {
    return Math.round(value).toString();
  }
  return size === 0 ? "0" : Number(value.toPrecision(3)).toString();
}

const percent = (part) => `${100 * part}%`;
const formatSpread = (f) => `${formatNumber(f.lower)} \u2026 ${formatNumber(f.upper)}`;

function bestOf(metric, figures) {
  const sorted = figures.toSorted((a, b) => a.median - b.median);
  return (metric.better === "lower" ? sorted[0] : sorted.at(-1)) ?? null;
}

/** The ends of a case's scale; bars begin at 0. */
function scaleOf(metric, figures, limits) {
  const low = Math.min(0, ...figures.map((f) => Math.min(f.median, f.lower)));
  let high = Math.max(0, ...figures.map((f) => Math.max(f.median, f.upper)));
  const best = bestOf(metric, figures);
  const isCut = metric.judged === "speedup" && metric.better === "lower";
  if (isCut && best !== null && best.median > 0) {
    high = Math.min(high, CUT * best.median);
  }
  high = Math.max(high, ...limits.map((limit) => 1.1 * limit.required));
  return { low, length: high - low || 1 };
}

function drawTrack(scale, figure, limits) {
  const place = (value) => Math.max(0, Math.min(1, (value - scale.low) / scale.length));
  const track = element("div", { className: "track" });
  const span = (className, from, to) => {
    const made = element("div", { className });
    made.style.left = percent(Math.min(place(from), place(to)));
    made.style.width = percent(Math.abs(place(to) - place(from)));
    track.append(made);
    return made;
  };
  const mark = (className, at) => {
    const made = element("div", { className });
    made.style.left = percent(place(at));
    track.append(made);
  };
  span("fill", 0, figure.median).style.background = colourOf(figure.library);
  if (scale.low < 0) {
    mark("zero", 0);
  }
  if (figure.median > (scale.low + scale.length) * (1 + 1e-9)) {
    track.append(element("div", { className: "cut" }));
  } else {
    span("spread", figure.lower, figure.upper);
    mark("least", figure.min);
  }
  for (const limit of limits) {
    if (limit.aim !== null) {
      mark("limit aim", limit.aim);
    }
    mark("limit", limit.required);
  }
  return track;
}

function describeFigure(metric, figure) {
  return `${figure.library}: median ${formatNumber(figure.median)} ${metric.unit}\n` +
    `quartiles ${formatSpread(figure)}, least ${formatNumber(figure.min)}\n` +
    `${figure.samples.length} rounds, ${figure.raw} samples in each`;
}

function drawBar(metric, figure, scale, best, limits) {
  const isOurs = figure.library === OURS;
  const bar = element("div", { className: isOurs ? "bar ours" : "bar" });
  bar.append(element("span", { className: "who", textContent: figure.library }));
  if ("skipped" in figure) {
    bar.append(element("span", { className: "none", textContent: figure.skipped }), "");
    return bar;
  }
  bar.classList.toggle("best", figure === best);
  bar.dataset.tip = describeFigure(metric, figure);
  bar.append(drawTrack(scale, figure, isOurs ? limits : []), element("span", {
    className: "said", textContent: `${formatNumber(figure.median)} (${formatSpread(figure)})`,
  }));
  return bar;
}

function ratioPlace(ratio) {
  const power = Math.log2(Math.max(ratio, 1e-9)) / RATIO_SPAN;
  return (Math.max(-1, Math.min(1, power)) + 1) / 2;
}

function drawRatio(ratio) {
  const row = element("div", { className: "ratio" });
  const mark = (className, at) => {
    const made = element("div", { className });
    made.style.left = percent(ratioPlace(at));
    row.append(made);
    return made;
  };
  [0.25, 0.5, 1, 2, 4].forEach((at) => mark(at === 1 ? "grid one" : "grid", at));
  if (ratio.aim !== null) {
    mark("limit aim", ratio.aim);
  }
  if (ratio.required !== null) {
    mark("limit", ratio.required);
  }
  mark("spread", ratio.lower).style.width =
    percent(ratioPlace(ratio.upper) - ratioPlace(ratio.lower));
  const place = ratioPlace(ratio.median);
  const end = place === 0 ? " left" : place === 1 ? " right" : "";
  mark(`dot ${ratio.verdict ?? ""}${end}`, ratio.median).classList.add(ratio.verdict ?? "plain");
  row.dataset.tip = `speed-up over ${ratio.rival}: median ${formatNumber(ratio.median)}\n` +
    `quartiles ${formatSpread(ratio)}, least ${formatNumber(ratio.min)}\n` +
    `${ratio.samples.length} rounds` +
    (ratio.required === null ? "" : `; ${describeLimit(ratio)}`);
  return row;
}

function describeLimit(limit) {
  const aim = limit.aim === null ? "" : `, aim ${formatNumber(limit.aim)}`;
  return `required ${limit.sign} ${formatNumber(limit.required)}${aim}: ${limit.verdict}`;
}

function verdictWords(limit) {
  if (limit.verdict === null) {
    return [];
  }
  const sign = limit.sign === ">=" ? "\u2265" : "\u2264";
  return [`${sign} ${formatNumber(limit.required)} `,
    element("span", { className: `word ${limit.verdict}`, textContent: limit.verdict })];
}

function drawRatios(found) {
  const scales = element("div", { className: "ratios" }, ...found.ratios.map(drawRatio));
  const texts = found.ratios.map((ratio) => element("div", { className: "verdict" },
    `${formatNumber(ratio.median)} (${formatSpread(ratio)}) `, ...verdictWords(ratio),
    element("br"), `against ${ratio.rival}`));
  texts.push(...found.limits.map((limit) => element("div", { className: "verdict" },
    "itself ", ...verdictWords(limit))));
  return [scales, element("div", { className: "ratios" }, ...texts)];
}

const caseId = (bench, metric, name) => `${bench}/${metric}/${name}`;

function drawCase(bench, metric, found) {
  const figures = found.figures.filter((figure) => !("skipped" in figure));
  const scale = scaleOf(metric, figures, found.limits);
  const best = figures.length > 1 ? bestOf(metric, figures) : null;
  const bars = found.figures.map((figure) =>
    drawBar(metric, figure, scale, best, found.limits));
  return element("div", { className: "case", id: caseId(bench.name, metric.name, found.name) },
    element("div", { className: "name", textContent: found.name }),
    element("div", {}, ...bars), ...drawRatios(found));
}

function drawHead(metric) {
  const scale = element("div", { className: "scale" });
  for (const at of metric.judged === "value" ? [] : [0.25, 0.5, 1, 2, 4]) {
    const made = element("span", { textContent: at.toString() });
    made.style.left = percent(ratioPlace(at));
    scale.append(made);
  }
  const words = metric.judged === "value" ? "" : "speed-up of ours (quartiles), required";
  return element("div", { className: "case head" }, element("div", { textContent: "case" }),
    element("div", { textContent: "median (quartiles); the mark is the least, cut bars are longer" }),
    scale, element("div", { textContent: words }));
}

const rowOf = (cell, texts) => element("tr", {},
  ...texts.map((textContent) => element(cell, { textContent })));

function drawNumbers(metric) {
  const spread = (f) => [f.min, f.lower, f.median, f.upper].map(formatNumber);
  const rounds = (f) => f.samples.map(formatNumber).join(" ");
  const lines = metric.cases.flatMap((found) => [
    ...found.figures.filter((figure) => !("skipped" in figure)).map((figure) =>
      rowOf("td", [found.name, figure.library, ...spread(figure), figure.raw, rounds(figure)])),
    ...found.ratios.map((ratio) => rowOf("td",
      [found.name, `speed-up over ${ratio.rival}`, ...spread(ratio), "", rounds(ratio)])),
  ]);
  const table = element("table", {}, rowOf("th", ["case", "library", "min", "lower quartile",
    "median", "upper quartile", "samples a round", "rounds"]), ...lines);
  return element("details", { className: "numbers" },
    element("summary", { textContent: `all numbers of ${metric.name}` }),
    element("div", { className: "scroll" }, table));
}

function drawMetric(bench, metric) {
  const heading = element("h3", {}, `${metric.name} in ${metric.unit} `, element("span", {
    textContent: `${metric.better} is better${metric.note === "" ? "" : "; " + metric.note}`,
  }));
  return [heading, drawHead(metric),
    ...metric.cases.map((found) => drawCase(bench, metric, found)), drawNumbers(metric)];
}

function drawBench(bench) {
  const fact = (text, className = "fact") => element("p", { className, textContent: text });
  const folded = (textContent, pairs) => pairs.length === 0 ? [] : [element("details", {},
    element("summary", { textContent }), element("div", { className: "scroll" },
      element("table", { className: "texts" }, ...pairs.map((pair) => rowOf("td", pair)))))];
  return element("section", { id: bench.name },
    element("h2", { textContent: `${bench.name}: ${bench.title}` }),
    element("p", { className: "fact" }, element("code", { textContent: bench.command })),
    fact(`${bench.machine}; measured ${bench.run}`), ...bench.notes.map((note) => fact(note, "fact warn")),
    ...drawMaps(bench), ...drawAllRanks(bench),
    ...bench.metrics.flatMap((metric) => drawMetric(bench, metric)),
    ...folded("settings of the libraries", bench.settings),
    ...folded("work beside the messages", bench.work));
}

function drawSummary() {
  const counts = VERDICTS.map((word) => data.claims.filter((c) => c.verdict === word).length);
  const bar = element("div", { className: "share wide" });
  VERDICTS.forEach((word, index) => {
    const part = element("b");
    part.style.width = percent(counts[index] / data.claims.length);
    part.style.background = `var(--${word})`;
    bar.append(part);
  });
  const words = VERDICTS.flatMap((word, index) => [index === 0 ? "" : ", ",
    element("span", { className: `word ${word}`, textContent: `${counts[index]} ${word}` })]);
  const heads = ["bench", "case", "figure", "median", "quartiles", "against", "required", "aim", ""];
  const lines = data.claims.map((claim) => {
    const row = rowOf("td", [claim.bench, "", claim.about, formatNumber(claim.median),
      formatSpread(claim), claim.against, `${claim.sign} ${formatNumber(claim.required)}`,
      claim.aim === null ? "" : formatNumber(claim.aim), ""]);
    const metric = claim.about.replace("speed-up of ", "");
    row.cells[1].append(element("a", { textContent: claim.case,
      href: `#${encodeURIComponent(caseId(claim.bench, metric, claim.case))}` }));
    row.cells[8].append(element("span", { className: `word ${claim.verdict}`,
      textContent: claim.verdict }));
    return row;
  });
  const table = element("table", { id: "summary" }, rowOf("th", heads), ...lines);
  return element("section", {}, element("h2", { textContent: "What is required" }),
    element("p", { className: "fact" }, `Of ${data.claims.length} limits: `, ...words), bar,
    element("details", { open: true }, element("summary", { textContent: "every limit" }),
      element("div", { className: "scroll" }, table)));
}

/** A page of its own for each trace, as `headway report` makes it of one alone. */
function drawTimelines() {
  return element("section", { id: "timelines" }, element("h2", { textContent: "Timelines" }),
    ...data.timelines.flatMap((timeline) => [
      element("h3", {}, `${timeline.title} `, element("span", { textContent: timeline.facts })),
      element("iframe", { title: `timeline of ${timeline.title}`, srcdoc: timeline.page }),
    ]));
}

function fillLegend() {
  const legend = document.getElementById("legend");
  const entry = (patch, text) => legend.append(element("span", {}, patch, text));
  for (const library of libraries) {
    const patch = element("i");
    patch.style.background = colourOf(library);
    entry(patch, library);
  }
  for (const [style, text] of [["solid var(--missed)", "required"], ["dotted var(--faint)", "aim"]]) {
    const line = element("i");
    line.style.cssText = `width: 0; border-radius: 0; border-left: 2px ${style}`;
    entry(line, text);
  }
}

function showTip(event) {
  const tip = document.getElementById("tip");
  const owner = event.target.closest?.("[data-tip]") ?? null;
  tip.hidden = owner === null;
  if (owner !== null) {
    tip.textContent = owner.dataset.tip;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const isLow = event.clientY + 18 + tip.offsetHeight > window.innerHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${isLow ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18}px`;
  }
}

const actions = {
  theme: flipTheme,
  numbers: () => {
    const all = [...document.querySelectorAll("details.numbers")];
    const isOpen = all.every((each) => each.open);
    all.forEach((each) => { each.open = !isOpen; });
  },
};
const keys = { t: actions.theme, n: actions.numbers };

for (const button of document.querySelectorAll("[data-act]")) {
  button.addEventListener("click", actions[button.dataset.act]);
}
window.addEventListener("keydown", (event) => {
  if (!event.ctrlKey && !event.metaKey && !event.altKey && event.key in keys) {
    keys[event.key]();
  }
});
window.addEventListener("mousemove", showTip);

fillLegend();
document.getElementById("facts").textContent =
  `${data.benches.length} benches, ${libraries.length} libraries`;
document.getElementById("benches").append(
  ...(data.claims.length > 0 ? [drawSummary()] : []), ...data.benches.map(drawBench),
  ...(data.timelines.length > 0 ? [drawTimelines()] : []));
window.headwayCharts = { scaleOf, ratioPlace, formatNumber };
document.documentElement.dataset.state = "drawn";
