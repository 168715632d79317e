// SPDX-License-Identifier: MIT
// Elements. Text is always text: nothing from a description becomes markup.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function table(caption, heading, rows) {
  return h("table", { class: "numbers" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heading.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, String(cell)))))));
}

export const numbers = (caption, heading, rows) =>
  h("details", {}, h("summary", {}, "Numbers"), table(caption, heading, rows));
