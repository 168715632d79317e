// SPDX-License-Identifier: MIT
// The charts. Each function returns { id, title, caption, body, facts, rows… } for main.js to frame, or null where the
// description has nothing to draw.
import * as Plot from "@observablehq/plot";
import { byteTicks, bytes, claimed, claimedWords, fact, facts, hasSeries, number, points, rate, series, sure, withUnit, words } from "./data.js";
import { h, numbers } from "./dom.js";

const WIDTH = 620;
const levels = ["l1d", "l2", "l3", "l4"];
const cacheName = { l1d: "L1d", l1i: "L1i", l2: "L2", l3: "L3", l4: "L4" };

function draw(label, options) {
  const svg = Plot.plot({ width: WIDTH, height: 300, marginLeft: 56, marginRight: 20, marginBottom: 42, style: { background: "none" }, ...options });
  svg.setAttribute("role", "img"); // one picture with one name: its parts have none
  svg.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
  svg.setAttribute("aria-label", label);
  return svg;
}

const legend = (...entries) =>
  h("ul", { class: "legend" }, entries.map(([text, colour, dashed]) =>
    h("li", {}, h("i", { class: dashed ? "dashed" : null, style: `border-color: var(--${colour})` }), text)));

// Words beside an upright line.
const upright = (of, colour, options) =>
  Plot.text(of, { x: "x", text: "text", rotate: -90, dx: -4, lineAnchor: "bottom", fill: `var(--${colour})`, fontSize: 11, stroke: "var(--card)", strokeWidth: 3, ...options });

const mark = (id) => (sure(id) ? "" : "?");

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

export function hierarchy() {
  const rows = ["l1d", "l1i", "l2", "l3", "l4"]
    .map((level) => ({ level, id: `cache.${level}.capacity`, name: cacheName[level] }))
    .map((r) => ({ ...r, size: number(r.id), claim: claimed(r.id), latency: words(`cache.${r.level}.latency`) }))
    .filter((r) => r.size > 0 || r.claim > 0);
  if (!rows.length) return null;
  const least = 2 ** Math.floor(Math.log2(Math.min(...rows.flatMap((r) => [r.size, r.claim].filter((v) => v > 0))) / 4));
  const most = Math.max(...rows.flatMap((r) => [r.size, r.claim].filter((v) => v > 0))) * 2.5;
  const said = (r) => `${words(r.id) || "not found"}${r.latency ? ` · ${r.latency} cycles` : ""}${r.claim > 0 && r.claim !== r.size ? ` · OS: ${claimedWords(r.id)}` : ""}`;
  const body = draw("Sizes of the caches, measured and claimed", {
    height: 46 * rows.length + 50,
    x: { type: "log", base: 2, domain: [least, most], ticks: byteTicks(least, most), tickFormat: bytes, label: "size", grid: true },
    y: { domain: rows.map((r) => r.name), label: null },
    marks: [
      Plot.barX(rows.filter((r) => r.size > 0), { x1: least, x2: "size", y: "name", fill: "var(--c1)", fillOpacity: (r) => (sure(r.id) ? 0.85 : 0.45), insetTop: 5, insetBottom: 5 }),
      Plot.barX(rows.filter((r) => r.claim > 0), { x1: least, x2: "claim", y: "name", fill: "none", stroke: "var(--claim)", strokeDasharray: "5 3", insetTop: 2, insetBottom: 2 }),
      Plot.text(rows, { x: least, y: "name", text: said, textAnchor: "start", dx: 6, fill: "var(--ink)", stroke: "var(--card)", strokeWidth: 3, fontWeight: 600 }),
    ],
  });
  return {
    id: "hierarchy", title: "Hierarchy", body: [legend(["measured", "c1"], ["claimed by the OS", "claim", true]), body],
    caption: "Sizes to scale of their logarithms. A paler bar is in doubt.",
    facts: rows.flatMap((r) => [r.id, `cache.${r.level}.ways`, `cache.${r.level}.line`, `cache.${r.level}.latency`]),
    numbers: numbers("Bytes", ["level", "measured", "claimed", "latency"], rows.map((r) => [r.name, r.size, r.claim > 0 ? r.claim : "", r.latency])),
  };
}

