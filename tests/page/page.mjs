// SPDX-License-Identifier: MIT
// node tests/page/page.mjs NODE_MODULES DIR: tells in TAP what holds of DIR/*.html, beside the DIR/*.json they were made from.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, dir] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(modules, "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

let failed = 0;
function promise(name, holds, what = "") {
  if (!holds) failed++;
  if (!holds && what) console.log(`#   ${String(what).slice(0, 2000).replaceAll("\n", "\n#   ")}`);
  console.log(`${holds ? "ok" : "not ok"} page: ${name}`);
}

const patience_ms = 300000; // for what hangs: a busy machine takes its time
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"], timeout: patience_ms });

async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, bypassCSP: options.bypassCSP ?? false, ...options });
  context.setDefaultTimeout(patience_ms);
  const page = await context.newPage();
  page.complaints = [];
  page.requests = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.complaints.push(message.text()));
  page.on("pageerror", (error) => page.complaints.push(String(error)));
  page.on("request", (request) => page.requests.push(request.url()));
  await page.goto(pathToFileURL(join(dir, `${name}.html`)).href);
  return page;
}

const description = (name) => JSON.parse(readFileSync(join(dir, `${name}.json`), "utf8"));

for (const name of ["genoa", "server", "evil", "nothing"]) {
  const page = await open(name);
  promise(`${name}: no errors, no warnings`, !page.complaints.length, page.complaints.join("\n"));
  promise(`${name}: nothing is fetched`, page.requests.length === 1, page.requests.join("\n"));
  await page.context().close();
}

// What the page calls different is what `xray check` does, no more: not 3.98 ms for 4, nor what is in doubt.
const genoa = await open("genoa");
const differing = await genoa.$$eval("#claims tbody tr", (rows) => rows.map((r) => r.cells[0].textContent));
const check = spawnSync(process.env.XRAY, ["check", `${dir}/genoa.json`], { encoding: "utf8" }).stdout.split("\n").filter((l) => / differ(:|$)/.test(l) && l.startsWith("  ")).map((l) => l.trim().split(" ")[0]);
promise("genoa: differs where `xray check` says so", differing.length > 0 && differing.join() === check.join(), `${differing} / ${check}`);
await genoa.context().close();

/* ---- charts and numbers, of a simulated machine with all of it -------------------------------------------------------- */

const server = description("server");
let page = await open("server");
const sections = await page.$$eval("section", (all) => all.map((s) => s.id));
for (const id of ["latency", "hierarchy", "bandwidth", "bandwidth-size", "tlb", "roofline", "registers", "operations", "facts", "series"])
  promise(`server: has ${id}`, sections.includes(id), sections);

for (const kind of ["small", "huge"]) {
  const wanted = server.series[`memory.curve.${kind}`];
  const shown = await page.$$eval("#latency table.numbers tbody tr", (rows, kind) => rows.map((r) => [...r.cells].map((c) => c.textContent)).filter((r) => r[0].startsWith(kind)), kind);
  promise(`server: the curve in ${kind} pages has at least 60 points, the description's own`, shown.length >= 60 && shown.length === wanted.x.values.length &&
    shown.every((row, i) => Number(row[1]) === wanted.x.values[i] && Number(row[2]) === wanted.y.values[i]), JSON.stringify(shown.slice(0, 3)));
}
const dots = await page.$$eval("#latency svg circle", (all) => all.length);
promise("server: and they are drawn", dots >= 120, dots);

// Every fact by a click: value, reason and series as the description has them.
const seen = await page.evaluate(() => [...document.querySelectorAll("#facts button[data-fact]")].map((button) => {
  button.click();
  const dialog = document.getElementById("detail"), lines = {};
  dialog.querySelectorAll("dt").forEach((dt) => { lines[dt.textContent] = dt.nextElementSibling.textContent; });
  const series = [...dialog.querySelectorAll("figure[data-series]")].map((f) => [f.dataset.series, f.querySelectorAll("svg circle").length]);
  const one = { id: button.dataset.fact, open: dialog.open, lines, series };
  dialog.close();
  return one;
}));
promise("server: every fact has its row", seen.length === Object.keys(server.facts).length, `${seen.length} of ${Object.keys(server.facts).length}`);
const wrong = seen.filter(({ id, open, lines, series }) => {
  const fact = server.facts[id];
  const value = fact.value === undefined || fact.value === null ? undefined : fact.value;
  const unit = fact.unit ? ` ${fact.unit}` : "";
  const [text] = value === undefined ? [undefined] : [lines.value?.slice(0, lines.value.length - unit.length)];
  return !open || (value !== undefined && JSON.stringify(JSON.parse(text)) !== JSON.stringify(value)) || (fact.reason ?? undefined) !== lines.why ||
    (fact.method || undefined) !== lines.method || JSON.stringify(series.map((s) => s[0])) !== JSON.stringify(fact.series ?? []) || series.some(([sid, n]) => n < server.series[sid].x.values.length);
});
promise("server: a click shows each fact's value, reason, method and series", !wrong.length, JSON.stringify(wrong.slice(0, 2)));

