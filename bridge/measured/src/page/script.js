// Sorting and filters of the tables, ranks as colours, call times as a figure. The page's text and tables are there without it.
"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const byId = id => document.getElementById(id);

  /** As `time` of bridge/measured/src/tables.rs. */
  const time = ns => ns < 1e3 ? `${ns.toFixed(0)} ns` : ns < 1e6 ? `${(ns / 1e3).toFixed(2)} µs`
    : ns < 1e9 ? `${(ns / 1e6).toFixed(2)} ms` : ns < 120e9 ? `${(ns / 1e9).toFixed(2)} s`
    : ns < 7200e9 ? `${(ns / 60e9).toFixed(1)} min` : `${(ns / 3600e9).toFixed(1)} h`;
  const grouped = number => number.toLocaleString("en-US");

  // --- Light and dark: as the system has it, until the button is pressed. ---
  const theme = byId("theme");
  const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (systemIsDark.matches ? "dark" : "light")) === "dark";
  const showTheme = () => {
    theme.setAttribute("aria-pressed", String(isDark()));
    drawRanks();
  };
  const stored = value => { // Pages of files may have no storage.
    try {
      if (value) localStorage.setItem("qmpi-theme", value);
      return localStorage.getItem("qmpi-theme");
    } catch { return null; }
  };

  // --- Tables: rows that match, of these the first ones, in the order of one column. ---
  const tables = new Map();
  const update = table => {
    const state = tables.get(table);
    const matching = state.rows.filter(state.matches);
    const shown = state.isOpen ? matching : matching.slice(0, state.limit);
    const visible = new Set(shown);
    for (const row of state.rows) row.hidden = !visible.has(row);
    table.tBodies[0].append(...state.rows);
    if (state.output) state.output.textContent = `${grouped(shown.length)} of ${grouped(state.rows.length)} rows`;
    if (state.more) {
      state.more.hidden = shown.length === matching.length;
      state.more.textContent = `Show all ${grouped(matching.length)} rows`;
    }
  };
  const sort = (table, head, direction) => {
    const state = tables.get(table);
    const column = [...head.parentElement.children].indexOf(head);
    const isText = head.querySelector(".sort").dataset.kind === "text";
    const cell = row => row.children[column];
    const key = isText ? row => cell(row).textContent.toLowerCase()
      : row => Number(cell(row).dataset.value ?? (cell(row).textContent || 0));
    const keys = new Map(state.rows.map(row => [row, key(row)]));
    const sign = direction === "ascending" ? 1 : -1;
    const compare = isText ? (a, b) => a.localeCompare(b) : (a, b) => a - b;
    state.rows.sort((a, b) => sign * compare(keys.get(a), keys.get(b)));
    for (const other of all("th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", direction);
    update(table);
  };
  for (const table of all("table.sortable")) {
    const form = document.querySelector(`form[data-for="${table.id}"]`);
    const more = document.querySelector(`button[data-for="${table.id}"]`);
    const state = {
      rows: [...table.tBodies[0].rows], matches: () => true, limit: Number(table.dataset.limit ?? Infinity), isOpen: false,
      output: form?.querySelector("output"), more,
    };
    tables.set(table, state);
    for (const button of all(".sort", table)) {
      const head = button.parentElement;
      const first = button.dataset.kind === "text" ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      button.addEventListener("click", () => sort(table, head, head.getAttribute("aria-sort") === first ? other : first));
    }
    if (form) {
      const { text, layer, changed } = form.elements;
      form.addEventListener("submit", event => event.preventDefault());
      form.addEventListener("input", () => {
        const words = text.value.toLowerCase().split(/\s+/).filter(word => word);
        state.matches = row => {
          const names = `${row.cells[0].textContent} ${row.dataset.layer ?? ""}`.toLowerCase();
          return words.every(word => names.includes(word)) && (!layer?.value || row.dataset.layer === layer.value)
            && (!changed?.checked || "changed" in row.dataset);
        };
        update(table);
      });
    }
    more?.addEventListener("click", () => {
      const firstNew = state.rows.filter(state.matches)[state.limit];
      state.isOpen = true;
      update(table);
      // The button is gone: whoever pressed it by the keyboard goes on at the first new row.
      firstNew.tabIndex = -1;
      firstNew.focus({ preventScroll: true });
    });
  }

  // --- Ranks: a strip of colours for each row. Numbers are packed by heat.rs. ---
  const heat = byId("table-heat");
  const [size, group] = [Number(heat.dataset.size), Number(heat.dataset.group)];
  const digits = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].map((digit, value) => [digit, value]));
  const MISSING = 2 ** 18 - 1;
  const unpack = text => {
    const times = new Float64Array(text.length / 3);
    for (let place = 0; place < times.length; place++) {
      const code = [0, 1, 2].reduce((code, digit) => 64 * code + digits.get(text[3 * place + digit]), 0);
      times[place] = code === MISSING ? NaN : code === 0 ? 0 : 0.01 * 10 ** (17 * (code - 1) / (MISSING - 2));
    }
    return times;
  };
  const strips = all("canvas", heat).map(canvas => ({ canvas, row: canvas.closest("tr"), times: unpack(canvas.dataset.packed) }));
  for (const strip of strips) {
    strip.median = Number(strip.row.children[3].dataset.value);
    strip.name = strip.row.dataset.function ? `${strip.row.dataset.function} in ${strip.row.dataset.layer}` : strip.row.dataset.layer;
  }
  const options = byId("heat-options").elements;
  const times = strips.flatMap(strip => [...strip.times]).filter(time => time > 0);
  const [least, most] = times.reduce(([low, high], time) => [Math.min(low, time), Math.max(high, time)], [Infinity, 1]);
  // Two colours with a middle, and one that only gets stronger: ends and middle for light and dark.
  const palettes = {
    light: { less: [33, 102, 172], same: [236, 238, 241], more: [178, 70, 0], weak: [240, 243, 247], strong: [12, 60, 120], missing: "#ffffff", hatch: "#8a94a3" },
    dark: { less: [92, 170, 245], same: [44, 52, 62], more: [255, 150, 70], weak: [38, 46, 56], strong: [150, 205, 255], missing: "#191f27", hatch: "#a6b1bf" },
  };
  const mix = (from, to, part) => `rgb(${from.map((value, place) => Math.round(value + (to[place] - value) * part)).join()})`;
  const colour = (palette, ns, median) => {
    if (options.colour.value === "time") {
      return mix(palette.weak, palette.strong, ns <= 0 ? 0 : Math.log(ns / least) / Math.max(Math.log(most / least), 1e-9));
    }
    // Four times the median, or a quarter of it, is the end of the scale.
    const part = ns === median ? 0 : Math.max(-1, Math.min(1, Math.log2(Math.max(ns, 1e-9) / Math.max(median, 1e-9)) / 2));
    return part < 0 ? mix(palette.same, palette.less, -part) : mix(palette.same, palette.more, part);
  };
  const hatched = (context, palette, x, width, height) => {
    context.fillStyle = palette.missing;
    context.fillRect(x, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(x, 0, width, height);
    context.clip();
    context.strokeStyle = palette.hatch;
    context.beginPath();
    // From a grid of the whole strip, so that neighbours fit together.
    for (let start = Math.floor((x - height) / 6) * 6; start < x + width; start += 6) {
      context.moveTo(start, height);
      context.lineTo(start + height, 0);
    }
    context.stroke();
    context.restore();
  };
  const drawStrip = (strip, palette) => {
    const { canvas, times } = strip;
    const [width, height, scale] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1];
    if (!width) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    // Columns are as wide as two pixels at least; one for several ranks has the largest of their times.
    const columns = Math.min(times.length, Math.max(1, Math.floor(width / 2)));
    for (let column = 0; column < columns; column++) {
      const [first, end] = [Math.floor(column * times.length / columns), Math.floor((column + 1) * times.length / columns)];
      let [largest, isMissing] = [NaN, false];
      for (let place = first; place < end; place++) {
        if (Number.isNaN(times[place])) isMissing = true;
        else if (!(times[place] <= largest)) largest = times[place];
      }
      const [from, to] = [column * width / columns, (column + 1) * width / columns];
      if (Number.isNaN(largest)) {
        hatched(context, palette, from, to - from, height);
      } else {
        context.fillStyle = colour(palette, largest, strip.median);
        // Wide columns have a gap; narrow ones overlap, so that no background shows between them.
        context.fillRect(from, 0, to - from + (to - from > 8 ? -1 : 0.5), height);
        if (isMissing) {
          context.fillStyle = palette.missing;
          context.fillRect(from, height - 8, to - from, 8);
          context.fillStyle = palette.hatch;
          context.fillRect(from, height - 6, to - from, 6);
        }
      }
    }
    if (strip.at !== undefined) {
      const [from, wide] = [strip.at * width / times.length, Math.max(2, width / times.length)];
      context.strokeStyle = getComputedStyle(canvas).getPropertyValue("--text");
      context.lineWidth = 2;
      context.strokeRect(from + 1, 1, wide - 2, height - 2);
    }
  };
  const drawRanks = () => {
    const palette = palettes[isDark() ? "dark" : "light"];
    for (const strip of strips) if (!strip.row.hidden) drawStrip(strip, palette);
    drawLegend(palette);
  };
  const drawLegend = palette => {
    const [from, middle, to] = options.colour.value === "time" ? [palette.weak, null, palette.strong] : [palette.less, palette.same, palette.more];
    const stops = [from, middle, to].filter(stop => stop).map(stop => `rgb(${stop})`).join();
    const bar = document.createElement("i");
    bar.style.background = `linear-gradient(to right,${stops})`;
    const words = options.colour.value === "time" ? [time(least), time(most)] : ["a quarter of the median or less", "four times the median or more"];
    const parts = [words[0], bar, words[1]];
    if (strips.some(strip => strip.times.some(Number.isNaN))) {
      const hatch = document.createElement("b");
      hatch.style.background = `repeating-linear-gradient(135deg,${palette.hatch} 0 1px,${palette.missing} 1px 5px)`;
      parts.push(hatch, "no record of the rank");
    }
    byId("heat-legend").replaceChildren(...parts);
  };
  const words = (strip, place) => {
    const [first, last] = [place * group, Math.min(size, (place + 1) * group) - 1];
    const rank = first === last ? `Rank ${first}` : `Ranks ${first} to ${last}, the largest`;
    const ns = strip.times[place];
    if (Number.isNaN(ns)) return `${rank}: no record`;
    const ratio = strip.median > 0 ? `, ${(ns / strip.median).toFixed(2)} times the median` : "";
    return `${rank}: ${time(ns)}${ratio}`;
  };
  const point = (strip, place) => {
    const old = strip.at;
    strip.at = place;
    drawStrip(strip, palettes[isDark() ? "dark" : "light"]);
    const { canvas } = strip;
    if (place === undefined) {
      byId("heat-reading").textContent = "\u00a0";
    } else if (place !== old) {
      byId("heat-reading").textContent = `${strip.name}. ${words(strip, place)}`;
      canvas.setAttribute("aria-valuenow", place);
      canvas.setAttribute("aria-valuetext", words(strip, place));
    }
  };
  for (const strip of strips) {
    const { canvas, times } = strip;
    for (const [name, value] of [["role", "slider"], ["tabindex", 0], ["aria-readonly", true], ["aria-label", `Own time by rank: ${strip.name}`],
      ["aria-valuemin", 0], ["aria-valuemax", times.length - 1], ["aria-valuenow", 0], ["aria-valuetext", words(strip, 0)]]) {
      canvas.setAttribute(name, value);
    }
    const clamp = place => Math.max(0, Math.min(times.length - 1, place));
    canvas.addEventListener("pointermove", event =>
      point(strip, clamp(Math.floor(event.offsetX / canvas.clientWidth * times.length))));
    canvas.addEventListener("pointerleave", () => point(strip, document.activeElement === canvas ? strip.at : undefined));
    canvas.addEventListener("focus", () => point(strip, strip.at ?? 0));
    canvas.addEventListener("blur", () => point(strip, undefined));
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
    canvas.addEventListener("keydown", event => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      point(strip, clamp((strip.at ?? 0) + steps[event.key]));
    });
  }
  byId("heat-options").addEventListener("submit", event => event.preventDefault());
  byId("heat-options").addEventListener("input", () => {
    const layer = options.rows.value;
    tables.get(heat).matches = layer ? row => row.dataset.layer === layer && row.dataset.function : row => !row.dataset.function;
    update(heat);
    drawRanks();
  });
  tables.get(heat).matches = row => !row.dataset.function;
  addEventListener("resize", drawRanks);

  // --- Call times: bars on two logarithmic scales. ---
  const distributions = JSON.parse(byId("distributions").textContent);
  const chosen = byId("distribution-of");
  const element = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const drawDistribution = () => {
    const item = distributions[chosen.value];
    if (!item || !item.counts.length) return;
    const counts = new Map(item.counts);
    const bounds = [...counts.keys()];
    // Room on both sides, so that a power of ten is on the scale even where all calls are in one bar.
    const [first, last] = [Math.max(0, Math.min(...bounds) - 3), Math.max(...bounds) + 3];
    const [left, top, height, step] = [100, 12, 200, Math.max(26, Math.min(64, 900 / (last - first)))];
    const width = left + (last - first) * step + 30;
    const most = Math.max(...counts.values());
    // A single call is a low bar, not none.
    const decades = Math.max(1, Math.ceil(Math.log10(most) - 1e-9));
    const y = count => top + height - height * (Math.log10(count) + 0.3) / (decades + 0.3);
    const x = bound => left + (bound - first) * step;
    const svg = element("svg", { width, height: top + height + 40, viewBox: `0 0 ${width} ${top + height + 40}`, role: "img",
      "aria-label": `${grouped(item.calls)} calls of ${item.function} in ${item.layer} by their time` });
    for (let decade = 0; decade <= decades; decade++) {
      svg.append(element("line", { x1: left, x2: width - 10, y1: y(10 ** decade), y2: y(10 ** decade) }),
        element("text", { x: left - 8, y: y(10 ** decade) + 4, "text-anchor": "end" }, grouped(10 ** decade)));
    }
    for (const [bound, count] of counts) {
      const bar = element("rect", { x: x(bound - 1) + 2, y: y(count), width: step - 4, height: top + height - y(count), rx: 2 });
      bar.append(element("title", {}, `${grouped(count)} calls took less than ${time(2 ** bound)}`));
      svg.append(bar);
    }
    // Powers of ten on the scale of powers of two.
    for (let power = 0; power <= 13; power++) {
      const place = x(power * Math.log2(10));
      if (place < left || place > width - 20) continue;
      const label = 10 ** power < 1e3 ? `${10 ** power} ns` : power < 6 ? `${10 ** (power - 3)} µs` : power < 9 ? `${10 ** (power - 6)} ms` : `${grouped(10 ** (power - 9))} s`;
      svg.append(element("line", { x1: place, x2: place, y1: top + height, y2: top + height + 6 }),
        element("text", { x: place, y: top + height + 20, "text-anchor": "middle" }, label));
    }
    svg.append(element("line", { x1: left, x2: width - 10, y1: top + height, y2: top + height }),
      element("text", { x: left, y: top + height + 37 }, "time of a call; height: number of calls"));
    byId("distribution-figure").replaceChildren(svg);
    byId("distribution-table").tBodies[0].replaceChildren(...[...counts].map(([bound, count]) => {
      const row = document.createElement("tr");
      for (const text of [time(2 ** bound), grouped(count)]) {
        const cell = row.insertCell();
        cell.className = "number";
        cell.textContent = text;
      }
      return row;
    }));
  };
  chosen.addEventListener("input", drawDistribution);
  for (const link of all(".spark")) {
    link.addEventListener("click", () => {
      chosen.value = link.dataset.distribution;
      drawDistribution();
    });
  }

  // --- Start ---
  const wanted = stored();
  if (wanted === "dark" || wanted === "light") document.documentElement.dataset.theme = wanted;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = stored(isDark() ? "light" : "dark") ?? (isDark() ? "light" : "dark");
    showTheme();
  });
  systemIsDark.addEventListener("change", showTheme);
  for (const table of tables.keys()) update(table);
  showTheme();
  drawDistribution();
})();