// What the curve crosses: sizes measured, sizes claimed, reach of the TLBs.
function borders(most) {
  const caches = levels.map((level) => ({ id: `cache.${level}.capacity`, name: cacheName[level] }));
  const measured = caches.map((c) => ({ x: number(c.id), text: `${c.name} ${words(c.id)}` }));
  const claims = caches.filter((c) => claimed(c.id) !== number(c.id)).map((c) => ({ x: claimed(c.id), text: `${c.name}: OS ${claimedWords(c.id)}` }));
  const page = number("memory.page_size");
  const tlbs = ["d1", "d2"].map((t) => ({ x: number(`tlb.${t}.entries`) * page, text: `TLB ${t} ${words(`tlb.${t}.entries`)}` }));
  const seen = (b) => b.x > 0 && b.x <= most;
  return { measured: measured.filter(seen), claims: claims.filter(seen), tlbs: tlbs.filter(seen) };
}

export function latency() {
  const curves = [["memory.curve.small", "small pages", "c1"], ["memory.curve.huge", "huge pages", "c2"]].filter(([id]) => hasSeries(id));
  if (!curves.length) return null;
  const data = curves.flatMap(([id, name]) => points(id).map((p) => ({ ...p, name })));
  const claims = levels.map((level) => claimed(`cache.${level}.capacity`)).filter((v) => v > 0);
  const least = Math.min(...data.map((p) => p.x)), most = Math.max(...data.map((p) => p.x), ...claims) * 1.05;
  const b = borders(most);
  const rule = (of, colour, dash) => Plot.ruleX(of, { x: "x", stroke: `var(--${colour})`, strokeDasharray: dash, strokeOpacity: 0.8 });
  const label = (of, colour, dy, anchor) => upright(of, colour, { frameAnchor: anchor, dy, textAnchor: anchor === "top" ? "end" : "start" });
  const body = draw("Latency over size", {
    width: 1100, height: 400,
    x: { type: "log", base: 2, domain: [least, most], ticks: byteTicks(least, most), tickFormat: bytes, label: "bytes walked over" },
    y: { type: "log", grid: true, label: "cycles per access", ticks: 8, tickFormat: (v) => String(v) },
    color: { domain: curves.map((c) => c[1]), range: curves.map((c) => `var(--${c[2]})`) },
    marks: [
      rule(b.measured, "c3"), label(b.measured, "c3", 4, "top"),
      rule(b.claims, "claim", "5 3"), label(b.claims, "claim", 4, "top"),
      rule(b.tlbs, "c4", "2 3"), label(b.tlbs, "c4", -4, "bottom"),
      Plot.line(data, { x: "x", y: "y", stroke: "name", strokeWidth: 2 }),
      Plot.dot(data, { x: "x", y: "y", fill: "name", r: 2.2 }),
      Plot.tip(data, Plot.pointer({ x: "x", y: "y", fill: "var(--paper)", stroke: "var(--line)", title: (p) => `${p.name}\n${bytes(p.x)}\n${withUnit(p.y, "cycles")}` })),
    ],
  });
  return {
    id: "latency", wide: true, title: "Latency over size",
    body: [legend(...curves.map((c) => [c[1], c[2]]), ["size measured", "c3"], ["size claimed", "claim", true], ["reach of a TLB", "c4", true]), body],
    caption: "A dependent random walk over all lines of so many bytes; translation is part of it.",
    facts: [...curves.map((c) => c[0]), ...levels.map((level) => `cache.${level}.latency`), "memory.latency", "memory.latency_ns", "memory.huge_pages"],
    numbers: numbers("Cycles per access", ["pages", "bytes", "cycles"], data.map((p) => [p.name, p.x, p.y])),
  };
}

