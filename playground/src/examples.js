// The examples, as the build has put them into the page: `texts` of files, by their names, and a `menu` of groups of
// entries. An entry says which files go into which editor: its own `inputs`, and those `around` it to try it on.

/** All entries, each with the texts in place of the names of files. */
export function entriesOf({ texts, menu }) {
  const joined = (names) => names.map((name) => `${texts[name].trimEnd()}\n`).join("---\n");
  const read = (inputs) => Object.fromEntries(Object.entries(inputs).map(([editor, names]) => [editor, joined(names)]));
  const entries = menu.flatMap(({ entries }) => entries);
  return entries.map((entry) => ({ ...entry, inputs: read(entry.inputs), around: read(entry.around) }));
}
