// SPDX-License-Identifier: MIT
// node web/build.mjs NODE_MODULES OUT: one file from page.html, page.css and what main.js imports. Same input, same bytes.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

const bundle = esbuild.buildSync({
  entryPoints: [join(here, "main.js")],
  absWorkingDir: here,
  nodePaths: [modules],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "none",
  charset: "ascii",
  write: false,
});
// The library's licence asks to be named.
const banner = "/*! Charts: Observable Plot and D3, Copyright Observable, Inc. and Mike Bostock, ISC licence */\n";
const script = banner + bundle.outputFiles[0].text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const style = esbuild.transformSync(readFileSync(join(here, "page.css"), "utf8"), { loader: "css", minify: true }).code;
const parts = {
  "@HASH@": "sha256-" + createHash("sha256").update(script).digest("base64"),
  "@STYLE@": style,
  "@SCRIPT@": script,
};
let page = readFileSync(join(here, "page.html"), "utf8");
for (const [marker, text] of Object.entries(parts)) page = page.replace(marker, () => text);
if (page.split("@DESCRIPTION@").length !== 2) throw new Error("the marker of the description must be there once");
writeFileSync(out, page);