export function bandwidth() {
  const kinds = [["read", "c1"], ["write", "c2"], ["copy", "c3"], ["past", "c4"]];
  const places = [...levels.map((level) => ({ place: cacheName[level], of: (kind) => [[`cache.${level}.bandwidth.${kind}`, "one core"]], size: number(`cache.${level}.capacity`) })),
    { place: "memory", of: (kind) => [[`memory.bandwidth.${kind}.one`, "one core"], [`memory.bandwidth.${kind}.all`, "all cores"]], size: NaN }];
  const rows = places.flatMap((p) => kinds.flatMap(([kind]) => p.of(kind).map(([id, who]) => ({ id, who, kind, place: p.place, size: p.size, rate: number(id) })))).filter((r) => r.rate > 0);
  if (!rows.length) return null;
  const body = draw("Bandwidth of each level", {
    height: 320,
    fx: { domain: places.map((p) => p.place).filter((p) => rows.some((r) => r.place === p)), label: null },
    x: { domain: kinds.map((k) => k[0]), axis: null },
    y: { type: "log", grid: true, label: "GB/s", tickFormat: (v) => String(v / 1e9), domain: [Math.min(...rows.map((r) => r.rate)) / 2, Math.max(...rows.map((r) => r.rate)) * 1.3] },
    color: { domain: kinds.map((k) => k[0]), range: kinds.map((k) => `var(--${k[1]})`) },
    marks: [
      Plot.ruleX(rows, { fx: "place", x: "kind", y1: Math.min(...rows.map((r) => r.rate)) / 2, y2: "rate", stroke: "kind", strokeWidth: 14, strokeOpacity: (r) => (sure(r.id) ? 0.85 : 0.4), filter: (r) => r.who === "one core" }),
      Plot.dot(rows, { fx: "place", x: "kind", y: "rate", stroke: "kind", fill: "var(--card)", r: 5, filter: (r) => r.who !== "one core" }),
      Plot.tip(rows, Plot.pointer({ fx: "place", x: "kind", y: "rate", fill: "var(--paper)", stroke: "var(--line)", title: (r) => `${r.place}, ${r.kind}, ${r.who}\n${rate(r.rate)}${mark(r.id)}` })),
    ],
  });
  return {
    id: "bandwidth", title: "Bandwidth of each level",
    body: [legend(...kinds.filter(([k]) => rows.some((r) => r.kind === k)).map(([k, c]) => [k === "past" ? "write past the caches" : k, c])), body],
    caption: `Bytes in order. Bars are one core${rows.some((r) => r.who !== "one core") ? ", circles all cores at once" : ""}; a paler bar is in doubt.`,
    facts: rows.map((r) => r.id),
    numbers: numbers("Bytes per second", ["place", "kind", "cores", "B/s"], rows.map((r) => [r.place, r.kind, r.who, r.rate])),
  };
}

// Over size, of one CPU and of all; and from memory, over cores.
export function bandwidthCurves() {
  const curves = [["memory.curve.read", "one CPU", "c1"], ["memory.curve.read_all", "all CPUs at once", "c2"]].filter(([id]) => points(id).length > 1);
  if (!curves.length) return null;
  const data = curves.flatMap(([id, name]) => points(id).map((p) => ({ ...p, name })));
  const least = Math.min(...data.map((p) => p.x)), most = Math.max(...data.map((p) => p.x)) * 1.05, b = borders(most);
  const body = draw("Bandwidth over size and CPUs", {
    height: 340,
    x: { type: "log", base: 2, domain: [least, most], ticks: byteTicks(least, most), tickFormat: bytes, label: "bytes of a CPU" },
    y: { type: "log", grid: true, label: "GB/s read", tickFormat: (v) => String(v / 1e9), ticks: 8 },
    color: { domain: curves.map((c) => c[1]), range: curves.map((c) => `var(--${c[2]})`) },
    marks: [
      Plot.ruleX(b.measured, { x: "x", stroke: "var(--c3)", strokeOpacity: 0.8 }), upright(b.measured, "c3", { frameAnchor: "bottom", dy: -4, textAnchor: "start" }),
      Plot.line(data, { x: "x", y: "y", stroke: "name", strokeWidth: 2 }), Plot.dot(data, { x: "x", y: "y", fill: "name", r: 2.2 }),
      Plot.tip(data, Plot.pointer({ x: "x", y: "y", fill: "var(--paper)", stroke: "var(--line)", title: (p) => `${p.name}\n${bytes(p.x)} each\n${rate(p.y)}` })),
    ],
  });
  return {
    id: "bandwidth-size", title: "Bandwidth over size and CPUs", body: [legend(...curves.map((c) => [c[1], c[2]]), ["size measured", "c3"]), body],
    caption: "Bytes read in order, of each CPU its own; all CPUs together by the wall clock.",
    facts: curves.map((c) => c[0]), numbers: numbers("Bytes per second", ["CPUs", "bytes of a CPU", "B/s"], data.map((p) => [p.name, p.x, p.y])),
  };
}

