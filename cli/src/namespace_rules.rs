//! What holds in a namespace, and who says so. The policy decides it for each request, and does not tell; this says it for
//! people.

use serde::Serialize;
use serde_json::Value;

use crate::{
    native::{Selector, parse_selector},
    preview::creation::text,
    settings::{PLACEMENT, entries, fill_in},
};

/// The in-tree plugin's.
const NODE_SELECTOR: &str = "scheduler.alpha.kubernetes.io/node-selector";
const DEFAULT_TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const TOLERATIONS_WHITELIST: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// What holds in a namespace.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceRules {
    /// The entries up to the one that holds, and why each holds or not.
    pub entries: Vec<EntryOutcome>,
    /// What nodes must have, in the order in which it is decided.
    pub demands: Vec<Demand>,
    /// What else is said about Pods of the namespace.
    pub rules: Vec<Demand>,
}

/// Whether an entry of `placement.namespaces` holds.
#[derive(Debug, Serialize)]
pub struct EntryOutcome {
    pub position: usize,
    /// `name "team-*"`
    pub about: String,
    pub holds: bool,
    /// Why it does not.
    pub because: Option<String>,
}

/// Something that is demanded.
#[derive(Debug, Serialize)]
pub struct Demand {
    /// What it is about: `nodeSelector`, `allowedNodeSelector`.
    pub kind: &'static str,
    /// As it is meant: with references filled in.
    pub text: String,
    /// Who says so.
    pub origin: String,
    /// What keeps it from being met: a reference that the Namespace has no label for.
    pub problem: Option<String>,
}

/// What placement says about a namespace, its Namespace's labels and annotations being known.
pub fn namespace_rules(settings: &Value, name: &str, namespace: &Value) -> NamespaceRules {
    let reader = Reader { settings, name, metadata: &namespace["metadata"] };
    let entries = reader.entries();
    let entry = entries.iter().find(|entry| entry.holds).map(|entry| entry.position);
    let demands = if settings[PLACEMENT].is_null() { reader.plugin() } else { reader.demands(entry) };
    NamespaceRules { demands, rules: reader.rules(entry), entries }
}

/// Whether an entry's name is about a namespace.
fn name_fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

struct Reader<'s> {
    settings: &'s Value,
    name: &'s str,
    metadata: &'s Value,
}

