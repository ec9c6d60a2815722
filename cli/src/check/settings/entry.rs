//! Entries of `placement.namespaces`, as they are compared with each other.

use node_placement_policy::{
    selector::{Operator, Requirement, Selector, parse},
    settings::{NamespaceEntry, Placement, reference},
};

/// An entry with what it asks of a Namespace.
pub struct Entry<'p> {
    /// Its place in the list.
    pub position: usize,
    /// As it is written.
    pub written: &'p NamespaceEntry,
    /// What labels a Namespace must have; that of its name is among them, where an entry is for one name.
    pub selector: Selector,
}

/// The entries, in order.
pub fn entries(placement: &Placement) -> Vec<Entry<'_>> {
    placement.namespaces.iter().enumerate().map(|(position, written)| Entry::new(position, written)).collect()
}

impl<'p> Entry<'p> {
    fn new(position: usize, written: &'p NamespaceEntry) -> Self {
        let text = written.namespace_selector.as_deref().unwrap_or_default();
        let mut requirements = parse(text).map(|selector| selector.requirements().to_vec()).unwrap_or_default();
        if let Some(name) = written.name.as_deref().filter(|name| !name.ends_with('*')) {
            requirements
                .extend(Requirement::new(reference::NAME.to_owned(), Operator::Equals, vec![name.to_owned()]).ok());
        }
        Self { position, written, selector: Selector::new(requirements) }
    }

    /// Its path in the settings.
    pub fn path(&self) -> String {
        format!("placement.namespaces[{}]", self.position)
    }

    /// What a person calls it: `the entry for tenant=blue`.
    pub fn named(&self) -> String {
        let NamespaceEntry { name, namespace_selector, .. } = self.written;
        let name = name.as_ref().map(|name| format!("{name:?}"));
        let selector = namespace_selector.as_deref().and_then(|text| parse(text).ok()).map(|own| own.to_string());
        let parts: Vec<String> = name.into_iter().chain(selector).collect();
        format!("the entry for {}", parts.join(", "))
    }

    /// Whether its name fits every namespace that that of `other` fits.
    pub fn covers_names_of(&self, other: &Self) -> bool {
        let Some(name) = &self.written.name else { return true };
        match (name.strip_suffix('*'), &other.written.name) {
            (Some(""), _) => true,
            (_, None) => false,
            (Some(beginning), Some(other)) => other.starts_with(beginning),
            (None, Some(other)) => name == other,
        }
    }

    /// The fence, if it has one.
    pub fn fence(&self) -> Option<Selector> {
        read(self.written.required_node_selector.as_deref()?)
    }
}

/// A node selector of the settings, with something in the place of references.
pub fn read(text: &str) -> Option<Selector> {
    parse(&reference::with_stand_ins(text).ok()?).ok()
}
