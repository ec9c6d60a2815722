// The examples, as the build has put them into the page: `texts` of files, by their names, and a `menu` of groups of
// entries. An entry says which files go into which editor.

/** The texts that an entry puts into the editors. */
export function inputsOf({ inputs }, texts) {
  const joined = (names) => names.map((name) => `${texts[name].trimEnd()}\n`).join("---\n");
  return Object.fromEntries(Object.entries(inputs).map(([editor, names]) => [editor, joined(names)]));
}
