//! The ClusterAdmissionPolicy around the settings: as it is written, and what its settings need of it; and the backstop
//! behind it.
//!
//! | modules | what they do |
//! |---|---|
//! | [`required_rules`] | what each feature needs of the policy: the table `required_rules.yml` |
//! | [`policy_file`], [`overrides`] | write the policy, or the policies, by `policy.yml.j2`, and with the options of a user |
//! | `settings_text` | the text of the settings, cut out of a file with its comments |
//! | [`backstop`] | a ValidatingAdmissionPolicy that holds what `requiredNodeSelector` demands |

pub mod backstop;
pub mod overrides;
pub mod policy_file;
pub mod required_rules;
mod settings_text;
