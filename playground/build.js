// Makes playground.html of page.html, src, the examples, and the tool as a module:
//
//   node build.js TOOL.wasm.xz PLAYGROUND.html

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build } from "esbuild";
import { readExamples } from "./read-examples.js";

const REPOSITORY = "https://github.com/node-placement/node-placement-policy";
const LARGEST = 2.5 * 1024 * 1024;

const folder = import.meta.dirname;
const root = dirname(folder);
const [tool, page] = process.argv.slice(2);

/** One script of a file and all that it imports. */
async function bundle(file, bundles = {}) {
  const { metafile, outputFiles } = await build({
    entryPoints: [join(folder, "src", file)],
    bundle: true,
    write: false,
    minify: true,
    metafile: true,
    format: "iife",
    target: ["chrome123", "firefox120", "safari17.5"],
    plugins: [{ name: "bundles", setup: (esbuild) => offer(esbuild, bundles) }],
    absWorkingDir: folder,
  });
  return { text: outputFiles[0].text.trim(), inputs: Object.keys(metafile.inputs) };
}

/** Lets scripts import other bundles, as texts. */
function offer(esbuild, bundles) {
  esbuild.onResolve({ filter: /-bundle$/ }, ({ path }) => ({ path, namespace: "bundle" }));
  esbuild.onLoad({ filter: /./, namespace: "bundle" }, ({ path }) => ({ contents: bundles[path], loader: "text" }));
}

/** The licences of the packages that files are of. Each must be one that deny.toml allows. */
function licences(files) {
  const allowed = readFileSync(join(root, "deny.toml"), "utf8").match(/^allow = \[([^\]]*)\]/m)[1];
  const packages = new Set(files.map((file) => file.match(/^node_modules\/((?:@[^/]*\/)?[^/]*)/)?.[1]).filter(Boolean));
  const texts = [...packages].sort().map((name) => {
    const home = join(folder, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
    if (!license.split(" OR ").some((choice) => allowed.includes(`"${choice}"`))) {
      throw new Error(`${name} has the licence ${license}, which deny.toml does not allow`);
    }
    const text = readdirSync(home)
      .filter((file) => /^licen[cs]e/i.test(file))
      .map((file) => readFileSync(join(home, file), "utf8"));
    return `${name} ${version}: ${license}\n\n${text.join("\n").trim()}`;
  });
  const own = `node-placement-policy: Apache-2.0\n\n${readFileSync(join(root, "LICENSE"), "utf8").trim()}`;
  return [own, ...texts].join(`\n\n${"-".repeat(80)}\n\n`);
}

const escapeHtml = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const worker = await bundle("worker.js");
const script = await bundle("page.js", { "worker-bundle": worker.text });
const style = readFileSync(join(folder, "src/style.css"), "utf8");
// The editor makes its styles when it starts. Nothing may be loaded, and no script but the page's own may run.
const policy = [
  "default-src 'none'",
  `script-src ${hash(script.text)} 'wasm-unsafe-eval'`,
  "style-src 'unsafe-inline'",
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
const parts = {
  policy,
  style,
  repository: REPOSITORY,
  licences: escapeHtml(licences([...worker.inputs, ...script.inputs])),
  examples: JSON.stringify(readExamples(root)).replaceAll("<", "\\u003c"),
  tool: readFileSync(tool, "base64"),
  script: script.text,
};
const html = readFileSync(join(folder, "page.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name]);
const size = Buffer.byteLength(html);
if (size > LARGEST) throw new Error(`${basename(page)} would have ${size} bytes, and may have ${LARGEST}`);
writeFileSync(page, html);
console.log(`${page}: ${size} bytes, ${parts.tool.length} of them the tool`);
