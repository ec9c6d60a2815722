// The page: editors on the left, commands and what they print on the right.

import { Editor, manifestName } from "./editor.js";
import { entriesOf } from "./examples.js";
import { fromFragment, toFragment } from "./link.js";
import { plainText, terminalText } from "./terminal.js";
import { run } from "./tool.js";

const element = (id) => document.getElementById(id);
const examples = JSON.parse(element("examples").textContent);
const entries = entriesOf(examples);
/** What the page begins with. */
const [beginning] = entries;
const [namespace, subject] = [element("namespace"), element("subject")];

const editors = Object.fromEntries(
  [
    { name: "settings", title: "Settings", isOpen: true },
    { name: "cluster", title: "Cluster", takesFiles: true },
    { name: "manifest", title: "Manifest", isOpen: true },
    { name: "tests", title: "Tests" },
  ].map((editor) => [editor.name, new Editor({ ...editor, onRun: () => start(last), onChange, onMistake: say })]),
);

/** The arguments of each command. */
const commands = {
  preview: () => ["preview", "-s", "settings.yml", "-c", clusterPath(), "-o", "html"],
  try: () => ["try", "manifest.yml", "-s", "settings.yml", ...(editors.cluster.isEmpty ? [] : ["-c", clusterPath()])],
  check: () => ["check", "settings.yml"],
  policy: () => ["policy", "settings.yml"],
  explain: () => ["explain", ...explained(), "-s", "settings.yml", "-c", clusterPath()],
  test: () => ["test", "tests.yml"],
};

/** What the exit statuses say. */
const statuses = { 0: "Done", 1: "Done: something is refused, or not ready", 2: "There is a mistake in the input" };

/** What is said of a link to a page that is a file. */
const LOCAL_LINK = " It names this file: others put its part from # on behind the address of their own playground.";

let last = "preview";
let running;
/** What *Copy* and *Save* take: the name of a file, and its text. */
let taken;

function clusterPath() {
  return editors.cluster.files.length ? "cluster" : "cluster.yml";
}

function explained() {
  const named = namespace.value.trim() ? ["-n", namespace.value.trim()] : [];
  return subject.value.trim() ? [...named, subject.value.trim()] : named;
}

/** What the tool finds in its folder: the inputs, and the examples, which tests may name. */
function files() {
  const texts = Object.values(editors).filter((editor) => !editor.files.length);
  const inputs = texts.map((editor) => [`${editor.name}.yml`, editor.text]);
  const attached = editors.cluster.files.map((file) => [`cluster/${manifestName(file)}`, file]);
  return Object.entries({ ...examples.texts, ...Object.fromEntries([...inputs, ...attached]) });
}

/** Runs a command, and shows what it prints. One that still runs is stopped. */
async function start(command) {
  running?.abort();
  const stop = new AbortController();
  running = stop;
  last = command;
  offer(undefined);
  const args = commands[command]();
  element("line").textContent = ["kubectl node-placement", ...args].join(" ");
  say("Running");
  element("stop").hidden = false;
  element("output").setAttribute("aria-busy", "true");
  const began = performance.now();
  const onProgress = (text) => {
    element("progress").hidden = false;
    element("progress").textContent = text;
  };
  const result = await run({ args, columns: columns(), files: files(), stopped: stop.signal, onProgress });
  if (running !== stop) return;
  await show(command, result);
  if (running !== stop) return;
  running = undefined;
  element("stop").hidden = true;
  element("progress").hidden = true;
  element("output").removeAttribute("aria-busy");
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  say(result.failure ?? `${statuses[result.status] ?? `Exit status ${result.status}`} (${seconds} s)`);
}

/** Shows what was printed, a report in its frame. */
async function show(command, { stdout = "", stderr = "" }) {
  const isReport = command === "preview" && stdout.startsWith("<!doctype html>");
  const printed = isReport ? stderr : stderr + stdout;
  element("text").replaceChildren(terminalText(printed.trimEnd()));
  element("text").hidden = printed.trim() === "";
  markMistakes(plainText(printed));
  offer(fileOf(command, stdout, plainText(printed)));
  element("report").hidden = !isReport;
  if (!isReport) return;
  element("report").srcdoc = stdout;
  await new Promise((loaded) => (element("report").onload = loaded));
}

/** The file of what was printed: a page, a policy, or else all of the text. */
function fileOf(command, stdout, printed) {
  const ending = { preview: "html", policy: "yml" }[command];
  if (ending && stdout) return { name: `${command}.${ending}`, text: stdout };
  return printed.trim() ? { name: `${command}.txt`, text: `${printed.trimEnd()}\n` } : undefined;
}

/** Lets the user copy or save a file, if there is one. */
function offer(file) {
  taken = file;
  element("take").hidden = !file;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(taken.text);
    say("Copied.");
  } catch {
    say("The browser does not let the page copy. Save it instead.");
  }
}

function save() {
  const link = document.createElement("a");
  link.download = taken.name;
  link.href = URL.createObjectURL(new Blob([taken.text]));
  link.click();
  URL.revokeObjectURL(link.href);
  say(`Saved as ${taken.name}.`);
}

/** Marks every `FILE:LINE:COLUMN` and `FILE: … line LINE column COLUMN` that was printed. */
function markMistakes(text) {
  for (const editor of Object.values(editors)) {
    const place = new RegExp(`\\b${editor.name}\\.yml(?::(\\d+):(\\d+)|\\b.*\\bline (\\d+),? column (\\d+))`);
    const mistakes = text.split("\n").flatMap((message) => {
      const found = place.exec(message);
      return found ? [{ line: Number(found[1] ?? found[3]), column: Number(found[2] ?? found[4]), message }] : [];
    });
    editor.mark(mistakes);
  }
}

