//! Reads the fields of an object of the settings, and remembers which were asked for: the rest is unknown.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use json::{List, Mismatch, Object, Value};

use super::Mistake;
use super::mistake::Mistakes;

/// Where in the settings an object stands. Written out only for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The settings as a whole.
    Settings,
    /// A block: `placement`.
    Block(&'static str),
    /// An element of a list in a block: `placement.namespaces[1]`.
    Element {
        /// The block.
        block: &'static str,
        /// The list.
        list: &'static str,
        /// The position, counted from zero.
        position: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings => Ok(()),
            Self::Block(block) => f.write_str(block),
            Self::Element { block, list, position } => write!(f, "{block}.{list}[{position}]"),
        }
    }
}

impl Place {
    /// The path of a field there.
    pub fn field(self, name: &str) -> String {
        match self {
            Self::Settings => name.to_owned(),
            Self::Block(_) | Self::Element { .. } => format!("{self}.{name}"),
        }
    }
}

/// The fields of one object of the settings.
#[derive(Debug)]
pub struct Fields<'s> {
    object: &'s Object,
    /// Where the object stands.
    pub place: Place,
    /// Which fields were asked for, where somebody will want to know.
    asked: Option<RefCell<Vec<&'static str>>>,
}

impl<'s> Fields<'s> {
    /// The settings as a whole.
    pub const fn whole(settings: &'s Object) -> Self {
        Self { object: settings, place: Place::Settings, asked: None }
    }

    /// The settings as a whole, of which unknown fields [are to be rejected](Self::reject_unknown).
    pub const fn whole_to_validate(settings: &'s Object) -> Self {
        Self { object: settings, place: Place::Settings, asked: Some(RefCell::new(Vec::new())) }
    }

    /// Those of `object`, which stands at `place` within these.
    fn at(&self, place: Place, object: &'s Object) -> Self {
        Self { object, place, asked: self.asked.as_ref().map(|_| RefCell::default()) }
    }

    /// Those of the block `name`, if it is there.
    pub fn block(&self, name: &'static str) -> Result<Option<Self>, Mistake> {
        match self.value(name).map(Value::object) {
            None => Ok(None),
            Some(Ok(object)) => Ok(Some(self.at(Place::Block(name), object))),
            Some(Err(mismatch)) => Err(Mistake::mismatch(&name, mismatch)),
        }
    }

    /// The value of `name`, if it is there.
    pub fn value(&self, name: &'static str) -> Option<&'s Value> {
        if let Some(asked) = &self.asked {
            asked.borrow_mut().push(name);
        }
        self.object.get(name)
    }

    /// Whether `name` is there.
    pub fn has(&self, name: &'static str) -> bool {
        self.value(name).is_some()
    }

    /// Whether `name` is there, be it `null`, which is absent elsewhere.
    pub fn is_written(&self, name: &'static str) -> bool {
        self.has(name) || self.keys().any(|key| key == name)
    }

    /// The string `name`, if it is there.
    pub fn string(&self, name: &'static str) -> Result<Option<Cow<'s, str>>, Mistake> {
        self.read(name, Value::string)
    }

    /// The same; where there is something else, `expected` is what was expected.
    pub fn string_such_as(&self, expected: &'static str, name: &'static str) -> Result<Option<Cow<'s, str>>, Mistake> {
        self.read(name, |value| value.string().map_err(|_| Mismatch::new(expected, value.kind().name())))
    }

    /// The string under `key`, which is no name of a setting.
    pub fn string_by_key(&self, key: &str) -> Result<Option<Cow<'s, str>>, Mistake> {
        match self.object.get(key).map(Value::string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(mismatch)) => Err(Mistake::mismatch(&self.place.field(key), mismatch)),
        }
    }

    /// The boolean `name`, if it is there.
    pub fn boolean(&self, name: &'static str) -> Result<Option<bool>, Mistake> {
        self.read(name, Value::boolean)
    }

    /// The list `name`, if it is there.
    pub fn list(&self, name: &'static str) -> Result<Option<&'s List>, Mistake> {
        self.read(name, Value::list)
    }

    /// What is wrong with `name`.
    #[cold]
    pub fn mistake(&self, name: &str, problem: &str) -> Mistake {
        Mistake::new(&self.place.field(name), problem)
    }

    /// The elements of the list `name`, which are objects; those that are none are mistakes.
    pub fn elements(&self, name: &'static str, mistakes: &mut Mistakes) -> Vec<Self> {
        let Some(Some(list)) = mistakes.unless(self.list(name)) else { return Vec::new() };
        let mut elements = Vec::new();
        for (position, element) in list.iter().enumerate() {
            elements.extend(mistakes.unless(self.element(name, position, element)));
        }
        elements
    }

    /// The fields of `element`, which stands at `position` of the list `name`.
    pub fn element(&self, name: &'static str, position: usize, element: &'s Value) -> Result<Self, Mistake> {
        let block = match self.place {
            Place::Block(block) => block,
            Place::Settings | Place::Element { .. } => "",
        };
        let place = Place::Element { block, list: name, position };
        match element.object() {
            Ok(object) => Ok(self.at(place, object)),
            Err(mismatch) => Err(Mistake::mismatch(&place, mismatch)),
        }
    }

    /// The keys of all fields.
    pub fn keys(&self) -> impl Iterator<Item = Cow<'s, str>> {
        self.object.members().map(|(key, _)| key)
    }

    /// Fields that nobody asked for are mistakes.
    pub fn reject_unknown(&self, mistakes: &mut Mistakes) {
        let Some(asked) = &self.asked else { return };
        let mut known: Vec<&str> = Vec::new();
        for name in asked.borrow().iter() {
            if !known.contains(name) {
                known.push(name);
            }
        }
        for key in self.keys() {
            if !known.contains(&key.as_ref()) {
                mistakes.add(Mistake::unknown_field(&self.place, &key, &known));
            }
        }
    }

    fn read<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&'s Value) -> Result<T, Mismatch>,
    ) -> Result<Option<T>, Mistake> {
        match self.value(name).map(read) {
            None => Ok(None),
            Some(Ok(value)) => Ok(Some(value)),
            Some(Err(mismatch)) => Err(Mistake::mismatch(&self.place.field(name), mismatch)),
        }
    }
}
