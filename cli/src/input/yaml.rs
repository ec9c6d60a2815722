//! Reads YAML, of which JSON is a part, and remembers on which line everything stands.

use std::{collections::BTreeMap, fmt, sync::Arc};

use anyhow::{Result, anyhow, bail, ensure};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::{Map, Value};

/// As deep as Kubewarden's host reads JSON.
const MOST_LEVELS: usize = 128;
/// An alias stands for a copy, so that a few lines could become more than fits into memory.
const MOST_VALUES: usize = 1_000_000;

/// A place in a file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Its line.
    pub line: usize,
    /// Its column, in characters.
    pub column: usize,
}

/// A document of a YAML file, or an item of a `List` in it.
#[derive(Debug)]
pub struct Document {
    /// What it says.
    pub value: Value,
    /// Where it begins in its document: `items[2]` of a `List`.
    root: String,
    positions: Arc<BTreeMap<String, Position>>,
    words: Arc<Vec<Word>>,
}

/// A text without quotes that kubectl, which reads YAML 1.1, takes for true or false: `yes`.
#[derive(Clone, Debug)]
pub struct Word {
    /// As it is written.
    pub text: String,
    /// The field or element that it is, or that is called so.
    path: String,
    position: Position,
}

/// What kubectl takes for true or false, beside `true` and `false`.
const BOOLEANS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

/// Whether kubectl takes a text without quotes for true or false, and other readers do not.
pub fn is_boolean_for_kubectl(text: &str) -> bool {
    BOOLEANS.iter().any(|boolean| text.eq_ignore_ascii_case(boolean))
}

/// A text with quotes around all that kubectl would take for true or false. Comments stay.
pub fn with_quoted_booleans(text: &str) -> String {
    let mut words: Vec<Word> = read(text).documents.iter().flat_map(|document| document.words.to_vec()).collect();
    words.sort_by_key(|word| word.position);
    words.dedup_by_key(|word| word.position);
    let mut quoted = String::with_capacity(text.len());
    for (place, line) in text.split_inclusive('\n').enumerate() {
        let mut written = 0;
        for word in words.iter().filter(|word| word.position.line == place + 1) {
            let Some((start, _)) = line.char_indices().nth(word.position.column - 1) else { continue };
            let rest = line.get(start..).unwrap_or_default();
            // An anchor comes before the word.
            let anchor = if rest.starts_with('&') { rest.find(' ').unwrap_or_default() } else { 0 };
            let Some(place) = rest.get(anchor..).and_then(|rest| rest.find(&word.text)) else { continue };
            let start = start + anchor + place;
            quoted += &format!("{}\"{}\"", line.get(written..start).unwrap_or_default(), word.text);
            written = start + word.text.len();
        }
        quoted += line.get(written..).unwrap_or_default();
    }
    quoted
}

/// What a YAML file has, up to the first error.
#[derive(Debug, Default)]
pub struct File {
    /// Its documents. Empty ones are left out, and the items of a `List` stand in its place.
    pub documents: Vec<Document>,
    /// What can't be read, if something can't.
    pub error: Option<SyntaxError>,
}

/// Why a file can't be read to its end.
#[derive(Debug)]
pub struct SyntaxError {
    /// Where.
    pub position: Position,
    /// Why.
    pub problem: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.position.line, self.position.column, self.problem)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl From<Marker> for Position {
    fn from(marker: Marker) -> Self {
        Self { line: marker.line(), column: marker.col() + 1 }
    }
}

impl Document {
    /// Where the field or element at `path` stands, such as `spec.rules[0].resources`; where there is none, where that
    /// stands which would have it.
    pub fn position(&self, path: &str) -> Option<Position> {
        let path = if path.starts_with('[') || path.is_empty() { path.to_owned() } else { format!(".{path}") };
        let mut path = format!("{}{path}", self.root);
        loop {
            if let Some(position) = self.positions.get(&path) {
                return Some(*position);
            }
            let parent = path.rfind(['.', '['])?;
            path.truncate(parent);
        }
    }
}

/// Reads the documents of a file.
pub fn read(text: &str) -> File {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = Reader { parser: Parser::new_from_str(text), here: Position { line: 1, column: 1 }, values: 0 };
    let mut file = File::default();
    loop {
        match reader.document() {
            Ok(Some(document)) => file.documents.extend(document.items()),
            Ok(None) => return file,
            Err(error) => {
                let scan = error.downcast_ref::<ScanError>();
                let position = scan.map_or(reader.here, |scan| (*scan.marker()).into());
                let problem = scan.map_or_else(|| error.to_string(), |scan| scan.info().to_owned());
                file.error = Some(SyntaxError { position, problem });
                return file;
            }
        }
    }
}

impl Document {
    /// What kubectl takes for true or false, though it is a text here: its path, and itself.
    pub fn booleans_for_kubectl(&self) -> impl Iterator<Item = (&str, &str)> {
        self.words.iter().filter_map(|word| {
            let path = word.path.strip_prefix(&self.root)?;
            Some((path.trim_start_matches('.'), word.text.as_str()))
        })
    }

