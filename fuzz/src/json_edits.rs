//! The law of edits: what is read after a write is what was written, and everything else is as it came, in value and
//! order, down to the spelling.
//!
//! A tree is built of the input and written as a text, which is read as JSON. Then both are edited in the same way, and
//! after each edit they must say the same. The tree is as plain as can be: it knows nothing of texts that are shared,
//! or taken apart only when somebody looks.

use ::json::{List, Object, Outline, Value};
use arbitrary::Unstructured;

/// Keys: a spelling and the name.
const KEYS: [(&str, &str); 6] =
    [(r#""a""#, "a"), (r#""b""#, "b"), (r#""\u0061""#, "a"), (r#""c\"""#, "c\""), (r#""""#, ""), (r#""name""#, "name")];

/// Values without parts.
const LEAVES: [&str; 9] = [r#""a""#, r#""\u0061""#, r#""x\"]},""#, "null", "true", "-0", "1.0e+2", "{ }", "[]"];

const SPACES: [&str; 4] = ["", "", " ", "\n\t"];

const OUTLINES: [Outline; 4] = [
    Outline::Whole,
    Outline::FLAT,
    Outline::Object(&[("a", Outline::ListBy("a")), ("b", Outline::FLAT), ("name", Outline::OBJECTS)]),
    Outline::Object(&[("a", Outline::Object(&[("a", Outline::ListBy("name"))])), ("b", Outline::OBJECTS)]),
];

/// A value as it should be.
#[derive(Clone)]
struct Node {
    /// As it came; nothing, once it was changed, here or below.
    text: Option<String>,
    inside: Inside,
}

#[derive(Clone)]
enum Inside {
    Leaf,
    Object(Vec<(&'static str, &'static str, Node)>),
    List(Vec<Node>),
}

/// Builds of the input what it edits.
pub fn check(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let mut expected = object(&mut input, 3);
    let mut value = expected.read(&mut input);
    says(&value, &expected);
    for _ in 0..6 {
        if input.is_empty() {
            return;
        }
        let (before, was_written) = (value.clone(), expected.written());
        edit_object(&mut input, &mut expected, value.object_mut().unwrap());
        says(&value, &expected);
        assert_eq!(value.is_changed(), expected.text.is_none());
        assert_eq!(before.text(), was_written, "a copy goes its own way");
    }
}

impl Node {
    fn leaf(text: &str) -> Self {
        let inside = match text {
            "{ }" => Inside::Object(Vec::new()),
            "[]" => Inside::List(Vec::new()),
            _ => Inside::Leaf,
        };
        Self { text: Some(text.to_owned()), inside }
    }

    fn written(&self) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        match &self.inside {
            Inside::Leaf => panic!("leaves have a text"),
            Inside::Object(members) => {
                let members: Vec<_> =
                    members.iter().map(|(key, _, node)| format!("{key}:{}", node.written())).collect();
                format!("{{{}}}", members.join(","))
            }
            Inside::List(elements) => {
                let elements: Vec<_> = elements.iter().map(Self::written).collect();
                format!("[{}]", elements.join(","))
            }
        }
    }

    /// This as a value, with some of it taken apart, at once or afterwards.
    fn read(&self, input: &mut Unstructured<'_>) -> Value {
        let value = Value::parse(self.written(), pick(input, &OUTLINES)).unwrap();
        if input.ratio(1, 2) == Ok(true)
            && let Ok(object) = value.object()
        {
            let (_, name) = pick(input, &KEYS);
            object.take_apart(name, pick(input, &OUTLINES));
        }
        value
    }

    fn is_null(&self) -> bool {
        self.text.as_deref() == Some("null")
    }

    fn members(&mut self) -> &mut Vec<(&'static str, &'static str, Node)> {
        match &mut self.inside {
            Inside::Object(members) => members,
            _ => panic!("only objects are edited as such"),
        }
    }

    fn elements(&mut self) -> &mut Vec<Node> {
        match &mut self.inside {
            Inside::List(elements) => elements,
            _ => panic!("only lists are edited as such"),
        }
    }

    /// The member that counts for `name`, `null` too.
    fn last(&mut self, name: &str) -> Option<&mut Node> {
        self.members().iter_mut().rev().find(|(_, own, _)| *own == name).map(|(_, _, node)| node)
    }

    fn put(&mut self, name: &'static str, node: Node) {
        if let Some(own) = self.last(name) {
            *own = node;
        } else {
            let (spelling, _) = KEYS.iter().find(|(_, own)| *own == name).unwrap();
            self.members().push((spelling, name, node));
        }
        self.text = None;
    }

    fn retain_members(&mut self, holds: impl Fn(&str, &Self) -> bool) -> bool {
        let before = self.members().len();
        self.members().retain(|(_, name, node)| holds(name, node));
        self.members().len() < before
    }
}

fn pick<'c, T>(input: &mut Unstructured<'_>, choices: &'c [T]) -> &'c T {
    input.choose(choices).unwrap_or(&choices[0])
}

fn space(input: &mut Unstructured<'_>) -> &'static str {
    pick::<&str>(input, &SPACES)
}

fn node(input: &mut Unstructured<'_>, levels: usize) -> Node {
    match input.int_in_range(0..=3) {
        Ok(1) if levels > 0 => object(input, levels - 1),
        Ok(2) if levels > 0 => list(input, levels - 1),
        _ => Node::leaf(pick::<&str>(input, &LEAVES)),
    }
}

fn object(input: &mut Unstructured<'_>, levels: usize) -> Node {
    let mut members = Vec::new();
    let mut text = format!("{{{}", space(input));
    for at in 0..input.int_in_range(0..=4).unwrap_or(0) {
        let (spelling, name) = *pick(input, &KEYS);
        let node = node(input, levels);
        let comma = if at > 0 { "," } else { "" };
        let spaces = [space(input), space(input), space(input)];
        let member = [comma, spaces[0], spelling, spaces[1], ":", spaces[2], &node.written(), spaces[0]];
        text.push_str(&member.concat());
        members.push((spelling, name, node));
    }
    text.push('}');
    Node { text: Some(text), inside: Inside::Object(members) }
}

fn list(input: &mut Unstructured<'_>, levels: usize) -> Node {
    let mut elements = Vec::new();
    let mut text = format!("[{}", space(input));
    for at in 0..input.int_in_range(0..=4).unwrap_or(0) {
        let node = node(input, levels);
        let comma = if at > 0 { "," } else { "" };
        text.push_str(&[comma, space(input), &node.written(), space(input)].concat());
        elements.push(node);
    }
    text.push(']');
    Node { text: Some(text), inside: Inside::List(elements) }
}

/// One edit, of a member or somewhere below one.
fn edit_object(input: &mut Unstructured<'_>, expected: &mut Node, object: &mut Object) {
    let (_, name) = *pick(input, &KEYS);
    let is_changed = match input.int_in_range(0..=9).unwrap_or(0) {
        // An input that is used up says this again and again.
        0 => false,
        1 | 2 => edit_object_under(input, expected, object, name),
        3 | 8 => edit_list_under(input, expected, object, name),
        4 => set(input, expected, object, name),
        5 => set_string(input, expected, object, name),
        6 => {
            let is_removed = expected.retain_members(|own, _| own != name);
            assert_eq!(object.remove(name), is_removed);
            is_removed
        }
        7 => {
            object.retain(|own, value| own > name || value.is_null());
            expected.retain_members(|own, node| own > name || node.is_null())
        }
        _ if expected.last(name).is_none() => {
            expected.put(name, Node::leaf("true"));
            object.push(name, true);
            true
        }
        _ => false,
    };
    if is_changed {
        expected.text = None;
    }
}

fn set(input: &mut Unstructured<'_>, expected: &mut Node, object: &mut Object, name: &'static str) -> bool {
    let new = self::node(input, 1);
    object.set(name, new.read(input));
    let is_there = expected.last(name).is_some_and(|own| !own.is_null() && own.written() == new.written());
    if !is_there {
        expected.put(name, new);
    }
    !is_there
}

fn set_string(input: &mut Unstructured<'_>, expected: &mut Node, object: &mut Object, name: &'static str) -> bool {
    // Either how it is spelled, or how it may be.
    let (text, spelling, other) =
        *pick(input, &[("a", r#""a""#, r#""\u0061""#), ("b", r#""b""#, ""), ("\"", r#""\"""#, "")]);
    object.set_string(name, text);
    let own = expected.last(name).map(|own| own.written());
    let is_there = own.is_some_and(|own| own == spelling || own == other);
    if !is_there {
        expected.put(name, Node::leaf(spelling));
    }
    !is_there
}

fn edit_object_under(
    input: &mut Unstructured<'_>,
    expected: &mut Node,
    object: &mut Object,
    name: &'static str,
) -> bool {
    let is_made = expected.last(name).is_none_or(|own| own.is_null());
    if is_made {
        expected.put(name, Node { text: None, inside: Inside::Object(Vec::new()) });
    }
    let inner = expected.last(name).unwrap();
    if !matches!(inner.inside, Inside::Object(_)) {
        assert!(object.object_mut(name).is_err());
        return false;
    }
    edit_or_replace(input, inner, object.object_mut(name).unwrap()) || is_made
}

fn edit_list_under(input: &mut Unstructured<'_>, expected: &mut Node, object: &mut Object, name: &'static str) -> bool {
    let is_made = expected.last(name).is_none_or(|own| own.is_null());
    if is_made {
        expected.put(name, Node { text: None, inside: Inside::List(Vec::new()) });
    }
    let inner = expected.last(name).unwrap();
    if !matches!(inner.inside, Inside::List(_)) {
        assert!(object.list_mut(name).is_err());
        return false;
    }
    edit_list(input, inner, object.list_mut(name).unwrap()) || is_made
}

/// Edits an object, or puts another into its place, which is a change although it is written as it came itself.
fn edit_or_replace(input: &mut Unstructured<'_>, expected: &mut Node, object: &mut Object) -> bool {
    if input.int_in_range(0..=5) == Ok(1) {
        *expected = self::object(input, 1);
        *object = Object::parse(expected.written(), pick(input, &OUTLINES)).unwrap();
        return true;
    }
    edit_object(input, expected, object);
    expected.text.is_none()
}

fn edit_list(input: &mut Unstructured<'_>, expected: &mut Node, list: &mut List) -> bool {
    let position = input.int_in_range(0..=4).unwrap_or(0);
    let count = expected.elements().len();
    let new = node(input, 1);
    let is_changed = match input.int_in_range(0..=5).unwrap_or(0) {
        0 | 1 if position < count => edit_element(input, &mut expected.elements()[position], list, position),
        2 => {
            list.insert(position, new.read(input));
            expected.elements().insert(position.min(count), new);
            true
        }
        3 => {
            assert_eq!(list.set(position, new.read(input)), position < count);
            let own = expected.elements().get_mut(position).filter(|own| own.written() != new.written());
            own.map(|own| *own = new).is_some()
        }
        4 => {
            list.retain(|element| !element.is_null());
            expected.elements().retain(|element| !element.is_null());
            expected.elements().len() < count
        }
        _ => {
            list.push(new.read(input));
            expected.elements().push(new);
            true
        }
    };
    if is_changed {
        expected.text = None;
    }
    expected.text.is_none()
}

fn edit_element(input: &mut Unstructured<'_>, expected: &mut Node, list: &mut List, position: usize) -> bool {
    if !matches!(expected.inside, Inside::Object(_)) {
        assert!(list.object_mut(position).is_err());
        return false;
    }
    edit_or_replace(input, expected, list.object_mut(position).unwrap())
}

/// `value` is read and written as `expected` says.
fn says(value: &Value, expected: &Node) {
    let written = expected.written();
    assert_eq!(value.text(), written);
    assert_eq!(value.text_len(), written.len());
    assert_eq!(value.is_null(), expected.is_null());
    match &expected.inside {
        Inside::Leaf => assert_eq!(value.string().is_ok(), written.starts_with('"')),
        Inside::Object(members) => {
            let object = value.object().unwrap();
            assert!(object.members().map(|(name, _)| name).eq(members.iter().map(|(_, name, _)| *name)));
            object.members().zip(members).for_each(|((_, value), (_, _, expected))| says(value, expected));
            for (_, name) in KEYS {
                let last = members.iter().rev().find(|(_, own, _)| *own == name).map(|(_, _, node)| node);
                let last = last.filter(|node| !node.is_null()).map(Node::written);
                assert_eq!(object.get(name).map(Value::to_string), last);
            }
        }
        Inside::List(elements) => {
            let list = value.list().unwrap();
            assert_eq!(list.len(), elements.len());
            list.iter().zip(elements).for_each(|(value, expected)| says(value, expected));
            for name in ["a", "name"] {
                for (found, element) in list.by(name) {
                    let expected = element.object().ok().and_then(|object| object.get(name)?.string().ok());
                    assert_eq!(found, expected, "{element}");
                }
            }
        }
    }
}
