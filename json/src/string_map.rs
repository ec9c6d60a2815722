use std::borrow::Cow;

/// Strings by key, in the order of the keys.
///
/// Objects have a handful of labels and annotations, which the API server sends in order: a sorted list is read, copied
/// and dropped faster than a tree, and is a tenth of its code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StringMap<'a>(Vec<Pair<'a>>);

type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

impl<'a> StringMap<'a> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        let at = self.find(key).ok()?;
        self.0.get(at).map(|(_, value)| value.as_ref())
    }

    /// Whether there is a value for `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.find(key).is_ok()
    }

    /// Gives `key` this value.
    pub fn insert(&mut self, key: Cow<'a, str>, value: Cow<'a, str>) {
        match self.find(&key) {
            Ok(at) => {
                if let Some((_, own)) = self.0.get_mut(at) {
                    *own = value;
                }
            }
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// Keeps only what `holds` is true for.
    pub fn retain(&mut self, holds: impl Fn(&str) -> bool) {
        self.0.retain(|(key, _)| holds(key));
    }

    /// Whether there is nothing.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value.as_ref()))
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| own.as_ref().cmp(key))
    }
}

/// Of pairs with the same key the last counts.
impl<'a> FromIterator<Pair<'a>> for StringMap<'a> {
    fn from_iter<I: IntoIterator<Item = Pair<'a>>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

/// Of pairs with the same key the last counts.
impl<'a> Extend<Pair<'a>> for StringMap<'a> {
    fn extend<I: IntoIterator<Item = Pair<'a>>>(&mut self, pairs: I) {
        for pair in pairs {
            self.0.push(pair);
        }
        if !self.0.is_sorted_by(|(before, _), (after, _)| before < after) {
            sort(&mut self.0);
        }
    }
}

#[cold]
#[inline(never)]
fn sort(pairs: &mut Vec<Pair<'_>>) {
    pairs.sort_by(|(one, _), (other, _)| one.cmp(other));
    pairs.dedup_by(|later, kept| {
        let is_same = later.0 == kept.0;
        if is_same {
            std::mem::swap(&mut later.1, &mut kept.1);
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> StringMap<'static> {
        pairs.iter().map(|(key, value)| (Cow::Borrowed(*key), Cow::Borrowed(*value))).collect()
    }

    fn pairs<'m>(map: &'m StringMap<'_>) -> Vec<(&'m str, &'m str)> {
        map.iter().collect()
    }

    #[test]
    fn keys_are_in_order_and_the_last_value_counts() {
        let map = map(&[("b", "1"), ("a", "2"), ("b", "3"), ("a", "4"), ("b", "5")]);
        assert_eq!(pairs(&map), [("a", "4"), ("b", "5")]);
        assert_eq!((map.get("a"), map.get("b"), map.get("c")), (Some("4"), Some("5"), None));
        assert!(map.contains_key("a") && !map.contains_key("") && !map.is_empty());
        assert_eq!(pairs(&self::map(&[("c", "1"), ("b", "2"), ("a", "3")])), [("a", "3"), ("b", "2"), ("c", "1")]);
        assert_eq!(pairs(&self::map(&[("a", "1"), ("a", "2"), ("b", "3")])), [("a", "2"), ("b", "3")]);
        assert_eq!(pairs(&self::map(&[("a", "1"), ("a", "2")])), [("a", "2")]);
    }

    #[test]
    fn values_are_put_and_taken() {
        let mut map = map(&[("b", "1"), ("d", "2")]);
        for (key, value) in [("a", "3"), ("c", "4"), ("e", "5"), ("b", "6")] {
            map.insert(key.into(), value.into());
        }
        assert_eq!(pairs(&map), [("a", "3"), ("b", "6"), ("c", "4"), ("d", "2"), ("e", "5")]);
        map.retain(|key| key > "b");
        assert_eq!(pairs(&map), [("c", "4"), ("d", "2"), ("e", "5")]);
        map.extend([("a".into(), "7".into()), ("d".into(), "8".into())]);
        assert_eq!(pairs(&map), [("a", "7"), ("c", "4"), ("d", "8"), ("e", "5")]);
        assert!(StringMap::new().is_empty());
    }
}
