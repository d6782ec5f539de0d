// SPDX-License-Identifier: Apache-2.0
// Maps of communication by computation time, and what each rank saw of cells on the diagonal.

const MAP_WORDS = {
  r_overhead: "green 0: hidden; yellow 1: as if serial; red above; blue below 0",
  r_comp_slowdown: "blue 1: undisturbed; red: twice as slow",
  r_comm: "blue 0: hidden; yellow 1: all of it paid in MPI calls; red above",
};

/** One map as a table: computation upwards, communication to the right. */
function drawMap(map) {
  const head = element("tr", {}, element("th", { textContent: "comp \\ comm, ms" }),
    ...map.comm_ms.map((ms) => element("th", { textContent: formatNumber(ms) })));
  const rows = map.cells.map((row, index) => element("tr", {},
    element("th", { textContent: formatNumber(map.comp_ms[index]) }),
    ...row.map((cell) => {
      const made = element("td", { className: "cell" });
      if (cell !== null) {
        made.textContent = cell.value.toFixed(2);
        made.style.background = cell.colour;
        made.dataset.tip = `${map.library}, ${cell.case}\n${map.metric} ` +
          `${formatNumber(cell.value)}, quartiles ${formatNumber(cell.lower)} to ` +
          `${formatNumber(cell.upper)} of ${cell.samples} rounds\n${cell.words}`;
      }
      return made;
    })));
  return element("figure", { className: "map" },
    element("figcaption", { textContent: `${map.library}: ${map.metric}` }),
    element("table", {}, head, ...rows));
}

function drawMaps(bench) {
  const titles = [...new Set(bench.maps.map((map) => map.title))];
  return titles.flatMap((title) => {
    const those = bench.maps.filter((map) => map.title === title);
    const metrics = [...new Set(those.map((map) => map.metric))];
    return [element("h3", { textContent: `map of ${title}` }), ...metrics.flatMap((metric) => [
      element("p", { className: "fact", textContent: `${metric}: ${MAP_WORDS[metric]}` }),
      element("div", { className: "maps" },
        ...those.filter((map) => map.metric === metric).map(drawMap)),
    ])];
  });
}

/** A cell's ranks: where their time goes, and least, median and greatest overhead. */
function drawRanksBar(bar) {
  const shares = element("div", { className: "share wide" });
  for (const [part, colour] of [["call", "collective"], ["comp", "completion"], ["wait", "missed"]]) {
    const made = element("b");
    made.style.width = percent(bar[part]);
    made.style.background = `var(--${colour})`;
    shares.append(made);
  }
  shares.dataset.tip = `${bar.case}\ncall ${formatNumber(bar.call)}, computation ` +
    `${formatNumber(bar.comp)}, wait ${formatNumber(bar.wait)} of a rank's time`;
  return element("tr", {}, element("td", { textContent: bar.case }),
    element("td", { className: "shares" }, shares),
    ...["least", "median", "greatest"].map((name) =>
      element("td", { textContent: bar[name].toFixed(2) })));
}

function drawAllRanks(bench) {
  if (bench.ranks.length === 0) {
    return [];
  }
  const tables = bench.ranks.map((view) => element("figure", { className: "map" },
    element("figcaption", { textContent: `${view.title}: ${view.library}` }),
    element("table", {}, rowOf("th", ["cell", "call, computation, wait", "overhead of the ranks: least",
      "median", "greatest"]), ...view.bars.map(drawRanksBar))));
  return [element("details", { className: "numbers" },
    element("summary", { textContent: "all ranks: where their time goes" }),
    element("div", { className: "maps" }, ...tables))];
}