export function bandwidthCores() {
  const kinds = [["read", "c1"], ["write", "c2"], ["copy", "c3"]].filter(([kind]) => points(`memory.bandwidth.${kind}.cores`).length > 1);
  if (!kinds.length) return null;
  const data = kinds.flatMap(([kind]) => points(`memory.bandwidth.${kind}.cores`).map((p) => ({ ...p, kind })));
  const cores = [...new Set(data.map((p) => p.x))];
  const body = draw("Bandwidth of memory over cores", {
    height: 280, x: { label: "cores at work", ticks: cores.length > 12 ? 8 : cores, tickFormat: "d" }, y: { grid: true, zero: true, label: "GB/s", transform: (v) => v / 1e9 },
    color: { domain: kinds.map((k) => k[0]), range: kinds.map((k) => `var(--${k[1]})`) },
    marks: [Plot.line(data, { x: "x", y: "y", stroke: "kind", strokeWidth: 2 }), Plot.dot(data, { x: "x", y: "y", fill: "kind", r: 3 })],
  });
  return {
    id: "bandwidth-cores", title: "Bandwidth of memory over cores", body: [legend(...kinds), body], caption: `Flows past the caches on more and more cores. Enough is reached by ${words("memory.bandwidth.knee") || "?"}.`,
    facts: Object.keys(facts).filter((id) => /^memory[.](bandwidth[.].*[.]all|bandwidth[.]knee|latency_loaded)$/.test(id)),
    numbers: numbers("Bytes per second", ["kind", "cores", "B/s"], data.map((p) => [p.kind, p.x, p.y])),
  };
}

export function tlb() {
  const data = points("tlb.data");
  if (data.length < 2) return null;
  const rules = ["d1", "d2", "d3"].map((t) => ({ x: number(`tlb.${t}.entries`), text: `${t}: ${words(`tlb.${t}.entries`)} entries` })).filter((r) => r.x > 0);
  const most = Math.max(...data.map((p) => p.x), ...rules.map((r) => r.x)) * 1.1;
  const body = draw("Cost of translation over pages", {
    x: { type: "log", base: 2, label: "pages visited", domain: [Math.min(...data.map((p) => p.x)), most], ticks: 8, tickFormat: (v) => String(v) },
    y: { grid: true, label: "cycles per access", domain: [Math.min(0, ...data.map((p) => p.y)), Math.max(1, ...data.map((p) => p.y)) * 1.1] },
    marks: [
      Plot.ruleX(rules, { x: "x", stroke: "var(--c3)" }),
      upright(rules, "c3", { frameAnchor: "top", dy: 4, textAnchor: "end" }),
      Plot.line(data, { x: "x", y: "y", stroke: "var(--c1)", strokeWidth: 2 }),
      Plot.dot(data, { x: "x", y: "y", fill: "var(--c1)", r: 3 }),
      Plot.tip(data, Plot.pointer({ x: "x", y: "y", fill: "var(--paper)", stroke: "var(--line)", title: (p) => `${p.x} pages\n${withUnit(p.y, "cycles")}` })),
    ],
  });
  return {
    id: "tlb", title: "Translation over pages", body: [body],
    caption: "One line of each page, against as many packed lines: what is left is the TLB's.",
    facts: Object.keys(facts).filter((id) => id.startsWith("tlb.d")),
    numbers: numbers("Cycles per access", ["pages", "cycles"], data.map((p) => [p.x, p.y])),
  };
}

