//! Paths to a field of a Node, as `status.addresses[type=InternalIP].address` or `status.capacity['nvidia.com/gpu']`. Reads
//! the values at their ends.

use serde_json::value::RawValue;

use crate::json::read::{for_each, read};
use crate::json::text::for_each_pair;
use crate::message::{joined, quote};

/// A path to a field. It has at least one step, and the first is a plain name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath {
    text: String,
    steps: Vec<Step>,
}

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Into the member of this name.
    Member(String),
    /// To the first element of a list whose member `key` is `value`.
    Element {
        /// The member.
        key: String,
        /// Its value, as text.
        value: String,
    },
}

const GRAMMAR: &str =
    "a path such as spec.providerID, status.addresses[type=InternalIP].address or status.capacity['nvidia.com/gpu']";

impl FieldPath {
    /// Reads `text` as a path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match steps(text) {
            Some(steps) => Ok(Self { text: text.to_owned(), steps }),
            None => Err(format!("{} is not a field path, expected {GRAMMAR}", quote(text))),
        }
    }

    /// Returns the path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the path names an object or a list of every Node: a value that is never copied.
    pub fn names_object_or_list(&self) -> bool {
        let members = self.steps.iter().filter_map(|step| match step {
            Step::Member(name) => Some(name),
            Step::Element { .. } => None,
        });
        let members = joined(members, ".");
        let is_element = matches!(self.steps.last(), Some(Step::Element { .. }));
        is_element || OBJECTS_AND_LISTS.split(' ').any(|path| path == members)
    }

    /// Returns the host's field masks for this path.
    ///
    /// A mask can't contain a name with dots. Then the whole parent is read.
    pub fn masks(&self) -> Vec<String> {
        let (mut masks, mut mask) = (Vec::new(), String::new());
        for step in &self.steps {
            match step {
                Step::Member(name) if name.contains('.') => break,
                Step::Member(name) if mask.is_empty() => mask.push_str(name),
                Step::Member(name) => mask = format!("{mask}.{name}"),
                Step::Element { key, .. } => masks.push(format!("{mask}.{key}")),
            }
        }
        masks.push(mask);
        masks
    }
}

/// The objects and lists in the API of Nodes (`ObjectMeta`, `NodeSpec`, `NodeStatus`), with spaces between them.
const OBJECTS_AND_LISTS: &str = "\
    metadata metadata.annotations metadata.finalizers metadata.labels metadata.managedFields \
    metadata.ownerReferences spec spec.configSource spec.configSource.configMap spec.podCIDRs spec.taints status \
    status.addresses status.allocatable status.capacity status.conditions status.config status.config.active \
    status.config.active.configMap status.config.assigned status.config.assigned.configMap \
    status.config.lastKnownGood status.config.lastKnownGood.configMap status.daemonEndpoints \
    status.daemonEndpoints.kubeletEndpoint status.declaredFeatures status.features status.images \
    status.images.names status.nodeInfo status.nodeInfo.swap status.runtimeHandlers \
    status.runtimeHandlers.features status.volumesAttached status.volumesInUse";

/// Returns the steps of the path `text`, or `None` if it is no path.
fn steps(text: &str) -> Option<Vec<Step>> {
    let (first, mut rest) = member(text)?;
    let mut steps = vec![first];
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('.') {
            Some(next) => member(next)?,
            None => bracketed(rest.strip_prefix('[')?)?,
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

/// Returns the plain name at the beginning of `text`, and the rest.
fn member(text: &str) -> Option<(Step, &str)> {
    let (name, rest) = text.split_at_checked(text.find(['.', '[', ']']).unwrap_or(text.len()))?;
    if is_plain(name) { Some((Step::Member(name.to_owned()), rest)) } else { None }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['\'', '"', '='])
}

/// Returns the step at the beginning of `text`, which follows an opening bracket, and the rest after the closing one.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let (name, rest) = quoted.split_once('\'')?;
        let rest = rest.strip_prefix(']')?;
        return if name.is_empty() { None } else { Some((Step::Member(name.to_owned()), rest)) };
    }
    let (selector, rest) = text.split_once(']')?;
    let (key, value) = selector.split_once('=')?;
    if !is_plain(key) || key.contains('.') {
        return None;
    }
    Some((Step::Element { key: key.to_owned(), value: value.to_owned() }, rest))
}

