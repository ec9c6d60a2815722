// The command-line tool, as the page runs it.

import { XzReadableStream } from "xz-decompress";
/** The bundle of worker.js, which the build puts here. */
import worker from "worker-bundle";

const workerAddress = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));

/** The tool's module, compiled while the page is being shown. */
const compiled = compile();
compiled.catch(() => {});

async function compile() {
  const bytes = Uint8Array.from(atob(document.getElementById("tool").textContent), (letter) => letter.charCodeAt(0));
  const module = new XzReadableStream(new Blob([bytes]).stream());
  return WebAssembly.compile(await new Response(module).arrayBuffer());
}

/**
 * Runs the tool over files, which are pairs of a path and a text or File. `stopped` is an AbortSignal.
 * Resolves to its exit status and what it printed, or to a failure, in a sentence.
 */
export async function run({ args, columns, files, stopped, onProgress }) {
  let module;
  try {
    module = await compiled;
  } catch (error) {
    const wanted = "The playground needs a current Chrome, Edge, Firefox or Safari with WebAssembly.";
    return { failure: `${wanted} This browser says: ${error.message}` };
  }
  let worker;
  try {
    worker = new Worker(workerAddress);
  } catch (error) {
    return { failure: `The browser does not let the page run the tool: ${error.message}` };
  }
  return new Promise((resolve) => {
    const end = (result) => {
      worker.terminate();
      resolve(result);
    };
    worker.onmessage = ({ data }) => (data.progress ? onProgress(data.progress) : end(data));
    worker.onerror = ({ message }) =>
      end({ failure: `The browser can't run the tool: ${message ?? "it gives no reason"}` });
    stopped.addEventListener("abort", () => end({ failure: "Stopped." }));
    if (stopped.aborted) end({ failure: "Stopped." });
    else worker.postMessage({ module, args, columns, files });
  });
}
