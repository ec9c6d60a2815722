//! The ClusterAdmissionPolicy around the settings: as it is written, and what its settings need of it. And the admission
//! policies that the API server evaluates itself.
//!
//! | modules | what they do |
//! |---|---|
//! | [`required_rules`] | what each feature needs of the policy: the table `required_rules.yml` |
//! | [`policy_file`], [`overrides`] | write the policy, or the policies, by `policy.yml.j2`, and with the options of a user |
//! | `settings_text` | the text of the settings, cut out of a file with its comments |
//! | [`backstop`] | a ValidatingAdmissionPolicy that refuses Pods without what `requiredNodeSelector` requires |
//! | [`twin`] | a MutatingAdmissionPolicy that adds it |
//! | `in_process`, `left_out` | what these two have in common, and what they leave to the policy |
//! | `cel` | writes their expressions |
//! | [`large_objects`] | objects that an API server does not store, or `kubectl apply` does not apply |

pub mod backstop;
mod cel;
mod in_process;
pub mod large_objects;
mod left_out;
pub mod overrides;
pub mod policy_file;
pub mod required_rules;
mod settings_text;
pub mod twin;
