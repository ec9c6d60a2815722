//! Finds every mistake in lists of tolerations.

use json::Value;

use super::fields::Fields;
use super::mistake::Mistakes;
use super::namespace_entry::FORBIDDEN_TOLERATIONS;
use super::{Mistake, Origin, TolerationList};
use crate::message::quote;
use crate::toleration::{FIELDS, Operator, PluginConfig, Toleration};

/// Checks the list under `name`: what the API server would refuse in a Pod, values of a wrong type, and unknown fields.
/// Returns those tolerations that can be read.
pub(super) fn check_list(fields: &Fields<'_>, name: &'static str, mistakes: &mut Mistakes) -> Option<TolerationList> {
    let list = mistakes.unless(fields.list(name))??;
    let mut tolerations = Vec::with_capacity(list.len());
    for (position, element) in list.iter().enumerate() {
        let path = format!("{}[{position}]", fields.place.field(name));
        match Toleration::read(element) {
            Ok(toleration) => {
                check_toleration(&path, &toleration, mistakes);
                if name == FORBIDDEN_TOLERATIONS && is_key_alone(&toleration) {
                    mistakes.add(Mistake::new(&path, KEY_ALONE));
                }
                tolerations.push(toleration);
            }
            Err(mismatch) => mistakes.add(Mistake::mismatch(&path, mismatch)),
        }
        check_unknown_fields(&path, element, mistakes);
    }
    Some(TolerationList { tolerations, origin: Origin::Setting(fields.place, name) })
}

const KEY_ALONE: &str = "a key alone forbids only the empty value; add operator: Exists to forbid every value, or \
                         operator: Equal if only that one is meant";

fn is_key_alone(toleration: &Toleration) -> bool {
    !toleration.key.is_empty() && toleration.operator == Operator::Omitted && toleration.value.is_empty()
}

/// A default that something forbidden overlaps would have every Pod rejected.
pub(super) fn check_defaults_against_forbidden(
    fields: &Fields<'_>,
    defaults: &TolerationList,
    forbidden: &TolerationList,
    mistakes: &mut Mistakes,
) {
    for default in &defaults.tolerations {
        if let Some(forbidding) = forbidden.tolerations.iter().find(|forbidding| forbidding.overlaps(default)) {
            let problem = format!(
                "forbids {}, which {} adds to Pods: {} overlaps it; change one of the two",
                quote(&default.to_string()),
                defaults.origin,
                quote(&forbidding.to_string())
            );
            mistakes.add(fields.mistake(FORBIDDEN_TOLERATIONS, &problem));
        }
    }
}

/// Checks the configuration of the in-tree plugin. As there, unknown fields are nobody's business.
pub(super) fn check_plugin_config(fields: &Fields<'_>, config: &PluginConfig, mistakes: &mut Mistakes) {
    check_tolerations(&fields.place.field("default"), &config.default, mistakes);
    check_tolerations(&fields.place.field("whitelist"), &config.whitelist, mistakes);
}

fn check_tolerations(path: &str, tolerations: &[Toleration], mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        check_toleration(&format!("{path}[{position}]"), toleration, mistakes);
    }
}

fn check_toleration(path: &str, toleration: &Toleration, mistakes: &mut Mistakes) {
    for invalid in toleration.check() {
        let problem = format!("expected {}, found {}", invalid.expected, invalid.found);
        mistakes.add(Mistake::new(&format_args!("{path}.{}", invalid.field), &problem));
    }
}

fn check_unknown_fields(path: &str, element: &Value, mistakes: &mut Mistakes) {
    let Ok(toleration) = element.object() else { return };
    for (key, _) in toleration.members() {
        if !FIELDS.contains(&key.as_ref()) {
            mistakes.add(Mistake::unknown_field(&path, &key, &FIELDS));
        }
    }
}
