// A link that reproduces the input. Its fragment is `1.` and the input as JSON, compressed, in base64 for URLs. The
// number is that of this format: a page that knows a later one reads this one too, and takes what is missing as empty.

const FORMAT = "1.";

/** What mail, chats and browsers pass on. */
const LONGEST = 60_000;

/** The fragment for an input, an object of texts. Undefined if it would be too long. */
export async function toFragment(input) {
  const json = new Blob([JSON.stringify(input)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(json).arrayBuffer());
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const fragment = FORMAT + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return fragment.length > LONGEST ? undefined : fragment;
}

/** The input in a fragment. Undefined if there is none. Throws if it can't be read. */
export async function fromFragment(fragment) {
  if (!fragment) return undefined;
  if (!fragment.startsWith(FORMAT)) throw new Error("it is of a later version, or not of this playground");
  let input;
  try {
    const letters = atob(fragment.slice(FORMAT.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const json = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    input = JSON.parse(await new Response(json).text());
  } catch {
    throw new Error("a part of it is missing");
  }
  const texts = Object.entries(Object(input)).filter(([, text]) => typeof text === "string");
  return Object.fromEntries(texts);
}