    fn items(self) -> Vec<Self> {
        let Self { value, positions, words, .. } = self;
        let is_list = value["kind"] == "List";
        match value {
            Value::Null => vec![],
            Value::Object(mut fields) if is_list => {
                let items = fields.remove("items").unwrap_or_default();
                let items = items.as_array().cloned().unwrap_or_default().into_iter().enumerate();
                let item = |(place, value)| {
                    let (positions, words) = (positions.clone(), words.clone());
                    Self { value, root: format!(".items[{place}]"), positions, words }
                };
                items.map(item).collect()
            }
            value => vec![Self { value, root: String::new(), positions, words }],
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Where the event stands that was read last.
    here: Position,
    /// How many values there are so far, with those that aliases copy.
    values: usize,
}

/// What is known of a document while it is read.
#[derive(Default)]
struct Known {
    positions: BTreeMap<String, Position>,
    anchors: BTreeMap<usize, Anchored>,
    words: Vec<Word>,
}

struct Anchored {
    value: Value,
    values: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<Event<'t>> {
        let (event, span): (Event, Span) =
            self.parser.next_event().unwrap_or(Ok((Event::StreamEnd, Span::default())))?;
        if event != Event::StreamEnd {
            self.here = span.start.into();
        }
        Ok(event)
    }

    fn document(&mut self) -> Result<Option<Document>> {
        loop {
            match self.next()? {
                Event::StreamEnd => return Ok(None),
                Event::DocumentStart(_) => break,
                _ => {}
            }
        }
        let mut known = Known::default();
        let first = self.next()?;
        let value = self.value(first, "", &mut known)?;
        // An error behind the document is its own.
        let (positions, words) = (Arc::new(known.positions), Arc::new(known.words));
        Ok(Some(Document { value, root: String::new(), positions, words }))
    }

    fn value(&mut self, event: Event<'t>, path: &str, known: &mut Known) -> Result<Value> {
        known.positions.entry(path.to_owned()).or_insert(self.here);
        let levels = path.matches(['.', '[']).count();
        ensure!(levels <= MOST_LEVELS, "nested deeper than {MOST_LEVELS} levels");
        self.count(1)?;
        let before = self.values;
        let (value, anchor) = match event {
            Event::Alias(anchor) => {
                let Anchored { value, values } =
                    known.anchors.get(&anchor).ok_or_else(|| anyhow!("an alias stands within what it refers to"))?;
                let value = value.clone();
                self.count(*values)?;
                return Ok(value);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                if !is_text {
                    self.note_word(&text, path, known);
                }
                (if is_text { text.into_owned().into() } else { plain(&text) }, anchor)
            }
            Event::SequenceStart(anchor, _) => (self.list(path, known)?, anchor),
            Event::MappingStart(anchor, _) => (self.object(path, known)?, anchor),
            event => bail!("expected a value, found {event:?}"),
        };
        if anchor != 0 {
            known.anchors.insert(anchor, Anchored { value: value.clone(), values: self.values - before + 1 });
        }
        Ok(value)
    }

    fn list(&mut self, path: &str, known: &mut Known) -> Result<Value> {
        let mut elements = vec![];
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(elements.into()),
                event => elements.push(self.value(event, &format!("{path}[{}]", elements.len()), known)?),
            }
        }
    }

    fn object(&mut self, path: &str, known: &mut Known) -> Result<Value> {
        let mut fields = Map::new();
        loop {
            let key = match self.next()? {
                Event::MappingEnd => return Ok(fields.into()),
                Event::Scalar(text, style, ..) => {
                    if style == ScalarStyle::Plain {
                        self.note_word(&text, &format!("{path}.{text}"), known);
                    }
                    text.into_owned()
                }
                _ => bail!("expected a key that is a text"),
            };
            ensure!(!fields.contains_key(&key), "repeated key {key:?}");
            let path = format!("{path}.{key}");
            known.positions.insert(path.clone(), self.here);
            let event = self.next()?;
            let value = self.value(event, &path, known)?;
            fields.insert(key, value);
        }
    }

    fn note_word(&self, text: &str, path: &str, known: &mut Known) {
        if is_boolean_for_kubectl(text) {
            known.words.push(Word { text: text.to_owned(), path: path.to_owned(), position: self.here });
        }
    }

    fn count(&mut self, values: usize) -> Result<()> {
        self.values += values;
        ensure!(
            self.values <= MOST_VALUES,
            "repetition limit exceeded: more than {MOST_VALUES} values, with those that aliases copy"
        );
        Ok(())
    }
}

