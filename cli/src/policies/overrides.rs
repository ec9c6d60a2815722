//! Fields of the policy that settings do not have: its name, module, PolicyServer and namespaces. An option of the command
//! line sets them, else the policy that has the settings, else a default.

use anyhow::{Result, anyhow, ensure};
use clap::Args;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use node_placement_policy::selector::{parse, syntax::is_subdomain};

use crate::{
    cluster::selectors::expression,
    lists::distinct,
    webhook::{policy_spec::PolicySpec, resource::NAMESPACE_NAME},
};

/// The default name of a policy.
pub const NAME: &str = "node-placement";

/// The namespace of Kubewarden, as its documentation has it.
pub const KUBEWARDEN: &str = "kubewarden";
/// The namespaces that a cluster needs to start again by itself.
pub const SYSTEM: [&str; 3] = ["kube-system", "kube-node-lease", KUBEWARDEN];

/// The names of policies that an API server accepts.
pub const NAME_OF_AN_OBJECT: &str =
    "lowercase letters, digits, '-' and '.', beginning and ending with a letter or digit, at most 253 of them";

/// The options that replace fields of the policy in the file.
#[derive(Debug, Default, Args)]
pub struct Overrides {
    /// The name of the policy [default: node-placement]
    #[arg(long)]
    pub name: Option<String>,
    /// Where the policy-server finds the module, such as registry://…
    #[arg(long, value_name = "URL")]
    pub module: Option<String>,
    /// The PolicyServer that runs it
    #[arg(long, value_name = "NAME")]
    pub policy_server: Option<String>,
    /// The namespaces that it covers, of those that the file selects: a selector of their labels [default: all but
    /// kube-system, kube-node-lease and kubewarden]
    #[arg(long, value_name = "SELECTOR")]
    pub namespaces: Option<String>,
}

impl Overrides {
    /// Refuses what Kubernetes would refuse, or no policy-server could find.
    ///
    /// # Errors
    /// An option has a name that Kubernetes would refuse, or a text that is empty or has several lines.
    pub fn validate(&self) -> Result<()> {
        if let Some(name) = &self.name {
            ensure!(is_subdomain(name), "--name: expected {NAME_OF_AN_OBJECT}; found {name:?}");
        }
        for (option, text) in [("--module", &self.module), ("--policy-server", &self.policy_server)] {
            if let Some(text) = text {
                let is_one_line = !text.trim().is_empty() && !text.contains(char::is_control);
                ensure!(is_one_line, "{option}: expected a text of one line; found {text:?}");
            }
        }
        Ok(())
    }

    /// Returns the name of the policy: this one, else its `own`, else the usual one.
    pub fn name_of_policy(&self, own: Option<String>) -> String {
        self.name.clone().or(own).unwrap_or_else(|| NAME.to_owned())
    }

    /// Returns the namespaces to cover: those of the policy, if it has a selector, and of them those that `--namespaces`
    /// selects; without both all but the system's.
    ///
    /// # Errors
    /// The selector of `--namespaces` can't be read, is empty, or compares numbers, which no namespaceSelector can.
    pub fn namespaces(&self, policy: &PolicySpec) -> Result<Vec<LabelSelectorRequirement>> {
        let LabelSelector { match_labels, match_expressions } = &policy.namespace_selector;
        // Kubewarden reads expressions only.
        let labels = match_labels.iter().flatten().map(|(key, value)| LabelSelectorRequirement {
            key: key.clone(),
            operator: "In".to_owned(),
            values: Some(vec![value.clone()]),
        });
        let own: Vec<_> = labels.chain(match_expressions.iter().flatten().cloned()).collect();
        match self.selected()? {
            Some(selected) => Ok(distinct(own.into_iter().chain(selected))),
            None if own.is_empty() => Ok(vec![exempting(&SYSTEM)]),
            None => Ok(own),
        }
    }

    /// Returns the requirements of `--namespaces`.
    ///
    /// # Errors
    /// They can't be read, or compare numbers; or there are none.
    pub fn selected(&self) -> Result<Option<Vec<LabelSelectorRequirement>>> {
        let Some(selector) = &self.namespaces else { return Ok(None) };
        let selector = parse(selector).map_err(|error| anyhow!("--namespaces: {error}"))?;
        ensure!(!selector.is_empty(), "--namespaces: expected a selector, such as tenant=blue");
        let mut selected = vec![];
        for own in selector.requirements() {
            let compares = || anyhow!("--namespaces: {own}: a namespaceSelector can't compare numbers");
            selected.push(expression(own).ok_or_else(compares)?);
        }
        Ok(Some(selected))
    }
}

/// Returns the name of an object that belongs to the policy called `name`, such as `node-placement-twin`.
///
/// # Errors
/// An API server would refuse it.
pub fn name_with(name: &str, suffix: &str) -> Result<String> {
    let name = format!("{name}-{suffix}");
    ensure!(
        is_subdomain(&name),
        "expected as name {NAME_OF_AN_OBJECT}; found {name:?}, with {} characters. Choose a shorter one with --name",
        name.len()
    );
    Ok(name)
}

/// Returns whether namespaces are covered as by default.
pub fn exempts_system(namespaces: &[LabelSelectorRequirement]) -> bool {
    namespaces == [exempting(&SYSTEM)]
}

/// Returns all namespaces but these.
pub fn exempting(names: &[&str]) -> LabelSelectorRequirement {
    let values = names.iter().map(|name| (*name).to_owned()).collect();
    LabelSelectorRequirement { key: NAMESPACE_NAME.to_owned(), operator: "NotIn".to_owned(), values: Some(values) }
}

/// Returns whether Kubewarden's own namespace is none of those that are selected.
pub fn excludes_kubewarden(expression: &LabelSelectorRequirement) -> bool {
    let LabelSelectorRequirement { key, operator, values } = expression;
    key == NAMESPACE_NAME && operator == "NotIn" && values.iter().flatten().any(|value| value == KUBEWARDEN)
}
