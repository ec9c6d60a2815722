// An editor of one input: a text, or files that are too large to show.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Larger files are kept as files: they need not be shown, and only the cluster is ever so large. */
const LARGEST_TEXT = 1_000_000;
/** What the tool and a browser's memory can do. */
const LARGEST_FILE = 150_000_000;

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.meta, tags.labelName, tags.typeName], color: "var(--mark)" },
]);

export class Editor {
  /** Files that stand in place of the text. */
  files = [];
  #section = document.createElement("details");
  #attached = document.createElement("p");
  #view;

  /** `name` is that of the file for the tool, without its ending. `takesFiles`: also several, and large ones. */
  constructor({ name, title, isOpen, takesFiles, onRun, onChange, onMistake }) {
    this.name = name;
    this.title = title;
    this.takesFiles = takesFiles;
    this.onChange = onChange;
    this.onMistake = onMistake;
    this.#section.id = name;
    this.#section.open = isOpen;
    const summary = document.createElement("summary");
    summary.textContent = title;
    this.#attached.hidden = true;
    this.#section.append(summary, this.#opener(), this.#attached);
    this.#view = new EditorView({
      parent: this.#section,
      extensions: [
        lintGutter(),
        lineNumbers(),
        history(),
        highlightActiveLine(),
        indentOnInput(),
        bracketMatching(),
        yaml(),
        syntaxHighlighting(colours),
        EditorState.tabSize.of(2),
        EditorView.updateListener.of(({ docChanged }) => docChanged && onChange()),
        EditorView.contentAttributes.of({ "aria-label": title, tabindex: "0" }),
        keymap.of([{ key: "Mod-Enter", run: () => (onRun(), true) }, ...defaultKeymap, ...historyKeymap]),
      ],
    });
    this.#takeDrops();
  }

  get element() {
    return this.#section;
  }

  get text() {
    return this.#view.state.doc.toString();
  }

  set text(text) {
    this.#attach([]);
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } });
    this.mark([]);
  }

  get isEmpty() {
    return this.files.length === 0 && this.text.trim() === "";
  }

  open() {
    this.#section.open = true;
  }

  /** Marks mistakes, each with the line and column where it is, from 1 on. */
  mark(mistakes) {
    const { doc } = this.#view.state;
    const diagnostics = mistakes.map(({ line: number, column, message }) => {
      const line = doc.line(Math.min(Math.max(number, 1), doc.lines));
      const from = Math.min(line.from + Math.max(column - 1, 0), line.to);
      const to = doc.sliceString(from, line.to).search(/\s|$/) + from;
      return { from, to: Math.max(to, from), severity: "error", message };
    });
    this.#view.dispatch(setDiagnostics(this.#view.state, diagnostics));
    if (diagnostics.length) {
      this.open();
      this.#view.dispatch({ effects: EditorView.scrollIntoView(diagnostics[0].from, { y: "center" }) });
    }
  }

  /** Takes files that were dropped or opened. */
  async take(files) {
    const mistake = await this.#mistakeIn(files);
    if (mistake) return this.onMistake(mistake);
    const [file] = files;
    if (files.length === 1 && file.size <= LARGEST_TEXT) this.text = await file.text();
    else this.#attach(files);
    this.open();
  }

  async #mistakeIn(files) {
    if (files.length === 0) return "Drop a file here: this was none.";
    if (files.length > 1 && !this.takesFiles) return `${this.title} is one file: drop one at a time.`;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const largest = this.takesFiles ? LARGEST_FILE : LARGEST_TEXT;
    if (size > largest) {
      const hint = this.takesFiles ? " For more, use the command-line tool." : "";
      return `${files[0].name}: ${megabytes(size)}, and ${this.title} may have ${megabytes(largest)}.${hint}`;
    }
    const names = files.map(manifestName);
    const repeated = names.find((name, position) => names.indexOf(name) < position);
    if (repeated) return `Two of the files are named ${repeated}: rename one.`;
    for (const file of files) {
      try {
        // Of a large file the beginning, which may end in the middle of a letter.
        const beginning = await file.slice(0, LARGEST_TEXT).arrayBuffer();
        new TextDecoder("utf-8", { fatal: true }).decode(beginning, { stream: file.size > LARGEST_TEXT });
      } catch (error) {
        if (error instanceof TypeError) {
          const hint = "In PowerShell, | Out-File -Encoding utf8 writes it.";
          return `${file.name} is not UTF-8 text: expected YAML or JSON. ${hint}`;
        }
        return `${file.name} can't be read: it may be a folder. Drop its files.`;
      }
    }
    return undefined;
  }

  #attach(files) {
    this.files = [...files];
    this.onChange();
    const size = files.reduce((sum, file) => sum + file.size, 0);
    this.#attached.hidden = files.length === 0;
    this.#view.dom.hidden = files.length > 0;
    const edit = document.createElement("button");
    edit.type = "button";
    edit.textContent = "Remove";
    edit.onclick = () => (this.text = "");
    const names = files.map((file) => file.name).join(", ");
    this.#attached.replaceChildren(`${names}: ${megabytes(size)}, not shown. `, edit);
  }

  #opener() {
    const input = document.createElement("input");
    input.type = "file";
    input.hidden = true;
    input.multiple = this.takesFiles;
    input.accept = ".yml,.yaml,.json,.txt";
    input.onchange = async () => {
      await this.take([...input.files]);
      input.value = "";
    };
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Open file…";
    button.setAttribute("aria-label", `Open file… for ${this.title}`);
    button.onclick = () => input.click();
    const row = document.createElement("p");
    row.className = "opener";
    row.append(button, input);
    return row;
  }

  #takeDrops() {
    this.#section.addEventListener("dragover", () => this.#section.classList.add("target"));
    this.#section.addEventListener("dragleave", () => this.#section.classList.remove("target"));
    // Before the editor, which would insert the file's text where the pointer is.
    this.#section.addEventListener(
      "drop",
      (event) => {
        this.#section.classList.remove("target");
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        event.stopPropagation();
        this.take([...event.dataTransfer.files]);
      },
      { capture: true },
    );
  }
}

/** What a file is called in the folder of a cluster, of which the tool reads what is named like a manifest. */
export const manifestName = ({ name }) => (/\.(json|ya?ml)$/.test(name) ? name : `${name}.yml`);

const megabytes = (bytes) => `${(bytes / 1_000_000).toFixed(bytes < 1_000_000 ? 2 : 0)} MB`;
