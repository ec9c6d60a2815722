// The examples: those that examples/README.md lists, and the sample cluster of the tour.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** What the playground starts with. */
const SAMPLE = { settings: "cli/tour/fences.yml", cluster: "cli/tour/cluster", manifest: "playground/manifest.yml" };
const TESTS = "examples/tests.yml";

/**
 * `menu` has groups of entries, each with the `inputs` that it fills. `sample` has the inputs to start with. `files` are
 * pairs of path and text, for tests that name them.
 */
export function readExamples(root) {
  const read = (path) => readFileSync(join(root, path), "utf8");
  const cluster = readdirSync(join(root, SAMPLE.cluster)).sort();
  const sample = {
    settings: read(SAMPLE.settings),
    cluster: cluster.map((file) => read(join(SAMPLE.cluster, file)).trimEnd() + "\n").join("---\n"),
    manifest: read(SAMPLE.manifest),
    tests: existsSync(join(root, TESTS)) ? read(TESTS) : "",
  };
  const start = { name: "sample cluster", title: "what the page begins with", inputs: sample };
  const listed = rows(read("examples/README.md")).map(({ name, ...row }) => ({ name, ...row, text: read(join("examples", name)) }));
  const usable = listed.filter(({ text }) => inputOf(text));
  const manifests = usable.filter(({ text }) => inputOf(text) === "manifest");
  const entries = usable.map(({ group, name, title, text }) => {
    const madeForIt = manifests.filter(({ title }) => title.includes(`for \`${name}\``)).map(({ text }) => text);
    const manifest = madeForIt.length > 0 && { manifest: madeForIt.map((text) => text.trimEnd() + "\n").join("---\n") };
    return { group, name, title: title.replaceAll("`", ""), inputs: { [inputOf(text)]: text, ...manifest } };
  });
  const groups = [...new Set(entries.map(({ group }) => group))];
  const menu = [
    { title: "Start again", entries: [start] },
    ...groups.map((title) => ({ title, entries: entries.filter(({ group }) => group === title) })),
  ];
  const files = listed.map(({ name, text }) => [name, text]);
  return { menu, sample, files };
}

/** The rows of the README's table: file, what for, and the group that they stand in. */
function rows(readme) {
  let group = "Policies";
  return [...readme.matchAll(/^\| (?:\*\*(.*?)\*\*|\[`(.*?)`\]\(.*?\)) \| ?(.*?) ?\|$/gm)].flatMap(([, heading, name, title]) => {
    group = heading ?? group;
    return name ? [{ group, name, title }] : [];
  });
}

/** Which editor a file is for. Undefined for what the tool reads none of, such as RBAC. */
function inputOf(text) {
  if (/^tests:/m.test(text)) return "tests";
  const kinds = [...text.matchAll(/^kind: (.*)$/gm)].map(([, kind]) => kind);
  if (kinds.includes("ClusterAdmissionPolicy")) return "settings";
  return kinds.some((kind) => /^(Namespace|Pod|Deployment|DaemonSet|StatefulSet|Job|CronJob)$/.test(kind)) ? "manifest" : undefined;
}