/// A field that is searched: its position among all, and the rest of its path.
type Wanted<'p> = (usize, &'p [Step]);

/// Reads the strings, numbers and booleans at the ends of `paths` from the JSON `text` of a Node, in their order. The
/// text is read once for all paths, and nothing else of it is kept: a Node may have 50,000 addresses.
pub fn read_fields(paths: &[Option<&FieldPath>], text: &str) -> Vec<Option<String>> {
    let mut found = vec![None; paths.len()];
    let paths = paths.iter().enumerate();
    let wanted: Vec<Wanted<'_>> =
        paths.filter_map(|(position, path)| Some((position, &*path.as_ref()?.steps))).collect();
    find(text, &wanted, &mut found);
    found
}

/// Searches the fields that are `wanted` in `text`. A text that is no JSON has no fields.
fn find(text: &str, wanted: &[Wanted<'_>], found: &mut [Option<String>]) {
    if wanted.is_empty() {
        return;
    }
    for (position, steps) in wanted {
        if steps.is_empty()
            && let Some(value) = found.get_mut(*position)
        {
            *value = scalar(text);
        }
    }
    if text.starts_with('{') {
        let mut look_into = |name: &str, value: &RawValue| {
            let within = |step: &Step| matches!(step, Step::Member(member) if member == name);
            let inner: Vec<Wanted<'_>> = wanted.iter().filter_map(|wanted| enter(wanted, within)).collect();
            find(value.get(), &inner, found);
        };
        let _ = for_each_pair(text, &mut |name, value| look_into(&name, value));
    }
    if text.starts_with('[') {
        let mut wanted = wanted.to_vec();
        let _ = for_each(text, &mut |element: &RawValue| {
            let inner = take_matching(&mut wanted, element);
            find(element.get(), &inner, found);
        });
    }
}

/// Removes those fields from `wanted` whose path leads into this element, and returns them. If a path leads into several
/// elements, the first one counts.
fn take_matching<'p>(wanted: &mut Vec<Wanted<'p>>, element: &RawValue) -> Vec<Wanted<'p>> {
    let mut inner = Vec::new();
    let _ = for_each_pair(element.get(), &mut |name, value: &RawValue| {
        let Some(found) = scalar(value.get()) else { return };
        let matches = |step: &Step| matches!(step, Step::Element { key, value } if *value == found && **key == *name);
        wanted.retain(|wanted| {
            let entered = enter(wanted, matches);
            inner.extend(entered);
            entered.is_none()
        });
    });
    inner
}

/// Returns the rest of a path after its first step, if that `leads` on.
fn enter<'p>((position, steps): &Wanted<'p>, leads: impl Fn(&Step) -> bool) -> Option<Wanted<'p>> {
    let (first, rest) = steps.split_first()?;
    leads(first).then_some((*position, rest))
}

