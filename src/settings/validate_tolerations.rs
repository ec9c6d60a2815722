//! Finds every mistake in lists of tolerations.

use super::fields::Fields;
use super::mistake::Mistakes;
use super::{Mistake, TolerationList};
use crate::message::quote;
use crate::toleration::{FIELDS, PluginConfig, Toleration};

/// Checks the list under `name`, which is `read`: what the API server would refuse in a Pod, and unknown fields.
pub(super) fn check_list(
    fields: &Fields<'_>,
    name: &'static str,
    read: Result<Option<TolerationList>, Mistake>,
    mistakes: &mut Mistakes,
) -> Option<TolerationList> {
    let list = mistakes.unless(read)??;
    check_tolerations(&fields.place.field(name), &list.tolerations, mistakes);
    check_unknown_fields(fields, name, mistakes);
    Some(list)
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
            mistakes.add(fields.mistake(super::namespace_entry::FORBIDDEN_TOLERATIONS, &problem));
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
        for invalid in toleration.check() {
            let problem = format!("expected {}, found {}", invalid.expected, invalid.found);
            mistakes.add(Mistake::new(&format_args!("{path}[{position}].{}", invalid.field), &problem));
        }
    }
}

fn check_unknown_fields(fields: &Fields<'_>, name: &'static str, mistakes: &mut Mistakes) {
    let Ok(Some(list)) = fields.list(name) else { return };
    for (position, toleration) in list.objects().enumerate() {
        let Ok(toleration) = toleration else { continue };
        for (key, _) in toleration.members() {
            if !FIELDS.contains(&key.as_ref()) {
                let path = format!("{}[{position}]", fields.place.field(name));
                let problem = format!("unknown field {}, expected one of {}", quote(&key), FIELDS.join(", "));
                mistakes.add(Mistake::new(&path, &problem));
            }
        }
    }
}