/* ---- clicks ----------------------------------------------------------------------------------------------------------- */

const column = () => page.$$eval("#operations table.heat", ([table]) => {
  const at = [...table.tHead.rows[0].cells].findIndex((c) => c.querySelector("[data-sort=f64]"));
  return { sort: table.tHead.rows[0].cells[at].getAttribute("aria-sort"), values: [...table.tBodies[0].rows].map((r) => parseFloat(r.cells[at].textContent)).filter((v) => !Number.isNaN(v)) };
});
const rising = (v) => v.every((x, i) => !i || v[i - 1] <= x), before = await column();
await page.click("#operations [data-sort=f64]");
const down = await column();
await page.click("#operations [data-sort=f64]");
const up = await column();
promise("operations sort by a click on a column", down.sort === "descending" && rising([...down.values].reverse()) && up.sort === "ascending" && rising(up.values) && up.values.length === before.values.length && up.values.length > 2, JSON.stringify([down, up]));
await page.selectOption("#metric", "throughput");
const add = await page.$eval("#operations tbody", (body) => [...body.rows].find((r) => r.cells[0].textContent === "add")?.textContent);
promise("operations show throughput when asked", add !== undefined, add);
await page.fill("#search", "cache.l1d.");
const left = await page.$$eval("#facts tbody tr", (rows) => rows.filter((r) => !r.hidden).map((r) => r.dataset.id));
promise("facts are found by a part of their name", left.length > 2 && left.every((id) => id.includes("cache.l1d.")), left);
await page.keyboard.press("Tab");
await page.fill("#search", "");
await page.focus('#facts button[data-fact="cache.l1d.capacity"]');
await page.keyboard.press("Enter");
const opened = await page.$eval("#detail", (d) => d.open);
await page.keyboard.press("Escape");
const closed = await page.$eval("#detail", (d) => !d.open);
promise("the keyboard opens a fact and closes it", opened && closed);
const paper = () => page.$eval("body", (b) => getComputedStyle(b).backgroundColor);
const light = await paper();
await page.click("#theme");
promise("the theme changes by a click", light !== (await paper()));
await page.emulateMedia({ media: "print" });
const printed = await page.evaluate(() => [getComputedStyle(document.querySelector(".bar")).display, getComputedStyle(document.body).backgroundColor]);
promise("print has no buttons and white paper", printed[0] === "none" && printed[1] === "rgb(255, 255, 255)", printed);
await page.context().close();

page = await open("server", { colorScheme: "dark" });
promise("dark when the system is", (await page.$eval("body", (b) => getComputedStyle(b).backgroundColor)) === "rgb(20, 23, 28)");
await page.context().close();
page = await open("server", { viewport: { width: 360, height: 700 } });
const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
promise("fits a narrow window", overflow <= 0, overflow);
await page.context().close();

/* ---- everybody can read it -------------------------------------------------------------------------------------------- */

for (const colorScheme of ["light", "dark"]) {
  page = await open("server", { colorScheme, bypassCSP: true });
  await page.addScriptTag({ content: axe });
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
  promise(`accessible, ${colorScheme}`, !violations.length, violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].html} ${v.nodes[0].failureSummary}`).join("\n"));
  await page.context().close();
}

/* ---- hostile texts ----------------------------------------------------------------------------------------------------- */

page = await open("evil");
const evil = description("evil");
await page.evaluate(() => { for (const button of document.querySelectorAll("#facts button[data-fact]")) { button.click(); document.getElementById("detail").close(); } });
await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
await page.waitForTimeout(300);
const harm = await page.evaluate(() => ({ pwned: window.pwned, scripts: document.scripts.length, images: document.images.length,
  tags: document.querySelectorAll("b[onmouseover], a[href^=javascript], svg[onload], u, main i:not([style])").length, heading: document.querySelector("h1").textContent }));
promise("evil: nothing runs, nothing becomes markup", harm.pwned === undefined && harm.scripts === 2 && harm.images === 0 && harm.tags === 0, JSON.stringify(harm));
promise("evil: its texts are shown as they are", harm.heading === `X-Ray of ${evil.target.cpu}`, harm.heading);
await page.click('#facts button[data-fact="cache.l1d.capacity"]');
const why = await page.$eval("#detail", (d) => d.textContent);
promise("evil: also its reasons", why.includes(evil.facts["cache.l1d.capacity"].reason), why);
await page.context().close();
await browser.close();
process.exitCode = failed ? 1 : 0;