/* ---- cores ----------------------------------------------------------------------------------------------------------- */

export function matrices() {
  return Object.entries(facts).filter(([, f]) => Array.isArray(f.value?.rows) && f.value.rows.length > 1).map(([id, f]) => {
    const cpus = f.value.rows.map((_, i) => f.value.cpus?.[i] ?? i);
    const cells = f.value.rows.flatMap((row, i) => (Array.isArray(row) ? row : []).map((value, j) => ({ from: cpus[i], to: cpus[j], value }))).filter((c) => typeof c.value === "number");
    if (!cells.length) return null;
    const least = Math.min(...cells.map((c) => c.value)), most = Math.max(...cells.map((c) => c.value));
    const side = Math.min(520, Math.max(180, cpus.length * 44)), few = cpus.length <= 12;
    const body = draw(`${id} from CPU to CPU`, {
      width: side + 70, height: side + 50, marginTop: 36, x: { domain: cpus, axis: "top", label: "to CPU", tickFormat: String }, y: { domain: cpus, label: "from CPU", tickFormat: String },
      marks: [
        Plot.cell(cells, { x: "to", y: "from", fill: "var(--heat)", fillOpacity: (c) => 0.08 + 0.72 * (most > least ? (c.value - least) / (most - least) : 0.5), inset: 0.5 }),
        few ? Plot.text(cells, { x: "to", y: "from", text: (c) => withUnit(c.value, f.unit), fill: "var(--ink)", fontSize: 10 }) : null,
        Plot.tip(cells, Plot.pointer({ x: "to", y: "from", fill: "var(--paper)", stroke: "var(--line)", title: (c) => `CPU ${c.from} to ${c.to}\n${withUnit(c.value, f.unit)}` })),
      ],
    });
    return {
      id: `matrix-${id}`, title: `Core to core: ${id}`, body: [body], facts: [id, "topology.tree", "threads.cores"],
      caption: `From ${withUnit(least, f.unit)} (light) to ${withUnit(most, f.unit)} (strong).`,
      numbers: numbers(`In ${f.unit || "units"}`, ["from", "to", "value"], cells.map((c) => [c.from, c.to, c.value])),
    };
  }).filter(Boolean);
}

export function noise() {
  const data = points("noise.time").map((p) => ({ x: p.x / 1e6, y: p.y / 1e3 }));
  if (data.length < 2) return null;
  const body = draw("Stops over time", {
    height: 240, x: { label: "time, ms" }, y: { type: "log", grid: true, label: "us without a stop", tickFormat: (v) => String(v) },
    marks: [
      Plot.line(data, { x: "x", y: "y", stroke: "var(--c1)", curve: "step-before" }), Plot.dot(data, { x: "x", y: "y", fill: "var(--c1)", r: 1.8 }),
      Plot.tip(data, Plot.pointer({ x: "x", y: "y", fill: "var(--paper)", stroke: "var(--line)", title: (p) => `at ${p.x.toPrecision(3)} ms\n${p.y.toPrecision(3)} us without a stop` })),
    ],
  });
  return {
    id: "noise", title: "Noise over time", body: [body], caption: "Each point is a stop of a thread that only watches the clock: how long nobody had disturbed it before.",
    facts: Object.keys(facts).filter((id) => id.startsWith("noise.")), numbers: numbers("Stops", ["ms", "us without a stop"], data.map((p) => [p.x, p.y])),
  };
}

/* ---- the core -------------------------------------------------------------------------------------------------------- */

