//! What a container, or a Pod as a whole, has under `resources`: `requests` and `limits`.

use std::borrow::Cow;

use json::{Kind, Mismatch, Object, Value, Within};

const REQUESTS: &str = "requests";
const LIMITS: &str = "limits";

/// The resources that decide about a Pod's quality of service (`isSupportedQoSComputeResource`).
const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// The names of the resources of which a Pod's container requests more than zero. (The in-tree plugin counts zero too,
/// which would let anybody tolerate any taint whose key looks like a resource.)
///
/// # Errors
/// `requests` is no object, or a quantity neither a string nor a number.
pub fn requested(resources: &Object) -> Result<Vec<Cow<'_, str>>, Mismatch> {
    names(resources, &[REQUESTS])
}

/// The same in a template of Pods. There a limit is a request too: the API server writes it among the requests of Pods,
/// and not of templates (`SetDefaults_Pod`).
///
/// # Errors
/// `requests` or `limits` is no object, or a quantity neither a string nor a number.
pub fn requested_by_template(resources: &Object) -> Result<Vec<Cow<'_, str>>, Mismatch> {
    names(resources, &[REQUESTS, LIMITS])
}

fn names<'r>(resources: &'r Object, lists: &[&str]) -> Result<Vec<Cow<'r, str>>, Mismatch> {
    let mut names = Vec::new();
    for list in lists {
        let Some(quantities) = resources.object(list)? else { continue };
        for (name, quantity) in quantities.members() {
            // As in Go, `null` is zero.
            if !quantity.is_null() && is_above_zero(quantity).within(&name).within(list)? {
                names.push(name);
            }
        }
    }
    Ok(names)
}

/// Whether cpu or memory above zero is requested, or a limit of such. A Pod none of whose resources have that is
/// `BestEffort` (`ComputePodQOS`).
///
/// # Errors
/// A list is no object, or a quantity neither a string nor a number.
pub fn has_cpu_or_memory(resources: &Object) -> Result<bool, Mismatch> {
    for list in [REQUESTS, LIMITS] {
        let Some(quantities) = resources.object(list)? else { continue };
        for name in COMPUTE {
            if let Some(quantity) = quantities.get(name)
                && is_above_zero(quantity).within(name).within(list)?
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether a quantity, as in `500m` or `1e3`, is more than nothing: it has no minus, and a digit other than 0 before
/// its unit or exponent. Kubernetes rounds up what is less than it can count.
///
/// # Errors
/// It is neither a string nor a number.
pub fn is_above_zero(quantity: &Value) -> Result<bool, Mismatch> {
    let text = if quantity.kind() == Kind::Number { quantity.text() } else { quantity.string()? };
    let mut mantissa = text.bytes().take_while(|byte| matches!(byte, b'+' | b'.' | b'0'..=b'9'));
    Ok(mantissa.any(|byte| matches!(byte, b'1'..=b'9')))
}
