// SPDX-License-Identifier: Apache-2.0
// The page's data as typed arrays, where things are in it, and how numbers are written.

const KINDS = [
  ["compute", "compute"], ["message", "send, receive"], ["completion", "wait, test, probe"],
  ["collective", "collective"], ["other", "other MPI call"], ["asleep", "asleep inside MPI"],
  ["copy", "copy"], ["combine", "combine"], ["agent", "agent"], ["help", "help by another rank"],
];

/** Spans of a row: begin and end ascend, since they do not overlap. */
function unpackSpans(flat) {
  const count = flat.length / 3;
  const spans = {
    count, begin: new Float64Array(count), end: new Float64Array(count),
    name: new Uint32Array(count),
  };
  for (let i = 0; i < count; ++i) {
    spans.begin[i] = flat[3 * i];
    spans.end[i] = flat[3 * i] + flat[3 * i + 1];
    spans.name[i] = flat[3 * i + 2];
  }
  return spans;
}

function readModel() {
  const data = JSON.parse(document.getElementById("headway-data").textContent);
  const columns = data.messages;
  const messages = { count: columns.from.length };
  for (const [name, values] of Object.entries(columns)) {
    messages[name] = Float64Array.from(values);
  }
  const rows = data.rows.map((row) => ({
    ...row, spans: unpackSpans(row.spans), inner: unpackSpans(row.inner),
  }));
  return { ...data, rows, messages };
}

/** Index of the first span that ends after a moment. */
function firstEndingAfter(spans, moment) {
  let low = 0;
  let high = spans.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.end[middle] > moment) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

function spanAt(spans, moment) {
  const index = firstEndingAfter(spans, moment);
  return index < spans.count && spans.begin[index] <= moment ? index : -1;
}

/** Heights and places of the rows, groups of a rank together. */
function layOut(rows, ranks) {
  const main = Math.max(9, Math.min(28, Math.floor(560 / Math.max(1, ranks))));
  // Few ranks leave room for their arrows.
  const gap = Math.max(3, Math.min(30, Math.round(260 / Math.max(1, ranks))));
  const side = Math.max(6, Math.round(main * 0.55));
  let top = 4;
  let last = -1;
  const mains = new Map();
  const placed = rows.map((row) => {
    top += row.rank === last ? 2 : (last < 0 ? 8 : gap);
    last = row.rank;
    const height = row.kind === "main" ? main : side;
    const place = { top, height };
    if (row.kind === "main") {
      mains.set(row.rank, place);
    }
    top += height;
    return place;
  });
  return { placed, mains, height: top + 10 };
}

const UNITS = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

/** "12.345 ms", with as many digits as `step` (nanoseconds) asks for. */
function formatTime(moment, step = 0) {
  const size = Math.max(Math.abs(moment), step);
  const [unit, factor] = UNITS.find(([, length]) => size >= length) ?? UNITS[3];
  const wanted = step > 0 ? Math.ceil(-Math.log10(step / factor) - 1e-9) : 3;
  const digits = factor === 1 && step === 0 ? 0 : Math.max(0, Math.min(9, wanted));
  return `${(moment / factor).toFixed(digits)} ${unit}`;
}

function formatBytes(bytes) {
  for (const [unit, factor] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (bytes >= factor) {
      const amount = bytes / factor;
      return `${Number.isInteger(amount) ? amount : amount.toFixed(1)} ${unit}`;
    }
  }
  return `${bytes} B`;
}

/** A step of 1, 2 or 5 times a power of ten, at least `least`. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= least * (1 - 1e-9));
  return factor * power;
}
