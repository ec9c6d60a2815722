// Reads the examples: those that examples/README.md lists, with a cluster to try them on, and what the page begins with.

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

/** The `texts` and the `menu` that src/examples.js describes. The first entry is what the page begins with. */
export function readExamples(root) {
  const read = (path) => readFileSync(join(root, path), "utf8");
  const texts = Object.fromEntries([...Object.values(SAMPLE).flat(), CLUSTER].map((path) => [path, read(path)]));
  const examples = rows(read("examples/README.md")).filter(({ name }) => {
    texts[name] = read(join("examples", name));
    return editorOf(texts[name]);
  });
  const tests = examples.filter(({ name }) => editorOf(texts[name]) === "tests").map(({ name }) => name);
  const entries = examples.map(({ group, name, title }) => ({ group, name, title, inputs: inputs(name) }));
  const begin = { name: "sample cluster", title: "what the page begins with", inputs: { ...SAMPLE, tests } };
  const groups = [...new Set(entries.map(({ group }) => group))];
  const menu = groups.map((title) => ({ title, entries: entries.filter(({ group }) => group === title) }));
  return { texts, menu: [{ title: "Begin again", entries: [begin] }, ...menu] };

  /** A policy comes with a cluster, and with the manifests that name it in their first comment. */
  function inputs(name) {
    const editor = editorOf(texts[name]);
    if (editor !== "settings") return { [editor]: [name] };
    const isForIt = (other) => editorOf(texts[other]) === "manifest" && firstComment(texts[other]).includes(`for ${name}`);
    const manifests = examples.map((example) => example.name).filter(isForIt);
    return { settings: [name], cluster: [CLUSTER], ...(manifests.length > 0 && { manifest: manifests }) };
  }
}

const firstComment = (text) => text.match(/^(#.*\n)*/)[0].toLowerCase();

/** The rows of the README's table: file, what for, and the group that they stand in. */
function rows(readme) {
  let group = "Policies";
  return [...readme.matchAll(/^\| (?:\*\*(.*?)\*\*|\[`(.*?)`\]\(.*?\)) \| ?(.*?) ?\|$/gm)].flatMap(([, heading, name, title]) => {
    group = heading ?? group;
    return name ? [{ group, name, title: title.replaceAll("`", "") }] : [];
  });
}

/** Which editor a file is for. Undefined for what the tool reads none of, such as RBAC. */
function editorOf(text) {
  if (/^tests:/m.test(text)) return "tests";
  const kinds = [...text.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind);
  if (kinds.includes("ClusterAdmissionPolicy")) return "settings";
  return kinds.some((kind) => /^(Namespace|Pod|Deployment|DaemonSet|StatefulSet|Job|CronJob)$/.test(kind)) ? "manifest" : undefined;
}
