// SPDX-License-Identifier: MIT
// The page: what is drawn, in which order; tables that sort; one fact at a click.
import * as charts from "./charts.js";
import { claimedWords, differs, fact, facts, hasSeries, number, series, target, version, words } from "./data.js";
import { h, numbers } from "./dom.js";

const dialog = document.getElementById("detail");
const statusWords = { ok: "ok: to build on", unreliable: "in doubt: not to build on", unsupported: "this machine has no such thing", failed: "could not be measured" };

/* ---- one fact -------------------------------------------------------------------------------------------------------- */

function showFact(id) {
  const f = fact(id);
  if (!f) return;
  const line = (name, text) => (text === undefined || text === null || text === "" ? [] : [h("dt", {}, name), h("dd", {}, String(text))]);
  const raw = f.value === undefined || f.value === null ? "" : `${JSON.stringify(f.value)}${f.unit ? ` ${f.unit}` : ""}`;
  const ids = Array.isArray(f.series) ? f.series.filter(hasSeries) : [];
  dialog.replaceChildren(
    h("button", { class: "close", type: "button", onclick: () => dialog.close() }, "Close"),
    h("h2", { id: "detail-title" }, id),
    h("p", {}, h("b", {}, words(id) || "no value"), " ", h("span", { class: f.status }, statusWords[f.status] ?? f.status)),
    h("dl", {}, line("value", raw), line("confidence", typeof f.confidence === "number" ? `${Math.round(f.confidence * 100)} %` : ""),
      line("why", f.reason), line("method", f.method), line("the OS says", claimedWords(id)), line("found by", f.micro)),
    ...(ids.length ? ids.flatMap(seriesPart) : [h("p", { class: "faint" }, "No series is kept behind this fact.")]));
  dialog.showModal();
  history.replaceState(null, "", `#fact=${encodeURIComponent(id)}`);
}

function seriesPart(id) {
  const { x, y } = series[id];
  return [h("h3", {}, id), h("figure", { "data-series": id }, charts.seriesChart(id), h("figcaption", {}, `${y.name} over ${x.name}`)),
    numbers(id, [x.unit ? `${x.name}, ${x.unit}` : x.name, y.unit ? `${y.name}, ${y.unit}` : y.name], x.values.map((v, i) => [v, y.values[i]]))];
}

dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));

const chip = (id) => h("button", { type: "button", "data-fact": id, onclick: () => showFact(id) }, `${id} ${words(id)}`);

/* ---- frames ---------------------------------------------------------------------------------------------------------- */

function frame(c) {
  const ids = [...new Set(c.facts)].filter((id) => fact(id) && (fact(id).value !== undefined || fact(id).series));
  return h("section", { id: c.id, class: c.wide ? "wide" : null, "aria-labelledby": `${c.id}-title` },
    h("h2", { id: `${c.id}-title` }, c.title),
    h("figure", {}, c.body, h("figcaption", {}, c.caption)),
    ids.length > 0 && h("details", {}, h("summary", {}, `Facts and curves behind it (${ids.length})`), h("ul", { class: "chips" }, ids.map((id) => h("li", {}, chip(id))))),
    c.numbers);
}

/* ---- operations ------------------------------------------------------------------------------------------------------ */

const metrics = { latency: "latency, cycles", throughput: "cycles per operation", in_flight: "in flight" };

