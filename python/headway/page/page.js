// SPDX-License-Identifier: Apache-2.0
// Wheel, mouse and keys; legend, texts under the mouse, table. `headwayTimeline` is for tests and
// the curious: the window shown, and what was drawn.

const model = readModel();
const canvas = document.getElementById("timeline");
const tip = document.getElementById("tip");
const painter = new Painter(canvas, model);
const margin = Math.max(1, model.duration * 0.01);
const view = {
  from: -margin, to: model.duration + margin, scroll: 0, messages: true, selection: null,
};
let isWaiting = false;

function redraw() {
  if (!isWaiting) {
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      painter.draw(view);
      const every = painter.drawn.every;
      const shown = [Math.max(0, view.from), Math.min(model.duration, view.to)];
      const text = `${formatTime(shown[0])} to ${formatTime(shown[1])}.`;
      document.getElementById("window").textContent =
        view.messages && every > 1 ? `${text} One of ${every} messages is drawn.` : text;
      document.documentElement.dataset.state = "drawn";
    });
  }
}

function show(from, to) {
  const widest = model.duration + 2 * margin;
  const length = Math.max(20, Math.min(widest, to - from));
  const middle = (from + to) / 2;
  view.from = Math.max(-margin, Math.min(model.duration + margin - length, middle - length / 2));
  view.to = view.from + length;
  tip.hidden = true;
  redraw();
}

function zoom(factor, x = GUTTER + painter.plotWidth / 2) {
  const at = painter.moment(view, Math.max(GUTTER, x));
  const from = at - (at - view.from) * factor;
  show(from, from + (view.to - view.from) * factor);
}

function move(part) {
  const by = (view.to - view.from) * part;
  show(view.from + by, view.to + by);
}

function scroll(by) {
  view.scroll = Math.max(0, Math.min(painter.scrollMax, view.scroll + by));
  redraw();
}

const actions = {
  in: () => zoom(0.5),
  out: () => zoom(2),
  fit: () => show(-margin, model.duration + margin),
  messages: () => {
    view.messages = !view.messages;
    document.querySelector("[data-act=messages]").setAttribute("aria-pressed", view.messages);
    redraw();
  },
  theme: () => {
    flipTheme();
    painter.readColours();
    redraw();
  },
};

const keys = {
  "+": actions.in, "=": actions.in, "-": actions.out, "0": actions.fit, m: actions.messages,
  t: actions.theme, ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: () => scroll(-40), ArrowDown: () => scroll(40),
};

function place(event) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function describe(found) {
  if ("message" in found) {
    const m = model.messages;
    const i = found.message;
    const sent = m.posted[i];
    const lines = [
      `message: rank ${m.from[i]} \u2192 rank ${m.to[i]}, ${formatBytes(m.bytes[i])}`,
      m.context[i] % 2 === 1 ? `step of a collective, context ${m.context[i] - 1}`
        : `tag ${m.tag[i]}, context ${m.context[i]}`,
      `posted at ${formatTime(sent)}`,
    ];
    if (m.received[i] >= 0) {
      lines.push(`seen by its receiver after ${formatTime(m.received[i] - sent)}`);
    }
    lines.push(`delivered after ${formatTime(m.delivered[i] - sent)}`);
    return lines.join("\n");
  }
  const { row, list, index } = found;
  const owner = row.kind === "main" ? row.label : `rank ${row.rank}, ${row.label}`;
  return `${model.names[list.name[index]]}\n${owner}\nfor ` +
    `${formatTime(list.end[index] - list.begin[index])}, from ${formatTime(list.begin[index])}`;
}

