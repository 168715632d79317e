// SPDX-License-Identifier: MIT
// The description in the page, and how its numbers are written.

const all = JSON.parse(document.getElementById("description").textContent);

export const version = all.version;
export const facts = all.description.facts ?? {};
export const series = all.description.series ?? {};
export const target = all.description.target ?? {};

export const fact = (id) => (Object.hasOwn(facts, id) ? facts[id] : undefined);
export const hasSeries = (id) => Object.hasOwn(series, id) && series[id].x.values.length > 0;

// The value in the words of the terminal report: `~` less than 90 % sure, `?` in doubt.
export const words = (id) => (Object.hasOwn(all.words, id) && all.words[id].value) || "";
// What may explain that the OS says otherwise, "" where nothing does; undefined: it does not, or who knows.
export const differs = (id) => (Object.hasOwn(all.words, id) ? all.words[id].differs : undefined);
export const claimedWords = (id) => (Object.hasOwn(all.words, id) && all.words[id].claimed) || "";

export function number(id) {
  const value = fact(id)?.value;
  return typeof value === "number" ? value : NaN;
}

export function claimed(id) {
  const value = fact(id)?.claimed;
  return typeof value === "number" ? value : NaN;
}

export const sure = (id) => fact(id)?.status === "ok";

export function points(id) {
  if (!hasSeries(id)) return [];
  const { x, y } = series[id];
  return x.values.map((value, i) => ({ x: value, y: y.values[i] })).filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y));
}

function scaled(value, step, units) {
  let i = 0;
  while (i + 1 < units.length && Math.abs(value) >= step) {
    value /= step;
    i++;
  }
  return `${Number(value.toPrecision(3))} ${units[i]}`;
}

export const bytes = (value) => scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
export const rate = (value) => scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]);
export const time = (ns) => scaled(ns, 1000, ["ns", "us", "ms", "s"]);

export function withUnit(value, unit) {
  if (unit === "bytes") return bytes(value);
  if (unit === "B/s") return rate(value);
  if (unit === "ns") return time(value);
  return `${Number(value.toPrecision(4))}${unit ? ` ${unit}` : ""}`;
}

// Powers of two, for axes of bytes.
export function byteTicks(least, most) {
  const step = Math.log2(most / least) > 12 ? 2 : 1;
  const ticks = [];
  for (let k = Math.ceil(Math.log2(least)); 2 ** k <= most; k++) if (k % step === 0) ticks.push(2 ** k);
  return ticks;
}