/** How many letters fit into a line of the output. */
function columns() {
  const ruler = document.createElement("pre");
  ruler.className = "ruler";
  ruler.textContent = "0".repeat(100);
  element("output").append(ruler);
  const letter = ruler.getBoundingClientRect().width / 100;
  ruler.remove();
  const padding = 2 * parseFloat(getComputedStyle(document.documentElement).fontSize);
  return Math.max(40, Math.min(120, Math.floor((element("output").clientWidth - padding) / letter)));
}

function say(sentence) {
  element("status").textContent = sentence;
}

/** What has been changed is no example any more, which can be chosen again then. */
function onChange() {
  element("example").value = "";
}

function fillExamples() {
  for (const { title, entries } of examples.menu) {
    const group = document.createElement("optgroup");
    group.label = title;
    group.append(...entries.map(({ name, title }) => new Option(`${name}: ${title}`, name)));
    element("example").append(group);
  }
}

/** Fills the editors with an example. What is around it replaces other examples only, and nothing of the user's. */
function choose(name) {
  const entry = entries.find((entry) => entry.name === name);
  if (!entry) return;
  const around = Object.entries(entry.around).filter(([input]) => isExample(editors[input]));
  const inputs = { ...entry.inputs, ...Object.fromEntries(around) };
  fill(inputs);
  element("example").value = name;
  Object.keys(entry.inputs).forEach((input) => editors[input].open());
  suggestNamespace();
  say(
    `${name}: in ${Object.keys(inputs)
      .map((input) => editors[input].title)
      .join(", ")}.`,
  );
}

/** Whether an editor has what an example has put there, or nothing. */
function isExample(editor) {
  return (
    editor.isEmpty ||
    entries.some((entry) => [entry.inputs, entry.around].some((inputs) => inputs[editor.name] === editor.text))
  );
}

function fill(inputs) {
  for (const [name, editor] of Object.entries(editors)) {
    if (inputs[name] !== undefined) editor.text = inputs[name];
  }
}

/** Explains the first namespace with something in it, if possible one that the cluster has. */
function suggestNamespace() {
  const cluster = editors.cluster.text;
  const names = [...`${editors.manifest.text}\n${cluster}`.matchAll(/\bnamespace: ([\w.-]+)/g)].map(([, name]) => name);
  namespace.value = names.find((name) => cluster.includes(`name: ${name}`)) ?? names[0] ?? "";
}

const clusterOf = (entry) => entry?.inputs.cluster ?? entry?.around.cluster;

async function makeLink() {
  const withCluster = element("link-cluster").checked;
  if (withCluster && editors.cluster.files.length) {
    return say("The cluster is too large for a link. Clear the box, and send its files.");
  }
  const { settings, manifest, tests, cluster } = editors;
  const example = entries.find((entry) => clusterOf(entry) === cluster.text);
  const fragment = await toFragment({
    settings: settings.text,
    manifest: manifest.text,
    tests: tests.text,
    command: last,
    namespace: namespace.value,
    subject: subject.value,
    ...(example ? { clusterOf: example.name } : withCluster && { cluster: cluster.text }),
  });
  if (!fragment) return say("The input is too large for a link. Send its files.");
  window.history.replaceState(null, "", `#${fragment}`);
  const field = element("link-text");
  field.value = window.location.href;
  element("link-result").hidden = false;
  element("link-contents").textContent = withCluster
    ? "settings, manifest, tests and cluster"
    : "settings, manifest and tests";
  field.select();
  const isLocal = window.location.protocol === "file:";
  try {
    await navigator.clipboard.writeText(field.value);
    say(`The link is copied.${isLocal ? LOCAL_LINK : ""}`);
  } catch {
    say(`Copy the link from its field.${isLocal ? LOCAL_LINK : ""}`);
  }
}

/** Fills the editors from the address, or with the sample, and runs the command that goes with it. */
async function load() {
  let input;
  try {
    input = await fromFragment(window.location.hash.slice(1));
  } catch (error) {
    if (Object.values(editors).every((editor) => editor.isEmpty)) fill(beginning.inputs);
    return say(`The link can't be read: ${error.message}.`);
  }
  if (!input) {
    fill(beginning.inputs);
    suggestNamespace();
    return start("preview");
  }
  const cluster = input.cluster ?? clusterOf(entries.find(({ name }) => name === input.clusterOf)) ?? "";
  fill({ settings: "", manifest: "", tests: "", ...input, cluster });
  namespace.value = input.namespace ?? "";
  subject.value = input.subject ?? "";
  if (!cluster) say("The link has no cluster in it. Open yours, or choose an example.");
  const command = Object.hasOwn(commands, input.command) ? input.command : "preview";
  return cluster || command === "check" || command === "policy" ? start(command) : undefined;
}

element("editors").append(...Object.values(editors).map((editor) => editor.element));
fillExamples();
element("example").onchange = ({ target }) => choose(target.value);
element("link").onclick = makeLink;
element("copy").onclick = copy;
element("save").onclick = save;
element("stop").onclick = () => {
  running?.abort();
  // The button goes, and must not take the focus with it.
  document.querySelector(`[data-command=${last}]`).focus();
};
element("commands").addEventListener("click", async ({ target }) => {
  if (!target.dataset.command) return;
  await start(target.dataset.command);
  // On a phone, the output is below the editors.
  element("line").scrollIntoView({ block: "nearest" });
});
for (const field of [namespace, subject]) {
  field.addEventListener("keydown", ({ key }) => key === "Enter" && start("explain"));
}
// A file that misses the editors must not replace the page.
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => {
  event.preventDefault();
  if (event.dataTransfer.types.includes("Files")) say("Drop the file on the editor that it is for.");
});
window.addEventListener("hashchange", load);
load();
