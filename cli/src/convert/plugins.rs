//! The configurations of the two plugins, read as the API server reads them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context, Result, anyhow, bail, ensure};
use node_placement_policy::{
    selector::{Requirement, parse, parse_pairs},
    toleration::Toleration,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::input::{
    documents::read_document,
    json::{text, typed},
};

const NODE_SELECTOR: &str = "PodNodeSelector";
const TOLERATIONS: &str = "PodTolerationRestriction";

/// The key of PodNodeSelector's whole configuration, and in it that of the cluster's default.
const NODE_SELECTOR_CONFIG: &str = "podNodeSelectorPluginConfig";
const CLUSTER_DEFAULT: &str = "clusterDefaultNodeSelector";

const TOLERATIONS_GROUP: &str = "podtolerationrestriction.admission.k8s.io/";

const EXPECTED: &str = "expected an AdmissionConfiguration, podNodeSelectorPluginConfig, or the Configuration of \
                        podtolerationrestriction.admission.k8s.io/v1alpha1";

/// The plugins that an API server's files configure; at least one of the two.
#[derive(Debug, Default)]
pub struct Plugins {
    pub node_selector: Option<PodNodeSelector>,
    pub tolerations: Option<PodTolerationRestriction>,
    /// The paths of fields that nothing reads, as `plugins[0].configuration.whiteList`.
    pub unknown_fields: Vec<String>,
    /// What the plugins can't read.
    mistakes: Vec<String>,
}

/// What configures the plugin PodNodeSelector.
#[derive(Debug, Default)]
pub struct PodNodeSelector {
    /// What Pods of namespaces without the annotation get.
    pub cluster_default: PairList,
    /// What the Pods of a namespace may select, by its name; without pairs, everything.
    pub whitelists: BTreeMap<String, PairList>,
}

/// A list of `key=value`.
#[derive(Debug, Default)]
pub struct PairList {
    /// The pairs that hold: of a key that is there twice, the last.
    pub requirements: Vec<Requirement>,
    /// The keys that are there more than once.
    pub repeated: BTreeSet<String>,
}

/// What configures the plugin PodTolerationRestriction.
///
/// Upstream: `Configuration` of `plugin/pkg/admission/podtolerationrestriction/apis/podtolerationrestriction/v1alpha1`.
#[derive(Debug, Default, Deserialize)]
pub struct PodTolerationRestriction {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    /// What Pods of namespaces without the annotation get.
    pub default: Option<Vec<Toleration>>,
    /// What Pods of namespaces without the annotation may tolerate. An empty list allows everything.
    pub whitelist: Option<Vec<Toleration>>,
}

#[derive(Deserialize)]
struct AdmissionConfiguration {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    plugins: Option<Vec<Plugin>>,
}

#[derive(Deserialize)]
struct Plugin {
    name: String,
    path: Option<String>,
    configuration: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeSelectorFile {
    pod_node_selector_plugin_config: Option<BTreeMap<String, Option<String>>>,
}

impl Plugins {
    /// Reads the file of one of the plugins, or an AdmissionConfiguration with the files that it names.
    ///
    /// # Errors
    /// It has no configuration of one of the two plugins, or one that the plugins can't read.
    pub fn load(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.display();
        let plugins = Self::read(&read_document(path)?, folder).with_context(|| name.to_string())?;
        let lines: Vec<String> = plugins.mistakes.iter().map(|mistake| format!("{name}: {mistake}")).collect();
        ensure!(lines.is_empty(), "{}", lines.join("\nerror: "));
        Ok(plugins)
    }

    fn read(document: &Value, folder: &Path) -> Result<Self> {
        let mut plugins = Self::default();
        if document["kind"] == "AdmissionConfiguration" {
            plugins.read_admission_configuration(document, folder)?;
        } else if document.get(NODE_SELECTOR_CONFIG).is_some() {
            plugins.read_node_selector(document, "")?;
        } else if is_tolerations(document) {
            plugins.read_tolerations(document, "")?;
        } else {
            bail!("{EXPECTED}; found {}", found(document));
        }
        Ok(plugins)
    }

    /// Upstream: `ReadAdmissionConfiguration` and `GetAdmissionPluginConfigurationFor` of `apiserver/pkg/admission`. The
    /// first plugin of a name counts, and what is configured inline goes before a path.
    fn read_admission_configuration(&mut self, document: &Value, folder: &Path) -> Result<()> {
        let version = text(&document["apiVersion"]);
        ensure!(
            ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"].contains(&version),
            "apiVersion: expected apiserver.config.k8s.io/v1; found {version:?}"
        );
        let configuration: AdmissionConfiguration = self.typed(document, "")?;
        let plugins = configuration.plugins.unwrap_or_default();
        for (position, plugin) in plugins.iter().enumerate() {
            match (plugin.name.as_str(), &self.node_selector, &self.tolerations) {
                (NODE_SELECTOR, None, _) => match plugin.configuration(position, folder)? {
                    Some((document, at)) => self.read_node_selector(&document, &at)?,
                    None => self.node_selector = Some(PodNodeSelector::default()),
                },
                (TOLERATIONS, _, None) => match plugin.configuration(position, folder)? {
                    Some((document, at)) => self.read_tolerations(&document, &at)?,
                    None => self.tolerations = Some(PodTolerationRestriction::default()),
                },
                _ => {}
            }
        }
        if self.node_selector.is_none() && self.tolerations.is_none() {
            let names: Vec<&str> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("plugins: expected {NODE_SELECTOR} or {TOLERATIONS}; found {names}");
        }
        Ok(())
    }

    /// Reads what is below `podNodeSelectorPluginConfig`. `at` is where it stands.
    fn read_node_selector(&mut self, document: &Value, at: &str) -> Result<()> {
        ensure!(
            document.get(NODE_SELECTOR_CONFIG).is_some(),
            "{at}{NODE_SELECTOR_CONFIG}: expected clusterDefaultNodeSelector and namespaces; it is missing"
        );
        let configuration: NodeSelectorFile = self.typed(document, at)?;
        let mut whitelists = BTreeMap::new();
        for (name, text) in configuration.pod_node_selector_plugin_config.unwrap_or_default() {
            let text = text.unwrap_or_default();
            match PairList::read(&text) {
                Ok(pairs) => drop(whitelists.insert(name, pairs)),
                Err(error) => {
                    let here = parse(&text).map(|_| "; placement can read it: write it into the settings by hand");
                    let here = here.unwrap_or_default();
                    let mistake =
                        format!("{at}{NODE_SELECTOR_CONFIG}.{name}: {NODE_SELECTOR} can't read it: {error}{here}");
                    self.mistakes.push(mistake);
                }
            }
        }
        let cluster_default = whitelists.remove(CLUSTER_DEFAULT).unwrap_or_default();
        self.node_selector = Some(PodNodeSelector { cluster_default, whitelists });
        Ok(())
    }

    /// Reads a Configuration of PodTolerationRestriction. `at` is where it stands.
    fn read_tolerations(&mut self, document: &Value, at: &str) -> Result<()> {
        ensure!(is_tolerations(document), "{at}expected the Configuration of {TOLERATIONS}; found {}", found(document));
        let plugin: PodTolerationRestriction = self.typed(document, at)?;
        for (field, list) in [("default", &plugin.default), ("whitelist", &plugin.whitelist)] {
            for (position, toleration) in list.iter().flatten().enumerate() {
                let own = toleration.check();
                let line = |mistake| format!("{TOLERATIONS} can't read it: {at}{field}[{position}].{mistake}");
                self.mistakes.extend(own.iter().map(line));
            }
        }
        self.tolerations = Some(plugin);
        Ok(())
    }

    /// Reads a type of the API server's, and keeps the paths of the fields that it does not have.
    fn typed<T: DeserializeOwned>(&mut self, document: &Value, at: &str) -> Result<T> {
        let (read, unknown) = typed(document, at)?;
        self.unknown_fields.extend(unknown);
        Ok(read)
    }
}

impl Plugin {
    /// Returns what configures it, and where that stands; none, if the plugin is configured by nothing.
    fn configuration(&self, position: usize, folder: &Path) -> Result<Option<(Value, String)>> {
        if let Some(configuration) = &self.configuration {
            return Ok(Some((configuration.clone(), format!("plugins[{position}].configuration."))));
        }
        let Some(path) = self.path.as_deref().filter(|path| !path.is_empty()) else { return Ok(None) };
        let document = read_document(&folder.join(path)).map_err(|error| {
            anyhow!("plugins[{position}].path: {error:#}; copy the file here, and write where it is into path")
        })?;
        Ok(Some((document, format!("{path}: "))))
    }
}

fn is_tolerations(document: &Value) -> bool {
    document["kind"] == "Configuration" && text(&document["apiVersion"]).starts_with(TOLERATIONS_GROUP)
}

/// Returns what a document is, for people.
fn found(document: &Value) -> String {
    match (&document["kind"], &document["apiVersion"]) {
        (Value::Null, _) => "something else".to_owned(),
        (kind, version) => format!("{kind} of {version}"),
    }
}

impl PairList {
    /// Reads a list of `key=value` as the plugin does.
    ///
    /// # Errors
    /// A pair is not `key=value`, or not of Kubernetes' syntax for labels.
    ///
    /// Upstream: `labels.ConvertSelectorToLabelsMap`.
    pub fn read(text: &str) -> Result<Self> {
        let selector = parse_pairs(text).map_err(|error| anyhow!("{error}"))?;
        let mut keys = BTreeSet::new();
        let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
        let repeated = pairs.map(|(key, _)| key.trim().to_owned()).filter(|key| !keys.insert(key.clone())).collect();
        Ok(Self { requirements: selector.requirements().to_vec(), repeated })
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns the text of a selector, with a space after each comma.
    pub fn text(&self) -> String {
        joined(&self.requirements)
    }

    /// Returns those pairs that `whitelist` does not have, as text.
    pub fn text_outside(&self, whitelist: &Self) -> String {
        joined(self.requirements.iter().filter(|pair| !whitelist.requirements.contains(pair)))
    }
}

fn joined<'r>(pairs: impl IntoIterator<Item = &'r Requirement>) -> String {
    pairs.into_iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
