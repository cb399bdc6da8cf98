// Draws the page's charts with Observable Plot, each as wide as its place.
"use strict";
(() => {
  const { series, charts } = JSON.parse(document.getElementById("charts").textContent);
  const places = [...document.querySelectorAll(".chart")];
  const SYMBOLS = ["circle", "square", "triangle", "diamond2", "star", "cross", "wye", "times"];
  const DASHES = ["none", "7 4", "2 3", "9 3 2 3"];
  const HUGE = 46; // characters of a row's name that are shown
  const NARROW = 480; // pixels below which names stand above their rows
  const PAPER = 700; // pixels of a page's width in print

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
  // The ends of a name tell two paths apart.
  const cut = (text) => (text.length > HUGE ? `${text.slice(0, HUGE / 2 - 1)}\u2026${text.slice(-HUGE / 2)}` : text);
  const style = { fontSize: "12px", background: "transparent", color: "inherit", fontFamily: "inherit" };
  const ends = (item) => (item.low === null || item.low === undefined ? [] : [item.low, item.high]);
  const within = (item) => (ends(item).length ? `\n95 %: ${ends(item).map(digits).join(" .. ")}` : "");
  // Says the values of the mark next to the pointer.
  const hover = (points, options) => Plot.tip(points, Plot.pointer({ ...options, title: "says", fontSize: 12 }));

  // Those of sorted things whose labels, centred at `at`, leave room for each other.
  const spaced = (things, at, text) => {
    let end = -Infinity;
    return things.filter((thing) => {
      const half = text(thing).length * 3.6 + 5;
      if (at(thing) - half < end) return false;
      end = at(thing) + half;
      return true;
    });
  };
  // Ticks of a ratio read 0.5, 1, 2; within one decade D3's are too many or too few.
  const logTicks = ([low, high], pixels) => {
    const steps = high / low > 60 ? [1] : high / low > 8 ? [1, 2, 5] : null;
    const found = steps === null
      ? d3.ticks(low, high, Math.min(7, Math.max(2, pixels / 80)))
      : d3.range(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)) + 1)
        .flatMap((power) => steps.map((step) => step * 10 ** power));
    const at = d3.scaleLog([low, high], [0, pixels]);
    return spaced(found.filter((value) => value > 0 && value >= low && value <= high), at, digits);
  };

  // An axis of these very ticks: a logarithmic scale would leave out the labels of some.
  const scale = (of, ticks, label, options) =>
    Plot[`axis${of}`](ticks, { text: digits, label, labelArrow: "none", ...options });
  const axis = (of, ticks, label, options) => [Plot[`grid${of}`](ticks), scale(of, ticks, label, options)];

  // Lines across rows alone, so that none runs through a name that stands between two.
  const across = (items, values, options) =>
    Plot.tickX(values.flatMap((x) => items.map(({ y }) => ({ x, y }))), { x: "x", y: "y", inset: -3, ...options });
  const grid = (items, ticks) => across(items, ticks, { stroke: "currentColor", strokeOpacity: 0.1 });

  // Rows under the names of their groups, from top to bottom: what a band scale has no word for.
  // Where there is little room, each row's name and value stand above it.
  const laid = (rows, width) => {
    const lines = [];
    const narrow = width < NARROW;
    let group = "";
    for (const row of rows) {
      if (row.group && row.group !== group) lines.push({ head: row.group, bold: true, y: lines.length });
      group = row.group;
      if (narrow) lines.push({ head: [row.name, row.text].filter(Boolean).join("  "), y: lines.length });
      lines.push({ ...row, y: lines.length });
    }
    return { heads: lines.filter((line) => line.head), items: lines.filter((line) => !line.head), count: lines.length, narrow };
  };
  const frame = ({ heads, items, count, narrow }, width, { right = 16 } = {}) => {
    const longest = Math.max(...items.map((item) => cut(item.name).length), 4);
    const left = narrow ? 8 : Math.round(Math.min(longest * 7 + 16, width * 0.42));
    const text = { y: "y", frameAnchor: "left", dx: -left, textAnchor: "start", textOverflow: "ellipsis-end",
      fill: "currentColor", stroke: "var(--page)", strokeWidth: 4 };
    return {
      inner: width - left - right,
      options: {
        ...IDENTITY, style, width, marginLeft: left, marginRight: right, marginTop: 8, marginBottom: 40,
        height: count * (narrow ? 22 : 26) + 52,
        y: { type: "band", domain: d3.range(count), axis: null, padding: 0.2 },
      },
      marks: [
        ...[true, false].map((bold) => Plot.text(heads.filter((head) => Boolean(head.bold) === bold),
          { ...text, text: (line) => cut(line.head), fontWeight: bold ? 600 : 400, lineWidth: (width - 8) / 12 })),
        narrow ? null : Plot.text(items, { ...text, text: (item) => cut(item.name), lineWidth: (left - 8) / 12 }),
      ],
    };
  };

  const draw = {
    // Estimates with their intervals and what these are made of, one row each.
    intervals(chart, width) {
      const rows = laid(chart.rows, width);
      const { options, marks, inner } = frame(rows, width, { right: rows.narrow ? 16 : 70 });
      const dots = rows.items.flatMap((item) => item.dots.map((value) => ({
        ...item, value, says: `${item.name}\none process: ${digits(value)}` })));
      const means = rows.items.map((item) => ({ ...item, says: `${item.name}\n${item.text}${within(item)}` }));
      const bars = rows.items.filter((item) => ends(item).length);
      const values = rows.items.flatMap((item) => [item.value, ...item.dots, ...ends(item)]);
      if (chart.reference) values.push(chart.reference);
      const [low, high] = d3.extent(values);
      const domain = chart.log ? [low / 1.03, high * 1.03] : [Math.min(0, low), high * 1.02];
      const ticks = chart.log ? logTicks(domain, inner) : d3.ticks(...domain, Math.max(3, inner / 110));
      return Plot.plot({
        ...options,
        x: { type: chart.log ? "log" : "linear", domain },
        marks: [
          grid(rows.items, ticks),
          scale("X", ticks, chart.label, { labelAnchor: chart.log ? "center" : "right" }),
          chart.reference ? across(rows.items, [chart.reference], { stroke: "currentColor", strokeWidth: 1.25 }) : null,
          Plot.dot(dots, { x: "value", y: "y", r: 2, fill: colour, fillOpacity: 0.55, dy: 7 }),
          Plot.link(bars, { x1: "low", x2: "high", y1: "y", y2: "y", stroke: colour, strokeWidth: 3.5,
            strokeOpacity: 0.45, strokeLinecap: "round" }),
          Plot.dot(means, { x: "value", y: "y", r: 5, fill: colour, symbol }),
          rows.narrow ? null : Plot.text(rows.items, { y: "y", text: "text", frameAnchor: "right", dx: 62,
            textAnchor: "end", fontWeight: 600 }),
          ...marks,
          hover([...dots, ...means], { x: "value", y: "y" }),
        ],
      });
    },

    // Throughput over batch size: a line for each framework and setting. Both axes are logarithmic,
    // so that equal factors are equal distances, and intervals show at the small batches too.
    lines(chart, width) {
      const margin = { left: 56, top: 28, bottom: 40 };
      const sizes = [...new Set(chart.points.map((point) => point.x))].sort((a, b) => a - b);
      const last = d3.rollups(chart.points, (points) => d3.greatest(points, (point) => point.x), (point) => point.line)
        .map(([, point]) => point);
      const height = Math.max(320, last.length * 15 + margin.top + margin.bottom);
      const longest = Math.max(...last.map((point) => cut(point.line).length));
      const right = Math.round(Math.min(longest * 6.8 + 34, width * 0.45));
      const [low, high] = d3.extent(chart.points.flatMap((point) => [point.value, ...ends(point)]));
      const domain = [low / 1.06, high * 1.06];
      const y = d3.scaleLog(domain, [height - margin.bottom, margin.top]);
      const x = d3.scaleLog([sizes[0] / 1.15, sizes.at(-1) * 1.15], [margin.left, width - right]);
      const says = (point) => `${point.line}, batch ${point.x}\n${digits(point.value)}${within(point)}`;
      const points = chart.points.map((point) => ({ ...point, says: says(point) }));
      return Plot.plot({
        ...IDENTITY, style, width, height, marginLeft: margin.left, marginTop: margin.top, marginRight: right,
        marginBottom: margin.bottom,
        x: { type: "log", domain: x.domain() },
        y: { type: "log", domain },
        marks: [
          ...axis("X", spaced(sizes, x, digits), `${chart.x} (log scale)`, { labelAnchor: "center" }),
          ...axis("Y", logTicks(domain, height), `${chart.y} (log scale)`),
          // Side by side, so that no interval hides another.
          ...d3.groups(points, (point) => point.line).flatMap(([, of], at, { length }) => {
            const dx = (at - (length - 1) / 2) * Math.min(6, 40 / length);
            return [
              Plot.link(of.filter((point) => ends(point).length), { x1: "x", x2: "x", y1: "low", y2: "high",
                dx, stroke: colour, strokeWidth: 3, strokeOpacity: 0.45, strokeLinecap: "round" }),
              Plot.line(of, { x: "x", y: "value", dx, stroke: colour, strokeWidth: 1.5,
                strokeDasharray: DASHES[of[0].dash % DASHES.length] }),
              Plot.dot(of, { x: "x", y: "value", dx, fill: colour, symbol, r: 4 }),
            ];
          }),
          ...apart(last, y, margin.top).flatMap((point) => [
            Plot.link([point], { x1: "x", y1: "value", x2: x.domain()[1], y2: point.at, stroke: colour, strokeWidth: 0.75,
              strokeOpacity: 0.6 }),
            Plot.text([point], { x: x.domain()[1], y: "at", text: (item) => cut(item.line), dx: 5, fill: colour,
              textAnchor: "start", lineWidth: (right - 8) / 12, textOverflow: "ellipsis-end" }),
          ]),
          hover(points, { x: "x", y: "value" }),
        ],
      });
    },

    // Latency from the median to the last percentile that the steps support.
    percentiles(chart, width) {
      const rows = laid(chart.rows, width);
      const { options, marks, inner } = frame(rows, width, { right: 48 });
      const points = rows.items.flatMap((item) => Object.entries(item.values).map(([name, value]) => ({
        ...item, of: name, value, says: `${item.name}\n${name}: ${digits(value)} ms` })));
      const spans = rows.items.map((item) => {
        const [low, high] = d3.extent(Object.values(item.values));
        return { ...item, low, high };
      });
      // Tails reach far beyond the median, so equal distances are equal factors.
      const [least, most] = d3.extent(points, (point) => point.value);
      const domain = [least / 1.05, most * 1.05];
      const name = { x: "value", y: "y", z: "y", text: "of", fontSize: 10 };
      return Plot.plot({
        ...options, marginLeft: options.marginLeft + 32,
        x: { type: "log", domain },
        marks: [
          grid(rows.items, logTicks(domain, inner - 32)),
          scale("X", logTicks(domain, inner - 32), chart.label),
          ...marks.map((mark) => mark && Object.assign(mark, { dx: mark.dx - 32 })),
          Plot.link(spans, { x1: "low", x2: "high", y1: "y", y2: "y", stroke: colour, strokeWidth: 1.5 }),
          Plot.dot(points, { x: "value", y: "y", r: 4, fill: colour, symbol }),
          Plot.text(points.filter((point) => Object.keys(point.values).length > 1),
            Plot.selectFirst({ ...name, dx: -8, textAnchor: "end" })),
          Plot.text(points, Plot.selectLast({ ...name, dx: 8, textAnchor: "start" })),
          hover(points, { x: "value", y: "y" }),
        ],
      });
    },

    // One number for each case, from nothing.
    bars(chart, width) {
      const rows = laid(chart.rows, width);
      const { options, marks, inner } = frame(rows, width, { right: rows.narrow ? 16 : 64 });
      const ticks = d3.ticks(0, Math.max(...rows.items.map((item) => item.value)), Math.max(2, inner / 110));
      return Plot.plot({
        ...options,
        x: { zero: true },
        marks: [
          grid(rows.items, ticks),
          scale("X", ticks, chart.label),
          Plot.barX(rows.items, { x: "value", y: "y", fill: colour, fillOpacity: 0.75, insetTop: 3, insetBottom: 3 }),
          rows.narrow ? null : Plot.text(rows.items, { x: "value", y: "y", text: "text", dx: 6, textAnchor: "start",
            fontWeight: 600 }),
          across(rows.items, [0], { stroke: "currentColor" }),
          ...marks,
        ],
      });
    },

    // Raw values: processes side by side, their rounds from left to right.
    rounds(chart, width) {
      const count = chart.processes.length;
      const points = chart.processes.flatMap((rounds, process) => rounds.map((value, round) => ({
        process, round, value, series: chart.series,
        says: `process ${process + 1}, round ${round + 1}\n${digits(value)}` })));
      const most = Math.max(...chart.processes.map((rounds) => rounds.length), 1);
      const at = (point) => point.process + (point.round + 0.5) / most * 0.8 + 0.1;
      const x = d3.scaleLinear([0, count], [56, width - 20]);
      const [low, high] = chart.domain; // the same for all charts side by side
      const rim = Math.max((high - low) * 0.06, high * 0.01); // alike rounds look alike
      return Plot.plot({
        ...IDENTITY, style, width, height: 175, marginLeft: 56, marginTop: 26, marginBottom: 40,
        x: { type: "linear", domain: x.domain(), label: "process", labelArrow: "none", labelAnchor: "center", ticks: [] },
        y: { domain: [low - rim, high + rim], grid: true, ticks: 4, label: chart.label, labelArrow: "none", tickFormat: digits },
        marks: [
          Plot.ruleX(d3.range(1, count), { stroke: "var(--line)" }),
          Plot.text(spaced(d3.range(count), (process) => x(process + 0.5), String),
            { x: (d) => d + 0.5, text: (d) => String(d + 1), frameAnchor: "bottom", dy: 14 }),
          Plot.ruleY([chart.value], { stroke: "currentColor", strokeOpacity: 0.6 }),
          Plot.dot(points, { x: at, y: "value", r: 2.5, fill: colour, symbol }),
          hover(points, { x: at, y: "value" }),
        ],
      });
    },

    // One case over all stored runs, named where a version begins.
    history(chart, width) {
      const points = chart.points.map((point) => ({ ...point, time: new Date(point.time) }))
        .map((point) => ({ ...point, says: `${moment(point.time)} UTC, ${point.version ?? ""}\n${digits(point.value)}${within(point)}` }));
      const [first, last] = d3.extent(points, (point) => point.time);
      const pad = Math.max((last - first) * 0.04, 1000);
      const x = d3.scaleUtc([+first - pad, +last + pad], [56, width - 40]);
      const fresh = points.filter((point, at) => at === 0 || point.version !== points[at - 1].version);
      const name = (point) => point.version ?? "";
      const half = (point) => name(point).length * 3.6;
      const versions = spaced(fresh, (point) => x(point.time) + half(point), name)
        .filter((point) => x(point.time) + 2 * half(point) < width);
      return Plot.plot({
        ...IDENTITY, style, width, height: 220, marginLeft: 56, marginRight: 40, marginTop: 40, marginBottom: 36,
        x: { type: "utc", domain: x.domain(), ...times(points, x, last - first) },
        y: { zero: true, grid: true, ticks: 5, label: chart.label, labelArrow: "none", tickFormat: digits },
        marks: [
          Plot.ruleY([0], { stroke: "var(--line)" }),
          Plot.ruleX(fresh, { x: "time", stroke: "var(--line)", strokeDasharray: "3 3" }),
          Plot.text(versions, { x: "time", text: name, frameAnchor: "top", dy: -12, textAnchor: "start", fontSize: 10 }),
          Plot.link(points.filter((point) => ends(point).length), { x1: "time", x2: "time", y1: "low", y2: "high",
            stroke: "var(--s0)", strokeOpacity: 0.4, strokeWidth: 3, strokeLinecap: "round" }),
          Plot.line(points, { x: "time", y: "value", stroke: "var(--s0)", strokeWidth: 1.5 }),
          Plot.dot(points, { x: "time", y: "value", r: 3, fill: "var(--s0)" }),
          hover(points, { x: "time", y: "value" }),
        ],
      });
    },
  };

  const moment = d3.utcFormat("%Y-%m-%d %H:%M");
  // Dates or hours as the span asks for; the runs' own times where they are few.
  const times = (points, x, span) => {
    const hours = span < 2 * 864e5;
    const format = d3.utcFormat(hours ? (span < 36e5 ? "%H:%M:%S" : "%H:%M") : "%Y-%m-%d");
    const own = points.map((point) => point.time);
    const ticks = own.length <= 6 ? own : x.ticks(Math.max(2, (x.range()[1] - x.range()[0]) / 110));
    const days = [...new Set(own.map((time) => moment(time).slice(0, 10)))];
    return { ticks: spaced(ticks, x, format), tickFormat: format, labelArrow: "none",
      label: hours ? `${days.join(" to ")}, UTC` : "UTC" };
  };

  // Names at the ends of lines, none over another: moved up from below, then down from the top.
  const apart = (points, y, top) => {
    let bound = Infinity;
    const up = d3.sort(points, (point) => point.value).map((point) => {
      bound = Math.min(y(point.value), bound - 14);
      return { ...point, pixel: bound };
    });
    bound = top - 14;
    return up.reverse().map((point) => {
      bound = Math.max(point.pixel, bound + 14);
      return { ...point, at: y.invert(bound) };
    });
  };

  const put = (place, width) => {
    if (place.drawn === width || width < 50) return;
    place.drawn = width;
    const chart = charts[places.indexOf(place)];
    const svg = draw[chart.kind](chart, width);
    svg.setAttribute("aria-hidden", "true"); // its place names it, the table says it
    place.replaceChildren(svg);
  };
  // What lies in a closed fold has no width, and is drawn once it is opened.
  const all = () => places.forEach((place) => put(place, Math.floor(place.clientWidth)));
  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(all, 120);
  });
  addEventListener("toggle", all, true);
  const beside = (place) => Math.min(3, place.closest(".charts")?.children.length ?? 1);
  addEventListener("beforeprint", () => places.forEach((place) => put(place, Math.floor(PAPER / beside(place)) - 12)));
  addEventListener("afterprint", all);
  all();
})();