export function ports() {
  const groups = fact("units.groups")?.value;
  if (!Array.isArray(groups) || !groups.length || !groups.every(Array.isArray)) return null;
  const cells = groups.flatMap((ops, i) => ops.map((op) => ({ unit: i + 1, op: String(op) })));
  const ops = [...new Set(cells.map((c) => c.op))];
  const body = draw("Which unit does which operation", {
    height: 24 * ops.length + 60, marginLeft: 110,
    x: { domain: groups.map((_, i) => i + 1), label: "unit", axis: "top" }, y: { domain: ops, label: null },
    marks: [Plot.cell(cells, { x: "unit", y: "op", fill: "var(--c1)", rx: 4, inset: 2, title: (c) => `unit ${c.unit} does ${c.op}` })],
  });
  return {
    id: "ports", title: "Units", body: [body], caption: `${groups.length} units, found from pairs of operations that get in each other's way. Width: ${words("units.width") || "not found"} operations a cycle.`,
    facts: Object.keys(facts).filter((id) => id.startsWith("units.")), numbers: numbers("Operations of each unit", ["unit", "operations"], groups.map((g, i) => [i + 1, g.join(", ")])),
  };
}

export function registers() {
  const kinds = ["int", "f32", "f64", "v16", "v32", "v64"].filter((kind) => points(`registers.${kind}`).length > 1);
  if (!kinds.length) return null;
  const one = (kind) => {
    const of = (id, name) => points(id).map((p) => ({ ...p, name }));
    const data = [...of(`registers.${kind}`, "cycles"), ...of(`registers.${kind}.stack`, "stack references")];
    const limit = number(`registers.${kind}`);
    return draw(`Registers: ${kind}`, {
      width: 290, height: 190, marginLeft: 40, title: null, x: { label: `${kind}: variables`, ticks: 6, tickFormat: "d" }, y: { grid: true, label: "per statement", zero: true },
      color: { domain: ["cycles", "stack references"], range: ["var(--c1)", "var(--c2)"] },
      marks: [
        limit > 0 ? Plot.ruleX([limit], { stroke: "var(--c3)" }) : null,
        limit > 0 ? Plot.text([limit], { x: (v) => v, frameAnchor: "top", text: () => words(`registers.${kind}`), dx: -10, fill: "var(--c3)" }) : null,
        Plot.line(data, { x: "x", y: "y", stroke: "name", strokeWidth: 2 }), Plot.dot(data, { x: "x", y: "y", fill: "name", r: 2.5 }),
      ],
    });
  };
  return {
    id: "registers", wide: true, title: "Registers: where spilling begins",
    body: [legend(["cycles", "c1"], ["stack references", "c2"], ["registers", "c3"]), h("div", { class: "small" }, kinds.map(one))],
    caption: "As many variables as there are registers stay in them; one more goes to the stack.",
    facts: kinds.map((kind) => `registers.${kind}`),
    numbers: numbers("Per statement", ["kind", "variables", "cycles"], kinds.flatMap((kind) => points(`registers.${kind}`).map((p) => [kind, p.x, p.y]))),
  };
}

// Floating-point operations a second of one core: the best that was measured of scalar and vectors.
function peak(element, elementBytes) {
  const hz = number("cpu.frequency");
  let best = 0, from = null;
  for (const op of ["fma", "mul"])
    for (const width of [0, 16, 32, 64]) {
      const id = `op.${op}.${width ? `v${width}` : ""}${element}.throughput`, cycles = number(id);
      const flops = (((width ? width / elementBytes : 1) / cycles) * (op === "fma" ? 2 : 1)) * hz;
      if (sure(id) && flops > best) [best, from] = [flops, id];
    }
  return best > 0 ? { flops: best, from, name: element } : null;
}