function hover(event) {
  const [x, y] = place(event);
  const found = painter.find(view, x, y);
  tip.hidden = found === null;
  if (found !== null) {
    tip.textContent = describe(found);
    const left = Math.min(x + 14, painter.width - tip.offsetWidth - 8);
    const isLow = y + 18 + tip.offsetHeight > painter.height;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${isLow ? Math.max(4, y - tip.offsetHeight - 12) : y + 18}px`;
  }
}

let drag = null;
canvas.addEventListener("pointerdown", (event) => {
  const [x, y] = place(event);
  drag = { x, y, from: view.from, to: view.to, scroll: view.scroll, isRange: event.shiftKey };
  canvas.setPointerCapture(event.pointerId);
  canvas.classList.toggle("moving", !drag.isRange);
});
canvas.addEventListener("pointermove", (event) => {
  if (drag === null) {
    hover(event);
    return;
  }
  const [x, y] = place(event);
  if (drag.isRange) {
    view.selection = [drag.x, x];
    redraw();
    return;
  }
  const by = (drag.x - x) / painter.plotWidth * (drag.to - drag.from);
  show(drag.from + by, drag.to + by);
  view.scroll = Math.max(0, Math.min(painter.scrollMax, drag.scroll + drag.y - y));
});
function endDrag(event) {
  if (drag !== null && drag.isRange) {
    const ends = [drag.x, place(event)[0]].sort((a, b) => a - b);
    view.selection = null;
    if (ends[1] - ends[0] > 3) {
      show(painter.moment(view, ends[0]), painter.moment(view, ends[1]));
    }
    redraw();
  }
  drag = null;
  canvas.classList.remove("moving");
}
canvas.addEventListener("pointerup", endDrag);
canvas.addEventListener("pointercancel", endDrag);
canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
canvas.addEventListener("dblclick", (event) => {
  const found = painter.find(view, ...place(event));
  if (found !== null && "row" in found) {
    const begin = found.list.begin[found.index];
    const end = found.list.end[found.index];
    show(begin - (end - begin) * 0.1, end + (end - begin) * 0.1);
  }
});
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (event.shiftKey) {
    scroll(event.deltaY || event.deltaX);
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    move(event.deltaX / painter.plotWidth);
  } else {
    zoom(Math.exp(Math.max(-400, Math.min(400, event.deltaY)) / 400), place(event)[0]);
  }
}, { passive: false });
window.addEventListener("keydown", (event) => {
  const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
  const isOurs = document.activeElement === canvas || document.activeElement === document.body;
  if (action !== undefined && isOurs) {
    event.preventDefault();
    action();
  }
});
for (const button of document.querySelectorAll("[data-act]")) {
  button.addEventListener("click", actions[button.dataset.act]);
}
window.addEventListener("resize", () => {
  painter.resize();
  scroll(0);
});

function fillLegend() {
  const present = new Set(model.kinds);
  const legend = document.getElementById("legend");
  for (const [kind, label] of KINDS.filter(([name]) => present.has(name))) {
    const patch = element("i");
    patch.style.background = `var(--${kind})`;
    legend.append(element("span", {}, patch, label));
  }
  const line = element("i", { className: "arrow" });
  line.style.background = "var(--arrow)";
  legend.append(element("span", {}, line, "message, from posted to delivered"));
}

function shareBar(row) {
  const bar = element("div", { className: "share" });
  const parts = [["compute", row.compute], ["message", row.mpi - row.asleep],
    ["other", row.asleep]];
  for (const [kind, time] of parts) {
    const part = element("b");
    part.style.width = `${100 * Math.max(0, time) / (model.duration || 1)}%`;
    part.style.background = `var(--${kind})`;
    bar.append(part);
  }
  bar.title = "computing, awake in MPI, asleep in MPI";
  return bar;
}

const percent = (part) => (part === null ? "\u2013" : `${(100 * part).toFixed(1)} %`);

function fillSummary() {
  const table = document.getElementById("summary");
  const heads = ["rank", "calls", "in MPI", "of that asleep", "computing", "", "sent", "received",
    "bytes sent", "overlap"];
  table.append(element("tr", {}, ...heads.map((text) => element("th", { textContent: text }))));
  const cells = (row, first, bar) => [first, row.calls, formatTime(row.mpi),
    formatTime(row.asleep), formatTime(row.compute), bar, row.sent, row.received,
    formatBytes(row.bytes_sent), percent(row.overlap)];
  const sums = { calls: 0, mpi: 0, asleep: 0, compute: 0, sent: 0, received: 0, bytes_sent: 0 };
  for (const row of model.summary) {
    Object.keys(sums).forEach((name) => { sums[name] += row[name]; });
    table.append(element("tr", {}, ...cells(row, row.rank, shareBar(row))
      .map((cell) => element("td", {}, cell))));
  }
  table.append(element("tr", { className: "total" }, ...cells({ ...sums, overlap: null }, "all", "")
    .map((cell) => element("td", {}, cell))));
}

function fillCounters() {
  const names = [...new Set(model.summary.flatMap((row) => Object.keys(row.counters)))];
  const rowOf = (cell, texts) => element("tr", {},
    ...texts.map((textContent) => element(cell, { textContent })));
  const words = (name) => name.replaceAll("_", " ");
  const lines = model.summary.map((row) => rowOf("td", [row.rank, ...names.map((name) => {
    const value = row.counters[name] ?? "";
    return name.endsWith("_ns") && value !== "" ? formatTime(value) : value;
  })]));
  const heads = names.map((name) => words(name.endsWith("_ns") ? name.slice(0, -3) : name));
  document.getElementById("counters").append(rowOf("th", ["rank", ...heads]), ...lines);
}

document.getElementById("facts").textContent =
  `${model.ranks} ranks, ${formatTime(model.duration)}, ${model.messages.count} messages; ` +
  model.version;
document.getElementById("notes").append(
  ...model.notes.map((text) => element("li", { textContent: text })));
fillLegend();
fillSummary();
fillCounters();
painter.resize();
window.headwayTimeline = { view, show, drawn: () => painter.drawn };
redraw();