impl Reader<'_> {
    /// Of a Namespace that nobody has looked up, the name is known.
    fn label(&self, key: &str) -> Option<&str> {
        self.metadata["labels"][key].as_str().or((key == NAMESPACE_NAME).then_some(self.name))
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata["annotations"][key].as_str()
    }

    fn entries(&self) -> Vec<EntryOutcome> {
        let mut outcomes = vec![];
        for (position, entry) in entries(self.settings).iter().enumerate() {
            let because = self.mismatch(entry);
            let holds = because.is_none();
            outcomes.push(EntryOutcome { position, about: about(entry), holds, because });
            if holds {
                break;
            }
        }
        outcomes
    }

    fn mismatch(&self, entry: &Value) -> Option<String> {
        if let Some(pattern) = entry["name"].as_str().filter(|pattern| !name_fits(pattern, self.name)) {
            return Some(format!("{:?} is not {pattern:?}", self.name));
        }
        let selector = entry["namespaceSelector"].as_str()?;
        let requirements = match parse_selector(selector) {
            Ok(selector) => selector,
            Err(error) => return Some(error),
        };
        let unmet = requirements
            .requirements()
            .iter()
            .find(|requirement| !requirement.accepts(self.label(requirement.key())))?;
        Some(match self.label(unmet.key()) {
            Some(value) => format!("the Namespace has {}={value}, not {unmet}", unmet.key()),
            None => format!("the Namespace has no label {}", unmet.key()),
        })
    }

    fn demands(&self, entry: Option<usize>) -> Vec<Demand> {
        let placement = &self.settings[PLACEMENT];
        let of_entry = |field| entry.and_then(|position| self.of_entry(position, field, "nodeSelector"));
        let mut demands: Vec<Demand> = of_entry("requiredNodeSelector").into_iter().collect();
        let keys: Vec<&str> = match placement["namespaceAnnotations"].as_array() {
            Some(keys) => keys.iter().filter_map(Value::as_str).collect(),
            None => vec![NODE_SELECTOR],
        };
        let annotated: Vec<Demand> = keys.into_iter().filter_map(|key| self.annotated(key, "nodeSelector")).collect();
        if annotated.is_empty() {
            let cluster = || self.of_placement("clusterDefaultNodeSelector", "nodeSelector");
            demands.extend(of_entry("defaultNodeSelector").or_else(cluster));
        }
        demands.extend(annotated);
        demands
    }

    fn rules(&self, entry: Option<usize>) -> Vec<Demand> {
        let placement = &self.settings[PLACEMENT];
        let mut rules = vec![];
        let of_entry = |field, kind| entry.and_then(|position| self.of_entry(position, field, kind));
        rules.extend(of_entry("allowedNodeSelector", "allowedNodeSelector"));
        rules.extend(of_entry("preferredNodeSelector", "preferredNodeSelector"));
        let honors = placement["onTolerationAnnotations"] == "Honor";
        let annotated = |key, kind| self.annotated(key, kind).filter(|_| honors);
        rules.extend(
            annotated(DEFAULT_TOLERATIONS, "defaultTolerations")
                .or_else(|| of_entry("defaultTolerations", "defaultTolerations"))
                .or_else(|| self.of_placement("clusterDefaultTolerations", "defaultTolerations")),
        );
        rules.extend(of_entry("allowedTolerations", "allowedTolerations"));
        rules.extend(annotated(TOLERATIONS_WHITELIST, "allowedTolerations"));
        rules.extend(of_entry("forbiddenTolerations", "forbiddenTolerations"));
        rules.extend(of_entry("enforcement", "enforcement"));
        rules
    }

    /// The in-tree plugin's own configuration.
    fn plugin(&self) -> Vec<Demand> {
        let config = &self.settings["podNodeSelectorPluginConfig"];
        if config.is_null() {
            return vec![];
        }
        let default = || {
            let field = "clusterDefaultNodeSelector";
            Some(self.demand("nodeSelector", &config[field], format!("podNodeSelectorPluginConfig.{field}")))
        };
        let demand = self.annotated(NODE_SELECTOR, "nodeSelector");
        demand.or_else(|| default().filter(|demand| !demand.text.is_empty())).into_iter().collect()
    }

    fn annotated(&self, key: &str, kind: &'static str) -> Option<Demand> {
        let text = self.annotation(key)?.to_owned();
        Some(Demand { kind, text, origin: format!("annotation {key} of the Namespace"), problem: None })
    }

    fn of_placement(&self, field: &str, kind: &'static str) -> Option<Demand> {
        let value = &self.settings[PLACEMENT][field];
        (!value.is_null()).then(|| self.demand(kind, value, format!("placement.{field}")))
    }

    fn of_entry(&self, position: usize, field: &str, kind: &'static str) -> Option<Demand> {
        let entry = &entries(self.settings)[position];
        let origin = format!("placement.namespaces[{position}].{field} ({})", about(entry));
        (!entry[field].is_null()).then(|| self.demand(kind, &entry[field], origin))
    }

    fn demand(&self, kind: &'static str, value: &Value, origin: String) -> Demand {
        let written = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = |key: &str| self.label(key).map(str::to_owned);
        match fill_in(if written == "null" { "" } else { &written }, value) {
            Ok(text) => Demand { kind, text, origin, problem: None },
            Err(key) => {
                let problem = format!("the Namespace has no usable label {key}");
                Demand { kind, text: written, origin, problem: Some(problem) }
            }
        }
    }
}

impl Demand {
    /// As a selector, if it is one.
    pub fn selector(&self) -> Option<Selector> {
        if self.problem.is_some() { None } else { parse_selector(&self.text).ok() }
    }
}

/// `name "team-*", namespaceSelector "tenant"`
pub fn about(entry: &Value) -> String {
    let parts = ["name", "namespaceSelector"].into_iter().filter(|field| entry[*field].is_string());
    parts.map(|field| format!("{field} {:?}", text(&entry[field]))).collect::<Vec<_>>().join(", ")
}