/// Returns the value as text, unless it is an object, a list or null.
fn scalar(text: &str) -> Option<String> {
    match text.bytes().next()? {
        b'{' | b'[' | b'n' => None,
        b'"' => read(text).ok(),
        _ => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::names("spec.providerID", &["spec.providerID"])]
    #[case::an_element("status.addresses[type=InternalIP].address", &["status.addresses.type", "status.addresses.address"])]
    #[case::a_name_with_a_dot("status.capacity['nvidia.com/gpu']", &["status.capacity"])]
    #[case::a_name_in_quotes("status.nodeInfo['osImage']", &["status.nodeInfo.osImage"])]
    fn paths_become_masks(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(FieldPath::parse(text).unwrap().masks(), expected);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in [
            "", ".", ".spec", "spec.", "spec..a", "a[", "a[b", "a[b]", "a[=b]", "a[0]", "a['b", "a['']", "['a.b']",
            "a]", "a[b=c]d", "a'b",
        ] {
            let error = FieldPath::parse(text).unwrap_err();
            assert!(error.contains("is not a field path"), "{text}: {error}");
        }
    }

    #[rstest::rstest]
    #[case::an_object("status.nodeInfo", true)]
    #[case::an_object_in_quotes("status['nodeInfo']", true)]
    #[case::a_list("spec.podCIDRs", true)]
    #[case::an_element("status.addresses[type=InternalIP]", true)]
    #[case::a_list_of_an_element("status.images[sizeBytes=5].names", true)]
    #[case::an_object_of_an_object("status.daemonEndpoints.kubeletEndpoint", true)]
    #[case::a_text_of_it("spec.podCIDR", false)]
    #[case::a_number_of_it("status.daemonEndpoints.kubeletEndpoint.Port", false)]
    #[case::a_text_of_an_element("status.addresses[type=InternalIP].address", false)]
    #[case::a_label("metadata.labels['kubernetes.io/hostname']", false)]
    #[case::what_the_api_does_not_have("spec.example", false)]
    fn which_paths_name_objects_or_lists(#[case] path: &str, #[case] expected: bool) {
        assert_eq!(field_path(path).names_object_or_list(), expected);
    }

    const NODE: &str = r#"{
        "spec": {"providerID": "aws:///a\n", "unschedulable": true, "taints": [{"key": "a"}], "podCIDR": null},
        "status": {
            "capacity": {"cpu": "8", "nvidia.com/gpu": 4},
            "addresses": [
                {"type": "Hostname", "address": "a.example.com"}, [], "text", null, {},
                {"type": "InternalIP"},
                {"type": "InternalIP", "address": "10.0.0.7"},
                {"address": "10.0.0.8", "type": "ExternalIP", "port": 80}
            ]
        }
    }"#;

    #[rstest::rstest]
    #[case::a_text("spec.providerID", Some("aws:///a\n"))]
    #[case::a_boolean("spec.unschedulable", Some("true"))]
    #[case::a_number("status.capacity['nvidia.com/gpu']", Some("4"))]
    #[case::an_element("status.addresses[type=Hostname].address", Some("a.example.com"))]
    #[case::an_element_by_a_member_behind("status.addresses[type=ExternalIP].address", Some("10.0.0.8"))]
    #[case::an_element_by_a_number("status.addresses[port=80].type", Some("ExternalIP"))]
    #[case::the_first_of_two_elements("status.addresses[type=InternalIP].address", None)]
    #[case::an_element_that_is_not_there("status.addresses[type=InternalDNS].address", None)]
    #[case::an_element_of_an_object("status.capacity[cpu=8].cpu", None)]
    #[case::a_member_of_a_list("status.addresses.type", None)]
    #[case::a_member_of_a_text("spec.providerID.x", None)]
    #[case::a_list("spec.taints", None)]
    #[case::an_object("status.capacity", None)]
    #[case::null("spec.podCIDR", None)]
    #[case::nothing("spec.externalID", None)]
    fn what_stands_at_a_path(#[case] path: &str, #[case] expected: Option<&str>) {
        let path = field_path(path);
        // Others before and behind it, of which some go the same way.
        let others = ["status.addresses[type=Hostname].type", "spec.providerID"].map(field_path);
        let found = read_fields(&[Some(&others[0]), Some(&path), None, Some(&path), Some(&others[1])], NODE);
        let expected = expected.map(str::to_owned);
        assert_eq!(found, [Some("Hostname".into()), expected.clone(), None, expected, Some("aws:///a\n".into())]);
    }

    #[rstest::rstest]
    #[case::a_list("[]")]
    #[case::no_json(r#"{"spec": }"#)]
    #[case::nothing("")]
    fn what_is_no_node_has_no_fields(#[case] text: &str) {
        assert_eq!(read_fields(&[Some(&field_path("spec.providerID"))], text), [None]);
    }

    fn field_path(text: &str) -> FieldPath {
        FieldPath::parse(text).unwrap()
    }
}