/// A scalar without quotes, as the crate `yaml_serde` reads it, which reads all else.
fn plain(text: &str) -> Value {
    // Alone, these would be marks between documents.
    if text.starts_with("---") || text.starts_with("...") {
        return text.into();
    }
    yaml_serde::from_str(text).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::{Position, read, with_quoted_booleans};
    use serde_json::json;

    #[rstest::rstest]
    #[case::a_field("a:\n  b: 1", "a.b", (2, 3))]
    #[case::an_element("a:\n- 1\n- 2", "a[1]", (3, 3))]
    #[case::an_element_that_is_an_object("a:\n- b: 1\n  c: 2\n", "a[0].c", (3, 3))]
    #[case::a_field_that_is_missing("a:\n  b: {}", "a.b.c.d[0]", (2, 3))]
    #[case::json("{\n  \"a\": [\n    {\"b\": 1}\n  ]\n}", "a[0].b", (3, 6))]
    #[case::carriage_returns("a:\r\n  b: 1\r\n  c: 2\r\n", "a.c", (3, 3))]
    #[case::a_byte_order_mark("\u{feff}a:\n  b: 1", "a", (1, 1))]
    #[case::tabs("{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", "a.b", (3, 3))]
    #[case::letters_beyond_ascii("{ä: 1, b: 2}", "b", (1, 8))]
    #[case::all_of_it("# why\na: 1", "", (2, 1))]
    fn everything_has_a_position(#[case] text: &str, #[case] path: &str, #[case] (line, column): (usize, usize)) {
        let file = read(text);
        assert!(file.error.is_none(), "{:?}", file.error);
        assert_eq!(file.documents[0].position(path), Some(Position { line, column }));
    }

    #[rstest::rstest]
    #[case::a_value("a: yes # no\nb: 1\n", "a: \"yes\" # no\nb: 1\n")]
    #[case::several_of_a_line("{ä: yes, b: [no, x, On]}", "{ä: \"yes\", b: [\"no\", x, \"On\"]}")]
    #[case::a_key("no: 1\r\n", "\"no\": 1\r\n")]
    #[case::a_second_document("a: 1\n---\nb: &x off\nc: *x\n", "a: 1\n---\nb: &x \"off\"\nc: *x\n")]
    #[case::nothing("a: true\nb: 'yes'\nc: \"no\"\nd: |\n  on\n", "a: true\nb: 'yes'\nc: \"no\"\nd: |\n  on\n")]
    fn what_kubectl_takes_for_a_boolean_is_quoted(#[case] text: &str, #[case] quoted: &str) {
        assert_eq!(with_quoted_booleans(text), quoted);
        assert_eq!(read(text).documents[0].value, read(quoted).documents[0].value);
    }

    #[test]
    fn the_items_of_a_list_are_documents() {
        let file = read("kind: List\nitems:\n- a: 1\n- a: 2\n---\na: 3\n");
        let values: Vec<_> = file.documents.iter().map(|document| document.value.clone()).collect();
        assert_eq!(values, [json!({"a": 1}), json!({"a": 2}), json!({"a": 3})]);
        let lines: Vec<_> = file.documents.iter().map(|document| document.position("a").unwrap().line).collect();
        assert_eq!(lines, [3, 4, 6]);
    }

    #[rstest::rstest]
    #[case::a_bracket("a: 1\n---\nb: [1\n---\n", 1, 4)]
    #[case::indentation("a: 1\n---\nb:\n  - c\n d: 1\n", 1, 5)]
    #[case::a_key_twice("a: 1\n---\nb: 1\nb: 2\n", 1, 4)]
    #[case::a_tab("a:\n\tb: 1\n", 0, 2)]
    fn what_stands_before_an_error_is_read(#[case] text: &str, #[case] documents: usize, #[case] line: usize) {
        let file = read(text);
        assert_eq!(file.documents.len(), documents);
        assert_eq!(file.error.map(|error| error.position.line), Some(line));
    }

    #[test]
    fn aliases_do_not_fill_the_memory() {
        let mut text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", "));
        }
        assert!(read(&text).error.is_some_and(|error| error.problem.contains("aliases")));
        assert!(read(&format!("a: {}", "[".repeat(5000))).error.is_some());
        assert!(read("a: &x [*x]").error.is_some());
    }

    #[rstest::rstest]
    fn scalars_are_read_as_everywhere_else(
        #[values(
            "~",
            "null",
            "yes",
            "on",
            "true",
            "TRUE",
            "tRUE",
            "0",
            "-0",
            "+1",
            "12",
            "-12",
            "007",
            "0x1F",
            "0o17",
            "0b11",
            "1.5",
            "-1.5",
            "+1.5",
            ".5",
            "5.",
            "1e3",
            "1E-3",
            "1.5e+3",
            "inf",
            "nan",
            "infinity",
            "1_000",
            "18446744073709551615",
            "-9223372036854775808",
            "--1",
            "+-1",
            "+",
            ".",
            "..",
            "1.2.3",
            "1e",
            "0x",
            "2001-01-01",
            "12:30",
            "1a",
            "e3",
            "00",
            "0.0",
            "01.5",
            ".inf",
            ".nan",
            "---",
            "...",
            "-a",
            "a #b",
            "a, b]",
            "=",
            "<<",
            "a\n  b"
        )]
        text: &str,
    ) {
        let mut compared = 0;
        for text in [format!("a: {text}"), format!("[{text}, b]"), format!("- {text}\n- {text} # c")] {
            let Ok(expected) = yaml_serde::from_str::<serde_json::Value>(&text) else { continue };
            assert_eq!(read(&text).documents[0].value, expected, "{text}");
            compared += 1;
        }
        assert!(compared > 0);
    }
}
