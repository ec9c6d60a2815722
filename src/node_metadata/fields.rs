//! Fields of a Node, at the ends of paths.

use serde_json::value::RawValue;

use crate::json::read::{for_each, read};
use crate::json::text::for_each_pair;
use crate::settings::field_path::{FieldPath, Step};

/// A field that is looked for: its position among all, and what is left of its path.
type Wanted<'p> = (usize, &'p [Step]);

/// The strings, numbers and booleans at the ends of `paths` in the JSON `text` of a Node, in their order. The text is
/// read once for all of them, and nothing of it is kept: a Node may have 50,000 addresses.
pub fn read_all(paths: &[&FieldPath], text: &str) -> Vec<Option<String>> {
    let mut found = vec![None; paths.len()];
    let wanted: Vec<Wanted<'_>> = paths.iter().map(|path| path.steps()).enumerate().collect();
    find(text, &wanted, &mut found);
    found
}

/// Looks in `text` for what is `wanted`. What is no JSON has no fields.
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
            let within = |step: &Step| matches!(step, Step::Member(own) if own == name);
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

/// Takes those out of `wanted` that are looked for in this element: of several it is the first.
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

/// What is left of a path behind its first step, if that `leads` there.
fn enter<'p>((position, steps): &Wanted<'p>, leads: impl Fn(&Step) -> bool) -> Option<Wanted<'p>> {
    let (first, rest) = steps.split_first()?;
    leads(first).then_some((*position, rest))
}

/// The value as text, unless it is an object, a list or null.
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
    use crate::settings::node_metadata::{NodeSource, Propagate};

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
        let found = read_all(&[&others[0], &path, &path, &others[1]], NODE);
        let expected = expected.map(str::to_owned);
        assert_eq!(found, [Some("Hostname".into()), expected.clone(), expected, Some("aws:///a\n".into())]);
    }

    #[rstest::rstest]
    #[case::a_list("[]")]
    #[case::no_json(r#"{"spec": }"#)]
    #[case::nothing("")]
    fn what_is_no_node_has_no_fields(#[case] text: &str) {
        assert_eq!(read_all(&[&field_path("spec.providerID")], text), [None]);
    }

    fn field_path(text: &str) -> FieldPath {
        let entry = Propagate { node_field: Some(text.to_owned()), ..Propagate::default() };
        let NodeSource::Field(path) = entry.source(0).unwrap() else { panic!("{text} is a field") };
        path
    }
}
