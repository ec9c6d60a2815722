// Runs the tool once: a WASI program over files in memory. The page makes a worker for each run and ends it afterwards,
// which frees all memory.

import { ConsoleStdout, Directory, File, OpenFile, PreopenDirectory, WASI } from "@bjorn3/browser_wasi_shim";

/** How often progress is told, in milliseconds. */
const PROGRESS_INTERVAL = 200;

/** What the tool writes before a line of progress, which replaces the one before. */
const LINE_START = "\r\x1b[K";

self.onmessage = async ({ data: { module, args, columns, files } }) => {
  const stdout = new Text();
  const stderr = new Text(progressListener());
  try {
    const wasi = new WASI(
      ["kubectl node-placement", ...args],
      [`COLUMNS=${columns}`],
      [new OpenFile(new File([])), stdout.console, stderr.console, new PreopenDirectory(".", await folder(files))],
      { debug: false },
    );
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: imports(wasi) });
    const status = wasi.start(instance);
    self.postMessage({ status, stdout: stdout.text, stderr: withoutProgress(stderr.text) });
  } catch (error) {
    self.postMessage({ failure: describe(error, stderr.text) });
  }
};

/** What is written to a terminal. */
class Text {
  text = "";
  #decoder = new TextDecoder();

  constructor(listener = () => {}) {
    this.console = new ConsoleStdout((bytes) => {
      this.text += this.#decoder.decode(bytes, { stream: true });
      listener(this.text);
    });
  }
}

/** The shim's functions, without its mistake: it counts an argument's UTF-16 units where bytes are asked for. */
function imports(wasi) {
  const bytes = wasi.args.reduce((sum, argument) => sum + new TextEncoder().encode(argument).length + 1, 0);
  return {
    ...wasi.wasiImport,
    args_sizes_get(count, size) {
      const memory = new DataView(wasi.inst.exports.memory.buffer);
      memory.setUint32(count, wasi.args.length, true);
      memory.setUint32(size, bytes, true);
      return 0;
    },
  };
}

/** A folder of files, whose paths may have folders in them. */
async function folder(files) {
  const root = new Map();
  for (const [path, content] of files) {
    const names = path.split("/");
    const name = names.pop();
    let contents = root;
    for (const parent of names) {
      if (!contents.has(parent)) contents.set(parent, new Directory(new Map()));
      contents = contents.get(parent).contents;
    }
    contents.set(name, new File(await new Blob([content]).arrayBuffer()));
  }
  return root;
}

function progressListener() {
  let next = 0;
  return (text) => {
    const start = text.lastIndexOf(LINE_START) + LINE_START.length;
    if (start < LINE_START.length || start === text.length || performance.now() < next) return;
    next = performance.now() + PROGRESS_INTERVAL;
    self.postMessage({ progress: text.slice(start) });
  };
}

function withoutProgress(text) {
  const lines = text.split(LINE_START);
  return lines[0] + (lines.length > 1 ? lines.at(-1) : "");
}

/** Why the tool ended without an exit status. */
function describe(error, stderr) {
  if (error.name === "NotReadableError" || error.name === "NotFoundError") {
    return "A file of the cluster can't be read. If it has changed since you opened it, open it again.";
  }
  if (/call stack|memory access out of bounds/.test(error.message)) return "The input is nested too deeply.";
  if (error instanceof RangeError || stderr.includes("memory allocation")) {
    return "The input needs more memory than the browser gives to a page. Use the command-line tool.";
  }
  return `The tool failed: ${stderr || error.message}`;
}
