// Draws the page's charts with Observable Plot, each as wide as its place and no sooner than seen.
"use strict";
(() => {
  const { series, charts } = JSON.parse(document.getElementById("charts").textContent);
  const places = [...document.querySelectorAll(".chart")];
  const SYMBOLS = ["circle", "square", "triangle", "diamond2", "star", "cross", "wye", "times"];
  const HUGE = 46; // characters of a row's name that are shown

  // A framework has one colour and one symbol on the whole page, so that neither is needed alone.
  const rank = new Map(series.map((name, at) => [name, at % SYMBOLS.length]));
  const colour = (item) => `var(--s${rank.get(item.series)})`;
  const symbol = (item) => SYMBOLS[rank.get(item.series)];
  const IDENTITY = { color: { type: "identity" }, symbol: { type: "identity" } };

  const digits = (value) => {
    if (value === null || value === undefined) return "";
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-4 || size >= 1e15)
      ? value.toExponential(2)
      : Number(value.toPrecision(4)).toLocaleString("en", { useGrouping: false, maximumFractionDigits: 12 });
  };
  const cut = (text) => (text.length > HUGE ? `${text.slice(0, HUGE - 1)}\u2026` : text);
  const style = { fontSize: "12px", background: "transparent", color: "inherit", fontFamily: "inherit" };

  // Rows under the names of their groups, from top to bottom: what a band scale has no word for.
  const laid = (rows) => {
    const lines = [];
    let group = "";
    for (const row of rows) {
      if (row.group && row.group !== group) lines.push({ head: row.group, y: lines.length });
      group = row.group;
      lines.push({ ...row, y: lines.length });
    }
    return { heads: lines.filter((line) => line.head), items: lines.filter((line) => !line.head), count: lines.length };
  };
  const margin = (items, width) => {
    const longest = Math.max(...items.map((item) => cut(item.name).length), 4);
    return Math.round(Math.min(longest * 7 + 16, width * 0.42));
  };
  const frame = ({ heads, items, count }, width, { right = 16 } = {}) => {
    const left = margin(items, width);
    return {
      left,
      options: {
        ...IDENTITY, style, width, marginLeft: left, marginRight: right, marginTop: 8, marginBottom: 40,
        height: count * 26 + 52,
        y: { type: "band", domain: d3.range(count), axis: null, padding: 0.2 },
      },
      marks: [
        Plot.text(heads, { y: "y", text: "head", frameAnchor: "left", dx: -left, textAnchor: "start",
          fontWeight: 600, lineWidth: (width - 8) / 14, textOverflow: "ellipsis-end" }),
        Plot.text(items, { y: "y", text: (item) => cut(item.name), frameAnchor: "left", dx: -left,
          textAnchor: "start", lineWidth: (left - 8) / 12, textOverflow: "ellipsis-end" }),
      ],
    };
  };
  const ends = (item) => (item.low === null || item.low === undefined ? [] : [item.low, item.high]);

  // Names at the ends of lines, moved up until none covers the one below; `height` is in pixels.
  const apart = (points, height) => {
    const top = Math.max(...points.map((point) => Math.max(point.value, ...ends(point))), 0);
    const gap = (13 / height) * top;
    let below = -Infinity;
    return d3.sort(points, (point) => point.value).map((point) => {
      below = Math.max(point.value, below + gap);
      return { ...point, at: below };
    });
  };

  const draw = {
    // Estimates with their intervals and what these are made of, one row each.
    intervals(chart, width) {
      const rows = laid(chart.rows);
      const wide = width > 520;
      const { options, marks } = frame(rows, width, { right: wide ? 70 : 16 });
      const dots = rows.items.flatMap((item) => item.dots.map((value) => ({ ...item, value })));
      const bars = rows.items.filter((item) => ends(item).length);
      const values = rows.items.flatMap((item) => [item.value, ...item.dots, ...ends(item)]);
      if (chart.reference) values.push(chart.reference);
      const [low, high] = d3.extent(values);
      const domain = chart.log ? [low / 1.03, high * 1.03] : [Math.min(0, low), high * 1.02];
      return Plot.plot({
        ...options,
        x: { type: chart.log ? "log" : "linear", domain, label: chart.label, labelArrow: "none", grid: true,
          ticks: chart.log ? logTicks(domain) : Math.max(3, width / 110), tickFormat: digits },
        marks: [
          ...marks,
          chart.reference ? Plot.ruleX([chart.reference], { stroke: "currentColor", strokeWidth: 1.25 }) : null,
          Plot.dot(dots, { x: "value", y: "y", r: 2, fill: colour, fillOpacity: 0.55, dy: 7 }),
          Plot.link(bars, { x1: "low", x2: "high", y1: "y", y2: "y", stroke: colour, strokeWidth: 3.5,
            strokeOpacity: 0.45, strokeLinecap: "round" }),
          Plot.dot(rows.items, { x: "value", y: "y", r: 5, fill: colour, symbol, tip: true, title: (item) =>
            `${item.name}\n${item.text}` + (ends(item).length ? ` (95 %: ${ends(item).map(digits).join(" .. ")})` : "") }),
          wide ? Plot.text(rows.items, { y: "y", text: "text", frameAnchor: "right", dx: 62, textAnchor: "end",
            fontWeight: 600 }) : null,
        ],
      });
    },

    // Throughput over batch size: a line for each framework and setting.
    lines(chart, width) {
      const sizes = [...new Set(chart.points.map((point) => point.x))].sort((a, b) => a - b);
      const last = d3.rollups(chart.points, (points) => d3.greatest(points, (point) => point.x), (point) => point.line)
        .map(([, point]) => point);
      const longest = Math.max(...last.map((point) => cut(point.line).length));
      const right = Math.round(Math.min(longest * 6.6 + 20, width * 0.4));
      return Plot.plot({
        ...IDENTITY, style, width, height: 320, marginLeft: 56, marginTop: 28, marginRight: right, marginBottom: 40,
        x: { type: "point", domain: sizes, label: chart.x, labelArrow: "none", padding: 0.2 },
        y: { type: "linear", zero: true, grid: true, label: chart.y, labelArrow: "none", tickFormat: digits },
        marks: [
          Plot.ruleY([0], { stroke: "var(--line)" }),
          // Side by side, so that no interval hides another.
          ...d3.groups(chart.points, (point) => point.line).flatMap(([line, points], at, { length }) => {
            const dx = (at - (length - 1) / 2) * Math.min(6, 60 / length);
            return [
              Plot.link(points.filter((point) => ends(point).length), { x1: "x", x2: "x", y1: "low", y2: "high",
                dx, stroke: colour, strokeWidth: 3, strokeOpacity: 0.45, strokeLinecap: "round" }),
              Plot.line(points, { x: "x", y: "value", dx, stroke: colour, strokeWidth: 1.5 }),
              Plot.dot(points, { x: "x", y: "value", dx, fill: colour, symbol, r: 4, tip: true,
                title: (point) => `${line}, batch ${point.x}\n${digits(point.value)}` }),
            ];
          }),
          Plot.text(apart(last, 320 - 68), { x: "x", y: "at", text: (point) => cut(point.line), dx: 10 + 3 * Math.min(last.length, 10),
            fill: colour, textAnchor: "start", lineWidth: (right - 14) / 12, textOverflow: "ellipsis-end" }),
        ],
      });
    },

    // Latency from the median to the last percentile that the steps support.
    percentiles(chart, width) {
      const rows = laid(chart.rows);
      const { options, marks } = frame(rows, width, { right: 48 });
      const points = rows.items.flatMap((item) =>
        Object.entries(item.values).map(([name, value]) => ({ ...item, name, value, of: item.name })));
      const spans = rows.items.filter((item) => Object.keys(item.values).length).map((item) => {
        const [low, high] = d3.extent(Object.values(item.values));
        return { ...item, low, high };
      });
      // Tails reach far beyond the median, so equal distances are equal factors.
      const [least, most] = d3.extent(points, (point) => point.value);
      const domain = [least / 1.25, most * 1.05];
      return Plot.plot({
        ...options,
        x: { type: "log", domain, label: chart.label, labelArrow: "none", grid: true, ticks: logTicks(domain),
          tickFormat: digits },
        marks: [
          ...marks,
          Plot.link(spans, { x1: "low", x2: "high", y1: "y", y2: "y", stroke: colour, strokeWidth: 1.5 }),
          Plot.dot(points, { x: "value", y: "y", r: 4, fill: colour, symbol, tip: true,
            title: (point) => `${point.of}\n${point.name}: ${digits(point.value)} ms` }),
          Plot.text(points, Plot.selectFirst({ x: "value", y: "y", z: "y", text: "name", dx: -8, textAnchor: "end",
            fontSize: 10 })),
          Plot.text(points, Plot.selectLast({ x: "value", y: "y", z: "y", text: "name", dx: 8, textAnchor: "start",
            fontSize: 10 })),
        ],
      });
    },

    // One number for each case, from nothing.
    bars(chart, width) {
      const rows = laid(chart.rows);
      const { options, marks } = frame(rows, width, { right: 70 });
      return Plot.plot({
        ...options,
        x: { zero: true, label: chart.label, labelArrow: "none", grid: true, ticks: Math.max(3, width / 130),
          tickFormat: digits },
        marks: [
          ...marks,
          Plot.barX(rows.items, { x: "value", y: "y", fill: colour, fillOpacity: 0.75, insetTop: 3, insetBottom: 3 }),
          Plot.text(rows.items, { x: "value", y: "y", text: "text", dx: 6, textAnchor: "start", fontWeight: 600 }),
          Plot.ruleX([0]),
        ],
      });
    },

    // Raw values: processes side by side, their rounds from left to right.
    rounds(chart, width) {
      const points = chart.processes.flatMap((rounds, process) =>
        rounds.map((value, round) => ({ process, round, value, series: chart.series })));
      const most = Math.max(...chart.processes.map((rounds) => rounds.length), 1);
      const at = (point) => point.process + (point.round + 0.5) / most * 0.8 + 0.1;
      return Plot.plot({
        ...IDENTITY, style, width, height: 165, marginLeft: 56, marginTop: 26, marginBottom: 36,
        x: { type: "linear", domain: [0, chart.processes.length], label: "process", labelArrow: "none",
          labelAnchor: "right", ticks: [] },
        y: { zero: false, nice: true, grid: true, ticks: 4, label: chart.label, labelArrow: "none", tickFormat: digits },
        marks: [
          Plot.ruleX(d3.range(1, chart.processes.length), { stroke: "var(--line)" }),
          Plot.text(d3.range(chart.processes.length), { x: (d) => d + 0.5, text: (d) => `${d}`, frameAnchor: "bottom",
            dy: 16 }),
          Plot.ruleY([chart.value], { stroke: "currentColor", strokeOpacity: 0.6 }),
          Plot.dot(points, { x: at, y: "value", r: 2.5, fill: colour, symbol,
            title: (point) => `process ${point.process}, round ${point.round}: ${digits(point.value)}` }),
        ],
      });
    },

    // One case over all stored runs, named where a version begins.
    history(chart, width) {
      const points = chart.points.map((point) => ({ ...point, time: new Date(point.time), series: "history" }));
      const fresh = points.filter((point, at) => at === 0 || point.version !== points[at - 1].version);
      return Plot.plot({
        ...IDENTITY, style, width, height: 220, marginLeft: 56, marginRight: 40, marginTop: 28, marginBottom: 36,
        x: { type: "utc", label: null, ticks: Math.max(2, width / 140) },
        y: { zero: true, grid: true, ticks: 5, label: chart.label, labelArrow: "none", tickFormat: digits },
        marks: [
          Plot.ruleY([0], { stroke: "var(--line)" }),
          Plot.ruleX(fresh, { x: "time", stroke: "var(--line)", strokeDasharray: "3 3" }),
          Plot.text(fresh, { x: "time", text: (point) => point.version ?? "", frameAnchor: "top", dy: -12, dx: 4,
            textAnchor: "start", fontSize: 10 }),
          Plot.link(points.filter((point) => ends(point).length), { x1: "time", x2: "time", y1: "low", y2: "high",
            stroke: "var(--s0)", strokeOpacity: 0.4, strokeWidth: 3, strokeLinecap: "round" }),
          Plot.line(points, { x: "time", y: "value", stroke: "var(--s0)", strokeWidth: 1.5 }),
          Plot.dot(points, { x: "time", y: "value", r: 3, fill: "var(--s0)", tip: true,
            title: (point) => `${point.time.toISOString().slice(0, 10)}, ${point.version ?? ""}\n${digits(point.value)}` }),
        ],
      });
    },
  };

  // Ticks of a ratio read 0.5, 1, 2; within one decade D3's are too many or too few.
  const logTicks = ([low, high]) => {
    const steps = high / low > 60 ? [1] : high / low > 8 ? [1, 2, 5] : null;
    if (steps === null) return d3.ticks(low, high, 6).filter((value) => value > 0);
    const found = d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
      .flatMap((power) => steps.map((step) => step * 10 ** power));
    return found.filter((value) => value >= low && value <= high);
  };

  const put = (place) => {
    const width = Math.floor(place.clientWidth);
    if (place.drawn === width || width < 50) return;
    place.drawn = width;
    const chart = charts[places.indexOf(place)];
    const svg = draw[chart.kind](chart, width);
    svg.setAttribute("aria-hidden", "true"); // its place names it, the table says it
    place.replaceChildren(svg);
  };
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries)
      if (isIntersecting) { seen.add(target); put(target); }
  }, { rootMargin: "600px" });
  for (const place of places) watcher.observe(place);
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => seen.forEach(put), 120);
  });
  addEventListener("beforeprint", () => {
    places.forEach(put);
    for (const fold of document.querySelectorAll("details")) fold.open = true;
  });
})();
