use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{Namespace, Pod, PodSpec},
};

use crate::{
    Outcome, look_up,
    settings::{Pairs, Settings, pairs},
};

/// Adds the namespace's node selector to the Pod.
pub fn inject(pod: &mut Pod, namespace: &str, settings: &Settings) -> Outcome {
    let Some(selector) = namespace_selector(namespace, settings)? else { return Ok(false) };
    let spec = pod.spec.get_or_insert_default();
    no_conflict(spec, &selector)?;
    let own = spec.node_selector.get_or_insert_default();
    let before = own.len();
    own.extend(selector);
    Ok(own.len() > before)
}

/// Refuses a Deployment whose Pods would be refused.
pub fn check(deployment: &mut Deployment, namespace: &str, settings: &Settings) -> Outcome {
    let Some(selector) = namespace_selector(namespace, settings)? else { return Ok(false) };
    let spec = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    spec.map_or(Ok(()), |spec| no_conflict(spec, &selector)).map(|()| false)
}

/// Refuses a Namespace whose annotation is no selector.
pub fn check_annotation(namespace: &mut Namespace, settings: &Settings) -> Outcome {
    annotated(namespace, settings).map(|_| false)
}

fn no_conflict(spec: &PodSpec, selector: &Pairs) -> Result<(), String> {
    let own = spec.node_selector.as_ref();
    match selector.iter().find(|(key, value)| own.and_then(|own| own.get(*key)).is_some_and(|own| own != *value)) {
        Some((key, value)) => Err(format!("the node selector conflicts with its namespace's {key}={value}")),
        None => Ok(()),
    }
}

/// What is required of the namespace, with what its annotations say, or else a default; nothing without a placement block.
fn namespace_selector(namespace: &str, settings: &Settings) -> Result<Option<Pairs>, String> {
    let Some(placement) = &settings.placement else { return Ok(None) };
    let rule = placement.namespaces.iter().find(|rule| rule.covers(namespace));
    let required = rule.and_then(|rule| rule.required_node_selector.as_deref());
    let default = rule
        .and_then(|rule| rule.default_node_selector.as_deref())
        .or(placement.cluster_default_node_selector.as_deref());
    let mut selector = required.map_or(Ok(Pairs::new()), pairs)?;
    let object = look_up(namespace, "metadata.annotations")?;
    selector.extend(match annotated(&object, settings)? {
        Some(annotated) => annotated,
        None => default.map_or(Ok(Pairs::new()), pairs)?,
    });
    Ok(Some(selector))
}

fn annotated(namespace: &Namespace, settings: &Settings) -> Result<Option<Pairs>, String> {
    let annotations = namespace.metadata.annotations.as_ref();
    let names = settings.placement.iter().flat_map(|placement| &placement.namespace_annotations);
    let mut found: Option<Pairs> = None;
    for text in names.filter_map(|name| annotations?.get(name)) {
        found.get_or_insert_default().extend(pairs(text)?);
    }
    Ok(found)
}
