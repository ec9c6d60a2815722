//! Values with references to labels of the Namespace, such as `team-$(tenant)`, in CEL.

use std::{borrow::Cow, collections::BTreeSet, convert::Infallible};

use node_placement_policy::settings::reference;

use super::{escaped, is_integer, text};

const LONGEST_LABEL_VALUE: usize = 63;

/// Returns a text with its references filled in: `team-$(tenant)` is `'team-' + variables.labels[?'tenant'].orValue('')`.
pub fn filled_in(template: &str) -> String {
    if !reference::is_in(template) {
        return text(template);
    }
    let splice = |key: &str| Ok::<_, Infallible>(Cow::Owned(format!("' + {} + '", namespace_label(key))));
    let template = escaped(template);
    let Ok(spliced) = reference::fill_in(&template, splice);
    // Nothing stands before the first reference, after the last, or between two.
    let spliced = format!("'{spliced}'").replace(" + ''", "");
    spliced.strip_prefix("'' + ").map_or(spliced.clone(), str::to_owned)
}

/// Returns the value of a label of the Namespace; empty, if it lacks the label.
fn namespace_label(key: &str) -> String {
    match key {
        reference::NAME => "request.namespace".to_owned(),
        key => format!("variables.labels[?{}].orValue('')", text(key)),
    }
}

/// A value in the settings, and what it must be with its references filled in.
#[derive(Clone, Copy, Debug)]
pub struct Template<'t> {
    /// As it is in the settings.
    pub text: &'t str,
    /// Whether it is compared as a number.
    pub is_number: bool,
}

/// Returns the conditions under which the references of these values can be filled in: the Namespace has the labels, and
/// the results are valid. Values without references have none.
pub fn can_be_filled_in<'t>(templates: impl IntoIterator<Item = Template<'t>>) -> Option<String> {
    let (mut labels, mut fitting) = (BTreeSet::new(), vec![]);
    for Template { text, is_number } in templates {
        if !reference::is_in(text) {
            continue;
        }
        labels.extend(reference::keys(text).filter(|key| *key != reference::NAME));
        let value = filled_in(text);
        let is_spliced = value.contains(" + ");
        let value = if is_spliced { format!("({value})") } else { value };
        if is_number {
            fitting.push(is_integer(&value));
        } else if is_spliced {
            // The value of a label stays one, unless the text around it makes it too long.
            fitting.push(format!("{value}.size() <= {LONGEST_LABEL_VALUE}"));
        }
    }
    let mut conditions: Vec<String> = labels.into_iter().map(|key| format!("{} != ''", namespace_label(key))).collect();
    conditions.extend(fitting);
    (!conditions.is_empty()).then(|| conditions.join(" &&\n"))
}
