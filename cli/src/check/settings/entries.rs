//! Entries of `placement.namespaces`, as they are compared with each other: one that an earlier one takes its
//! namespaces from never holds, or hardly ever. One that has a name alone is a mistake, which the policy finds itself.

use node_placement_policy::{
    selector::{Operator, Requirement, Selector, parse},
    settings::{NamespaceEntry, Placement, reference},
};

use crate::{check::finding::Finding, input::settings::entry_name};

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
        entry_name(self.written)
    }

    /// Whether it is for namespaces of any name.
    pub fn is_for_any_name(&self) -> bool {
        self.written.name.as_deref().is_none_or(|name| name == "*")
    }

    /// Whether its name fits every namespace that that of `other` fits.
    fn covers_names_of(&self, other: &Self) -> bool {
        other.written.name.as_ref().map_or(self.is_for_any_name(), |pattern| self.written.name_fits(pattern))
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

/// One for each entry that an earlier one takes its namespaces from.
pub fn find_covered(placement: &Placement) -> Vec<Finding> {
    let entries = entries(placement);
    let find = |(place, later): (usize, &Entry<'_>)| {
        entries.iter().take(place).find_map(|earlier| {
            let text = takes(earlier, later)?;
            Some(Finding::new(later.path(), text))
        })
    };
    entries.iter().enumerate().filter_map(find).collect()
}

/// What an earlier entry takes from a later one.
fn takes(earlier: &Entry<'_>, later: &Entry<'_>) -> Option<String> {
    if !earlier.covers_names_of(later) {
        return None;
    }
    let is_all = later.selector.implies(&earlier.selector);
    let most = if is_all { None } else { Some(met_by_most(&earlier.selector, &later.selector)?) };
    let before = format!("{}, {}, comes before and takes all of its namespaces", earlier.named(), earlier.path());
    Some(match most {
        None => format!("{} never holds: {before}; move it up", later.named()),
        Some(most) => format!("{} hardly ever holds: {before} that meet {most}; move it up", later.named()),
    })
}

/// What `earlier` asks beyond `later`, if a Namespace meets that which does not have the labels at all, as most do not.
/// Of a narrow entry before a general one, this is meant.
fn met_by_most(earlier: &Selector, later: &Selector) -> Option<Selector> {
    if earlier.implies(later) {
        return None;
    }
    let is_implied = |requirement: &Requirement| later.implies(&Selector::new(vec![requirement.clone()]));
    let is_met_by_most =
        |requirement: &Requirement| requirement.accepts(None) && later.on(requirement.key()).is_empty();
    let beyond: Vec<Requirement> =
        earlier.requirements().iter().filter(|requirement| !is_implied(requirement)).cloned().collect();
    beyond.iter().all(is_met_by_most).then(|| Selector::new(beyond))
}
