//! The configurations of the two plugins, read as the API server reads them.

use std::{collections::BTreeMap, path::Path};

use anyhow::{Context, Result, anyhow, bail, ensure};
use node_placement_policy::{
    selector::{Requirement, parse_pairs},
    toleration::Toleration,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    engine::policy::mistakes,
    input::{documents::read_document, json::typed},
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
    pub repeated: Vec<String>,
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

impl Plugins {
    /// Reads the file of one of the plugins, or an AdmissionConfiguration with the files that it names.
    ///
    /// # Errors
    /// It has something else, or what the plugins can't read.
    pub fn load(path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::from_document(&read_document(path)?, folder).with_context(|| path.display().to_string())
    }

    /// Reads a document of such a file; `folder` is where it is.
    ///
    /// # Errors
    /// It has something else, or what the plugins can't read.
    pub fn from_document(document: &Value, folder: &Path) -> Result<Self> {
        let mut plugins = Self::default();
        if document["kind"] == "AdmissionConfiguration" {
            plugins.read_admission_configuration(document, folder)?;
        } else if document.get(NODE_SELECTOR_CONFIG).is_some() {
            plugins.node_selector = Some(plugins.read_node_selector(document, "")?);
        } else if is_tolerations(document) {
            plugins.tolerations = Some(plugins.read_tolerations(document, "")?);
        } else {
            bail!("{EXPECTED}; found {}", found(document));
        }
        Ok(plugins)
    }

    /// Upstream: `ReadAdmissionConfiguration` and `GetAdmissionPluginConfigurationFor` of `apiserver/pkg/admission`. The
    /// first plugin of a name counts, and what is configured inline goes before a path.
    fn read_admission_configuration(&mut self, document: &Value, folder: &Path) -> Result<()> {
        let version = document["apiVersion"].as_str().unwrap_or_default();
        ensure!(
            ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"].contains(&version),
            "apiVersion: expected apiserver.config.k8s.io/v1; found {version:?}"
        );
        let configuration: AdmissionConfiguration = self.typed(document, "")?;
        let listed = configuration.plugins.unwrap_or_default();
        let position_of = |name: &str| listed.iter().position(|plugin| plugin.name == name);
        if let Some(position) = position_of(NODE_SELECTOR) {
            self.node_selector = Some(match listed[position].configuration(folder, position)? {
                Some((configuration, at)) => self.read_node_selector(&configuration, &at)?,
                None => PodNodeSelector::default(),
            });
        }
        if let Some(position) = position_of(TOLERATIONS) {
            self.tolerations = Some(match listed[position].configuration(folder, position)? {
                Some((configuration, at)) => self.read_tolerations(&configuration, &at)?,
                None => PodTolerationRestriction::default(),
            });
        }
        if self.node_selector.is_none() && self.tolerations.is_none() {
            let names: Vec<&str> = listed.iter().map(|plugin| plugin.name.as_str()).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            bail!("plugins: expected {NODE_SELECTOR} or {TOLERATIONS}; found {names}");
        }
        Ok(())
    }

    /// Reads what is below `podNodeSelectorPluginConfig`. `at` is where it stands.
    fn read_node_selector(&mut self, document: &Value, at: &str) -> Result<PodNodeSelector> {
        ensure!(
            document.get(NODE_SELECTOR_CONFIG).is_some(),
            "{at}{NODE_SELECTOR_CONFIG}: expected clusterDefaultNodeSelector and namespaces; it is missing"
        );
        let configuration: NodeSelectorFile = self.typed(document, at)?;
        let mut plugin = PodNodeSelector::default();
        for (name, text) in configuration.pod_node_selector_plugin_config.unwrap_or_default() {
            let pairs = PairList::read(&text.unwrap_or_default())
                .with_context(|| format!("{at}{NODE_SELECTOR_CONFIG}.{name}: {NODE_SELECTOR} can't read it"))?;
            match name.as_str() {
                CLUSTER_DEFAULT => plugin.cluster_default = pairs,
                _ => drop(plugin.whitelists.insert(name, pairs)),
            }
        }
        Ok(plugin)
    }

    /// Reads a Configuration of PodTolerationRestriction. `at` is where it stands.
    fn read_tolerations(&mut self, document: &Value, at: &str) -> Result<PodTolerationRestriction> {
        ensure!(is_tolerations(document), "{at}expected the Configuration of {TOLERATIONS}; found {}", found(document));
        let plugin: PodTolerationRestriction = self.typed(document, at)?;
        let refused: Vec<String> = [("default", &plugin.default), ("whitelist", &plugin.whitelist)]
            .into_iter()
            .flat_map(|(field, list)| refused_tolerations(list.as_deref().unwrap_or_default(), &format!("{at}{field}")))
            .collect();
        ensure!(refused.is_empty(), "{TOLERATIONS} can't read it: {}", refused.join("; "));
        Ok(plugin)
    }

    /// Reads a type of the API server's, and keeps the paths of the fields that it does not have.
    fn typed<T: DeserializeOwned>(&mut self, document: &Value, at: &str) -> Result<T> {
        let (read, unknown) = typed(document, at)?;
        self.unknown_fields.extend(unknown);
        Ok(read)
    }
}

/// What is refused in tolerations that the plugin validates when it starts (`ValidateTolerations`).
pub fn refused_tolerations(list: &[Toleration], at: &str) -> Vec<String> {
    const SETTING: &str = "placement.clusterDefaultTolerations";
    let lines = mistakes(&json!({ "placement": { "clusterDefaultTolerations": list } }));
    lines.into_iter().map(|line| line.replacen(SETTING, at, 1)).collect()
}

fn is_tolerations(document: &Value) -> bool {
    document["kind"] == "Configuration"
        && document["apiVersion"].as_str().is_some_and(|version| version.starts_with(TOLERATIONS_GROUP))
}

/// What a document is, for people.
fn found(document: &Value) -> String {
    match (&document["kind"], &document["apiVersion"]) {
        (Value::Null, _) => "something else".to_owned(),
        (kind, version) => format!("{kind} of {version}"),
    }
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

impl Plugin {
    /// What configures it, and where that stands; none, if the plugin is configured by nothing.
    fn configuration(&self, folder: &Path, position: usize) -> Result<Option<(Value, String)>> {
        if let Some(configuration) = &self.configuration {
            return Ok(Some((configuration.clone(), format!("plugins[{position}].configuration."))));
        }
        let Some(path) = self.path.as_deref().filter(|path| !path.is_empty()) else { return Ok(None) };
        let document = read_document(&folder.join(path)).with_context(|| format!("plugins[{position}].path"))?;
        Ok(Some((document, format!("{path}: "))))
    }
}

impl PairList {
    /// Reads a list of `key=value` as the plugin does.
    ///
    /// # Errors
    /// The plugin can't read it.
    ///
    /// Upstream: `labels.ConvertSelectorToLabelsMap`.
    pub fn read(text: &str) -> Result<Self> {
        let selector = parse_pairs(text).map_err(|error| anyhow!("{error}"))?;
        let keys: Vec<&str> =
            text.split(',').filter_map(|pair| pair.split_once('=')).map(|(key, _)| key.trim()).collect();
        let is_repeated = |key: &str| keys.iter().filter(|other| **other == key).count() > 1;
        let requirements = selector.requirements().to_vec();
        let repeated = requirements.iter().map(|requirement| requirement.key().to_owned());
        Ok(Self { repeated: repeated.filter(|key| is_repeated(key)).collect(), requirements })
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// As a selector's text, with a space after each comma.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.requirements.iter().map(ToString::to_string).collect();
        texts.join(", ")
    }

    /// Those pairs that `whitelist` does not have. One without pairs allows everything.
    pub fn outside(&self, whitelist: &Self) -> Self {
        let is_outside = |pair: &&Requirement| !whitelist.is_empty() && !whitelist.requirements.contains(pair);
        Self { requirements: self.requirements.iter().filter(is_outside).cloned().collect(), repeated: vec![] }
    }
}