export function roofline() {
  const peaks = [peak("f32", 4), peak("f64", 8)].filter(Boolean);
  const slopes = [["L1", "cache.l1d.bandwidth.read", "c1"], ["L2", "cache.l2.bandwidth.read", "c3"], ["L3", "cache.l3.bandwidth.read", "c4"], ["memory", "memory.bandwidth.read.one", "claim"]]
    .map(([name, id, colour]) => ({ name, id, colour, rate: number(id) })).filter((s) => s.rate > 0);
  if (!peaks.length || !slopes.length) return null;
  const top = Math.max(...peaks.map((p) => p.flops)), from = 2 ** -6, to = Math.max(16, (4 * top) / Math.min(...slopes.map((s) => s.rate)));
  const roofs = slopes.flatMap((s) => { const knee = top / s.rate; return [{ x: from, y: from * s.rate, name: s.name }, { x: Math.max(knee, from), y: Math.max(knee, from) * s.rate, name: s.name }]; });
  const body = draw("Roofline of one core", {
    x: { type: "log", base: 2, domain: [from, to], label: "operations per byte", ticks: 10, tickFormat: (v) => (v < 1 ? `1/${Math.round(1 / v)}` : String(v)) },
    color: { domain: slopes.map((s) => s.name), range: slopes.map((s) => `var(--${s.colour})`) },
    y: { type: "log", grid: true, label: "GFLOP/s", tickFormat: (v) => String(v / 1e9), domain: [from * Math.min(...slopes.map((s) => s.rate)), top * 1.8] },
    marks: [
      Plot.line(roofs, { x: "x", y: "y", stroke: "name", strokeWidth: 2 }),
      Plot.ruleY(peaks, { y: "flops", stroke: "var(--c2)", x1: (p) => Math.max(from, p.flops / Math.max(...slopes.map((s) => s.rate))), x2: to, strokeWidth: 2 }),
      Plot.text(peaks, { x: to, y: "flops", text: (p) => `${p.name}: ${(p.flops / 1e9).toPrecision(3)} GFLOP/s`, textAnchor: "end", dy: -8, fill: "var(--c2)", fontSize: 11 }),
    ],
  });
  return {
    id: "roofline", title: "Roofline of one core", body: [legend(...slopes.map((s) => [`${s.name} ${rate(s.rate)}${mark(s.id)}`, s.colour])), body], caption: "The best throughput measured of fused multiply-adds, or multiplications, over what each level delivers.",
    facts: [...peaks.map((p) => p.from), ...slopes.map((s) => s.id), "cpu.frequency"],
    numbers: numbers("Peaks", ["what", "value"], [...peaks.map((p) => [`${p.name} FLOP/s`, p.flops]), ...slopes.map((s) => [`${s.name} B/s`, s.rate])]),
  };
}

/* ---- any series ------------------------------------------------------------------------------------------------------ */

export function seriesChart(id) {
  const data = points(id);
  if (!data.length) return h("p", {}, "The series has no points.");
  const { x, y } = series[id];
  const wide = (of) => of.every((v) => v > 0) && Math.max(...of) >= 10 * Math.min(...of);
  const axis = (of, a) => ({ type: wide(of) ? "log" : "linear", base: a.unit === "bytes" ? 2 : 10, label: `${a.name}${a.unit && a.unit !== "bytes" ? `, ${a.unit}` : ""}`, tickFormat: a.unit === "bytes" ? bytes : (v) => String(Number(v.toPrecision(6))), ticks: 8 });
  const sorted = data.every((p, i) => !i || p.x >= data[i - 1].x);
  return draw(`${y.name} over ${x.name}`, {
    height: 260, x: axis(data.map((p) => p.x), x), y: { ...axis(data.map((p) => p.y), y), grid: true },
    marks: [
      sorted ? Plot.line(data, { x: "x", y: "y", stroke: "var(--c1)", strokeWidth: 1.6 }) : null, Plot.dot(data, { x: "x", y: "y", fill: "var(--c1)", r: 2.5 }),
      Plot.tip(data, Plot.pointer({ x: "x", y: "y", fill: "var(--paper)", stroke: "var(--line)", title: (p) => `${withUnit(p.x, x.unit)}\n${withUnit(p.y, y.unit)}` })),
    ],
  });
}
