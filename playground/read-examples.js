// Reads the examples: what the page begins with, those that examples/README.md lists, and a cluster to try them on.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The sample cluster of the tour, and its settings. */
const SAMPLE = {
  settings: ["cli/tour/fences.yml"],
  cluster: ["namespaces", "nodes", "workloads"].map((kind) => `cli/tour/cluster/${kind}.yml`),
  manifest: ["playground/manifest.yml"],
};
/** The nodes and namespaces that the policies among the examples are about. */
const CLUSTER = "playground/cluster.yml";

/** A folder of files that are named for the editors is one example. */
const SCENE = /^(.+)\/(settings|cluster|manifest|tests)\.yml$/;

/** The `texts` and the `menu` that src/examples.js describes. The first entry is what the page begins with. */
export function readExamples(root) {
  const read = (path) => readFileSync(join(root, path), "utf8");
  const texts = Object.fromEntries([...Object.values(SAMPLE).flat(), CLUSTER].map((path) => [path, read(path)]));
  const entries = new Map();
  for (const { group, name, title } of rows(read("examples/README.md"))) {
    texts[name] = read(join("examples", name));
    const [, folder, part] = name.match(SCENE) ?? [];
    const editor = part ?? editorOf(texts[name]);
    if (!editor) continue;
    const entry = folder ? { group, name: folder, title: group } : { group, name, title };
    const { inputs = {} } = entries.get(entry.name) ?? {};
    entries.set(entry.name, { ...entry, inputs: { ...inputs, [editor]: [name] } });
  }
  const all = [...entries.values()].map((entry) => ({ ...entry, around: around(entry) }));
  const tests = all.filter(({ inputs }) => inputs.tests && !inputs.settings).flatMap(({ inputs }) => inputs.tests);
  const beginning = {
    name: "sample cluster",
    title: "what the page begins with",
    inputs: { ...SAMPLE, tests },
    around: {},
  };
  const menu = [...new Set(all.map(({ group }) => group))].map((title) => ({
    title,
    entries: all.filter(({ group }) => group === title),
  }));
  return { texts, menu: [{ title: "Begin again", entries: [beginning] }, ...menu] };

  /** A policy is tried on a cluster, and on the manifests that name it in their first comment. */
  function around({ name, inputs }) {
    if (!inputs.settings || inputs.cluster) return {};
    const names = [...entries.values()].flatMap(({ inputs }) => inputs.manifest ?? []);
    const manifest = names.filter((other) => firstComment(texts[other]).includes(`for ${name}`));
    return { cluster: [CLUSTER], ...(manifest.length > 0 && { manifest }) };
  }
}

const firstComment = (text) => text.match(/^(#.*\n)*/)[0].toLowerCase();

/** What the menu calls the files of a folder. */
const GROUPS = {
  "platform-team": "A platform team's repository",
  metadata: "Node metadata",
  demo: "Workloads to try them with",
};

/** The files that rows of the README's tables link to: a row has what they are for before them, or behind them. */
function rows(readme) {
  const cells = readme.split("\n").flatMap((line) => (line.startsWith("| ") ? [line.slice(2, -2).split(" | ")] : []));
  return cells.flatMap(([first, second]) => {
    const [files, purpose] = LINK.test(first) ? [`${first} ${second}`, second] : [second, first];
    return [...(files ?? "").matchAll(new RegExp(LINK, "g"))].map(([, name]) => {
      return { group: GROUPS[name.split("/")[0]] ?? "Policies", name, title: plain(purpose) };
    });
  });
}

/** A link to a file beside the README, or below. */
const LINK = /\]\(([\w.-][^)]*\.yml)\)/;

/** Markdown without its marks. */
const plain = (markdown) => markdown.replace(/\[(.*?)\]\(.*?\)/g, "$1").replaceAll("`", "");

/** Which editor a file is for. Undefined for what the tool reads none of, such as RBAC. */
function editorOf(text) {
  if (/^tests:/m.test(text)) return "tests";
  const kinds = [...text.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind);
  if (kinds.includes("ClusterAdmissionPolicy")) return "settings";
  return kinds.some((kind) => /^(Namespace|Pod|Deployment|DaemonSet|StatefulSet|Job|CronJob)$/.test(kind))
    ? "manifest"
    : undefined;
}