function operations() {
  const rows = new Map(), types = new Set();
  for (const id of Object.keys(facts)) {
    const [family, op, type, metric] = id.split(".");
    if (family !== "op" || !Object.hasOwn(metrics, metric ?? "") || Number.isNaN(number(id))) continue;
    types.add(type);
    if (!rows.has(op)) rows.set(op, new Map());
    rows.get(op).set(`${type}.${metric}`, id);
  }
  if (!rows.size) return null;
  let metric = "latency", by = null, down = true;
  const place = h("div", { class: "scroll" });
  const value = (op, type) => { const id = rows.get(op).get(`${type}.${metric}`); return id ? number(id) : NaN; };
  const render = () => {
    const shown = [...types].filter((type) => [...rows.keys()].some((op) => !Number.isNaN(value(op, type))));
    const all = [...rows.keys()].flatMap((op) => shown.map((type) => value(op, type))).filter((v) => v > 0);
    const least = Math.log(Math.min(...all)), most = Math.log(Math.max(...all));
    const order = [...rows.keys()];
    if (by) order.sort((a, b) => { const [x, y] = [value(a, by), value(b, by)]; return Number.isNaN(x) - Number.isNaN(y) || (down ? y - x : x - y); });
    const head = (type) => h("th", { scope: "col", "aria-sort": by === type ? (down ? "descending" : "ascending") : null },
      h("button", { type: "button", "data-sort": type, onclick: () => { down = by === type ? !down : true; by = type; render(); } }, type, by === type ? (down ? " ▾" : " ▴") : ""));
    const cell = (op, type) => {
      const id = rows.get(op).get(`${type}.${metric}`), v = value(op, type);
      if (!id || Number.isNaN(v)) return h("td", {});
      const share = v > 0 && most > least ? (Math.log(v) - least) / (most - least) : 0;
      return h("td", { style: `background: color-mix(in srgb, var(--heat) ${Math.round(5 + 55 * share)}%, transparent)` },
        h("button", { class: "id", type: "button", style: "border:0;background:none;padding:0", title: id, onclick: () => showFact(id) }, words(id)));
    };
    place.replaceChildren(h("table", { class: "heat" },
      h("caption", {}, `${metrics[metric]}; choose a column to sort by it`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "operation"), shown.map(head))),
      h("tbody", {}, order.filter((op) => shown.some((type) => !Number.isNaN(value(op, type)))).map((op) => h("tr", {}, h("th", { scope: "row" }, op), shown.map((type) => cell(op, type)))))));
  };
  render();
  const choice = h("select", { id: "metric", onchange: (event) => { metric = event.target.value; render(); } }, Object.entries(metrics).map(([m, text]) => h("option", { value: m }, text)));
  return h("section", { id: "operations", class: "wide", "aria-labelledby": "operations-title" },
    h("h2", { id: "operations-title" }, "Operations"), h("div", { class: "bar" }, h("label", { for: "metric" }, "Show"), choice), place);
}

/* ---- facts ----------------------------------------------------------------------------------------------------------- */

function factRow(id) {
  const f = facts[id];
  return h("tr", { "data-id": id, "data-status": f.status },
    h("td", {}, h("button", { class: "id", type: "button", "data-fact": id, onclick: () => showFact(id) }, id)),
    h("td", { class: "value" }, words(id)), h("td", { class: f.status }, f.status),
    h("td", {}, typeof f.confidence === "number" && f.value !== undefined ? `${Math.round(f.confidence * 100)} %` : ""),
    h("td", {}, claimedWords(id)), h("td", {}, f.reason ?? ""));
}

function factTable() {
  const ids = Object.keys(facts), rows = ids.map(factRow);
  const found = h("span", { class: "faint", role: "status" });
  const search = h("input", { type: "search", id: "search", placeholder: "cache.l2", oninput: () => choose() });
  const status = h("select", { id: "status", onchange: () => choose() }, ["all", "ok", "unreliable", "unsupported", "failed"].map((s) => h("option", { value: s }, s)));
  const choose = () => {
    let n = 0;
    rows.forEach((row, i) => {
      row.hidden = !ids[i].includes(search.value.trim()) || (status.value !== "all" && row.dataset.status !== status.value);
      n += !row.hidden;
    });
    found.textContent = `${n} of ${ids.length} facts`;
  };
  choose();
  return h("section", { id: "facts", class: "wide", "aria-labelledby": "facts-title" },
    h("h2", { id: "facts-title" }, "All facts"),
    h("p", { class: "faint" }, "~ less than 90 % sure · ? in doubt, not to build on · choose a fact for its method, its reason and the curves behind it"),
    h("div", { class: "bar" }, h("label", { for: "search" }, "Find"), search, h("label", { for: "status" }, "Status"), status, found),
    h("div", { class: "scroll" }, h("table", { class: "list" },
      h("thead", {}, h("tr", {}, ["fact", "value", "status", "sure", "the OS says", "why"].map((t) => h("th", { scope: "col" }, t)))), h("tbody", {}, rows))));
}

