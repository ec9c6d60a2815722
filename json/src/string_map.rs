use crate::text::Text;

/// Strings by key, in the order of the keys: what an object holds whose members are all strings.
///
/// There is a handful of them, which mostly come in order: a sorted list is read, copied and dropped faster than a
/// tree, and is a tenth of its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringMap(Vec<(Text, Text)>);

impl StringMap {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| &**value)
    }

    /// Whether there is a value for `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Gives `key` this value.
    pub fn insert(&mut self, key: &str, value: &str) {
        match self.find(key) {
            Ok(at) => {
                if let Some((_, own)) = self.0.get_mut(at) {
                    *own = value.into();
                }
            }
            Err(at) => self.0.insert(at, (key.into(), value.into())),
        }
    }

    /// Keeps only what `holds` is true for, given key and value.
    pub fn retain(&mut self, mut holds: impl FnMut(&str, &str) -> bool) {
        self.0.retain(|(key, value)| holds(key, value));
    }

    /// How many keys there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Of pairs with the same key the last counts.
    pub(crate) fn from_pairs(mut pairs: Vec<(Text, Text)>) -> Self {
        if !pairs.is_sorted_by(|(before, _), (after, _)| **before < **after) {
            sort(&mut pairs);
        }
        Self(pairs)
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(key))
    }
}

/// Of pairs with the same key the last counts.
impl<'p> FromIterator<(&'p str, &'p str)> for StringMap {
    fn from_iter<I: IntoIterator<Item = (&'p str, &'p str)>>(pairs: I) -> Self {
        Self::from_pairs(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

#[cold]
#[inline(never)]
fn sort(pairs: &mut Vec<(Text, Text)>) {
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    pairs.dedup_by(|later, kept| {
        let is_same = later.0 == kept.0;
        if is_same {
            std::mem::swap(&mut later.1, &mut kept.1);
        }
        is_same
    });
}
