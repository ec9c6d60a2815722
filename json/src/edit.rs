//! Objects edited in place.

use crate::list::List;
use crate::member::{Key, Member};
use crate::mismatch::{Mismatch, Within};
use crate::object::Object;
use crate::string_map::StringMap;
use crate::value::Value;

impl Object {
    /// The object under `key`, to edit; made, where it is absent. Looking at one that is there changes nothing.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn object_mut(&mut self, key: &str) -> Result<&mut Object, Mismatch> {
        if self.get(key).is_none() {
            self.put(key, Object::new().into());
        }
        self.last_mut(key)?.object_mut().within(key)
    }

    /// The object at the end of `path`, to edit; made, where it or one on the way is absent.
    ///
    /// # Errors
    /// Something else stands there or on the way. What was made until there stays.
    pub fn object_mut_at(&mut self, path: &[&str]) -> Result<&mut Object, Mismatch> {
        let Some((first, rest)) = path.split_first() else { return Ok(self) };
        self.object_mut(first)?.object_mut_at(rest).within(first)
    }

    /// The list under `key`, to edit; made, where it is absent. Looking at one that is there changes nothing.
    ///
    /// # Errors
    /// Something else stands there.
    pub fn list_mut(&mut self, key: &str) -> Result<&mut List, Mismatch> {
        if self.get(key).is_none() {
            self.put(key, List::new().into());
        }
        self.last_mut(key)?.list_mut().within(key)
    }

    /// Puts `value` under `key`: where that stands already, or behind all others. A value that is there already, and
    /// written the same, stays.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        let value = value.into();
        if self.get(key) != Some(&value) {
            self.put(key, value);
        }
    }

    /// Puts the string `text` under `key`. One that reads the same stays, however it is spelled.
    pub fn set_string(&mut self, key: &str, text: &str) {
        let is_there = match self.get(key) {
            Some(value) => value.string().is_ok_and(|own| own == text),
            None => false,
        };
        if !is_there {
            self.put(key, text.into());
        }
    }

    /// Puts `value` under `key`, which must be absent: that is not looked for.
    pub fn push(&mut self, key: &str, value: impl Into<Value>) {
        self.came_as = None;
        self.members.push(Member { key: Key::new(key), value: value.into() });
    }

    /// Removes every member with this key. Returns whether there was one.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.members.len();
        self.members.retain(|member| !member.key.is(key));
        let is_removed = self.members.len() < before;
        if is_removed {
            self.came_as = None;
        }
        is_removed
    }

    /// Keeps only the members for which `holds` is true, of all [members](Self::members).
    pub fn retain(&mut self, mut holds: impl FnMut(&str, &Value) -> bool) {
        let before = self.members.len();
        self.members.retain(|member| holds(&member.key.name(), &member.value));
        if self.members.len() < before {
            self.came_as = None;
        }
    }

    /// Gives this object of strings the members of `strings` and no others. Those that read the same stay as they are,
    /// new ones come last.
    ///
    /// # Errors
    /// It has a member that is neither a string nor `null`.
    pub fn assign(&mut self, strings: &StringMap) -> Result<(), Mismatch> {
        let before = self.to_string_map()?;
        self.retain(|key, _| strings.contains_key(key));
        for (key, text) in strings.iter() {
            match before.get(key) {
                None => self.push(key, text),
                Some(own) if own != text => self.put(key, text.into()),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn put(&mut self, key: &str, value: Value) {
        match self.last_mut(key) {
            Ok(own) => *own = value,
            Err(_) => return self.push(key, value),
        }
        self.came_as = None;
    }

    /// The value that counts for `key`, `null` too.
    fn last_mut(&mut self, key: &str) -> Result<&mut Value, Mismatch> {
        match self.members.iter_mut().rev().find(|member| member.key.is(key)) {
            Some(member) => Ok(&mut member.value),
            None => Err(Mismatch::new("a value", "nothing")),
        }
    }
}
