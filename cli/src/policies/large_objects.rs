//! Objects that are too large: for an API server, or for a plain `kubectl apply`.

use anyhow::{Result, ensure};

use crate::input::documents::yaml_documents;

/// The largest object that an API server stores, in bytes: the limit of a request to etcd.
const LARGEST_OBJECT: usize = 1536 << 10;

/// The most bytes that all annotations of an object may have, with their names.
const MOST_OF_ANNOTATIONS: usize = 256 << 10;

/// The annotation into which `kubectl apply` without `--server-side` writes the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Returns documents as one file.
///
/// # Errors
/// An API server would not store one of them.
pub fn one_file(documents: &[String]) -> Result<String> {
    let file = documents.join("---\n");
    for document in yaml_documents(&file)? {
        let size = document.to_string().len();
        ensure!(
            size <= LARGEST_OBJECT,
            "{}: expected at most {LARGEST_OBJECT} bytes, as much as an API server stores; found {size}. Use fewer or \
             shorter requirements",
            document["metadata"]["name"]
        );
    }
    Ok(file)
}

/// Returns the names of the objects in a file that `kubectl apply` applies only with `--server-side`.
///
/// # Errors
/// The file is no YAML.
pub fn only_server_side(file: &str) -> Result<Vec<String>> {
    let mut names = vec![];
    for document in yaml_documents(file)? {
        let text = document.to_string();
        // Each of these becomes a text such as `\u0026`.
        let escaped = 5 * text.matches(['<', '>', '&']).count();
        let added = "\"annotations\":{},\n".len();
        if LAST_APPLIED.len() + text.len() + escaped + added > MOST_OF_ANNOTATIONS {
            names.extend(document["metadata"]["name"].as_str().map(str::to_owned));
        }
    }
    Ok(names)
}