function differences() {
  const ids = Object.keys(facts).filter((id) => differs(id) !== undefined);
  if (!ids.length) return null;
  return h("section", { id: "claims", class: "wide", "aria-labelledby": "claims-title" }, h("h2", { id: "claims-title" }, "Not as the OS says"),
    h("div", { class: "scroll" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, ["fact", "measured", "the OS says", "why"].map((t) => h("th", { scope: "col" }, t)))),
      h("tbody", {}, ids.map((id) => h("tr", {}, h("td", {}, h("button", { class: "id", type: "button", onclick: () => showFact(id) }, id)), h("td", { class: "value" }, words(id)), h("td", {}, claimedWords(id)), h("td", {}, differs(id) || fact(id).reason || "")))))));
}

/* ---- the top --------------------------------------------------------------------------------------------------------- */

function themeButton() {
  const dark = () => document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  const button = h("button", { type: "button", id: "theme", onclick: () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; name(); } });
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; };
  name();
  return button;
}

function top() {
  const text = (key) => (typeof target[key] === "string" ? target[key] : "");
  const disturbed = Array.isArray(target.conditions?.words) ? target.conditions.words.filter((w) => typeof w === "string") : [];
  const cards = [["clock", "cpu.frequency"], ["L1 data", "cache.l1d.capacity"], ["L2", "cache.l2.capacity"], ["L3", "cache.l3.capacity"], ["memory latency", "memory.latency_ns"],
    ["memory, read", "memory.bandwidth.read.one"], ["first TLB, entries", "tlb.d1.entries"], ["cores", "threads.cores"], ["mispredicted branch, cycles", "branch.mispredict"], ["vectors", "isa.simd.width"]];
  const name = text("cpu") || text("name") || "a machine";
  document.title = `X-Ray of ${name}`;
  document.getElementById("top").append(
    h("h1", {}, `X-Ray of ${name}`),
    h("p", { class: "faint" }, [text("os"), `${text("compiler")} ${text("cflags")}`.trim(), text("date"), typeof target.seconds === "number" ? `${target.seconds.toFixed(1)} s` : ""].filter(Boolean).join(" · ")),
    ...disturbed.map((w) => h("p", { class: "disturbed" }, w)),
    h("div", { class: "bar" }, themeButton(), h("button", { type: "button", onclick: () => print() }, "Print"), h("a", { href: "#facts" }, "All facts")),
    h("div", { class: "cards" }, cards.filter(([, id]) => words(id)).map(([title, id]) =>
      h("button", { type: "button", "data-fact": id, onclick: () => showFact(id) }, h("span", { class: "faint" }, title), h("b", {}, words(id)),
        claimedWords(id) && claimedWords(id) !== words(id).replace(/[~?]$/, "") ? h("span", { class: "faint" }, `OS: ${claimedWords(id)}`) : null))));
}

top();
const main = document.getElementById("main");
main.replaceChildren(
  h("div", { class: "charts" },
    [charts.latency(), charts.hierarchy(), charts.bandwidth(), charts.bandwidthCurves(), charts.bandwidthCores(), charts.tlb(), charts.roofline(), ...charts.matrices(), charts.ports(), charts.noise(), charts.registers()].filter(Boolean).map(frame),
    operations(), differences(), factTable(), allSeries()));
document.body.append(h("footer", { class: "faint" }, `Made by xray ${version}. Charts: Observable Plot.`));
const asked = /^#fact=(.*)$/.exec(location.hash);
if (asked) showFact(decodeURIComponent(asked[1]));

function allSeries() {
  const ids = Object.keys(series).filter(hasSeries);
  if (!ids.length) return null;
  return h("section", { id: "series", class: "wide", "aria-labelledby": "series-title" }, h("h2", { id: "series-title" }, "Every series"),
    ids.map((id) => {
      const place = h("div", {});
      return h("details", { "data-series-of": id, ontoggle: (event) => { if (event.target.open && !place.firstChild) place.append(...seriesPart(id).slice(1)); } }, h("summary", {}, `${id}: ${series[id].y.name} over ${series[id].x.name}, ${series[id].x.values.length} points`), place);
    }));
}
