//! All limits on what is read, written and answered, each with its reason. Webhooks run before the API server validates
//! anything, so a request may contain a Pod with 300,000 tolerations `{}`. That is why lists are read one element after
//! the other, and only if a rule needs them. Real Pods stay far below these limits.

/// The largest object that is accepted, in bytes, as the API server writes it. An update sends the object twice, and
/// policy-server refuses bodies of more than 2 MB. An object with finalizers that can't be updated can't be deleted either.
pub const LARGEST_OBJECT: usize = 900 * 1024;

/// The most tolerations of a Pod that are validated or compared. Each is compared with whitelists, and with the earlier
/// tolerations of the Pod.
pub const MOST_TOLERATIONS: usize = 1_000;

/// The most elements of a list that is searched without an index. Sorting it would cost more.
pub const SHORT_LIST: usize = 8;

/// The most comparisons of one value with one requirement that a rule makes, or of one taint with the tolerations of an
/// entry. A Pod with many terms may need all values for each. A comparison takes a few hundred instructions.
pub const MOST_COMPARISONS: usize = 1_000_000;

/// The most different requirements that an annotation of a Namespace may have. Each may be added to every term of a Pod.
pub const MOST_REQUIREMENTS: usize = 1_000;

/// The most values that the requirements of an annotation of a Namespace may have in all. Each may be compared with every
/// term of a Pod.
pub const MOST_VALUES: usize = 1_000;

/// The most terms of node affinity that are read.
pub const MOST_TERMS: usize = 1_000;

/// The most expressions of node affinity that are read, their values counted too.
pub const MOST_EXPRESSIONS: usize = 10_000;

/// The most pairs of a nodeSelector that a whitelist validates. Other rules look up single keys.
pub const MOST_PAIRS: usize = 1_000;

/// The most containers that get variables, or whose resource requests are read.
pub const MOST_CONTAINERS: usize = 1_000;

/// The most extended resources that the containers of a Pod may request in all. Each may become a toleration.
pub const MOST_EXTENDED_RESOURCES: usize = 1_000;

/// The most environment variables of a container to which others are added.
pub const MOST_VARIABLES: usize = 10_000;

/// The most taints of a Node that are compared, each with every toleration of a Pod, or of three lists of the settings.
pub const MOST_TAINTS: usize = 1_000;

/// The most keys of a Node that entries with `*` look at for one answer. A kubelet can give its Node 100,000 labels, and
/// fifty entries may copy them.
pub const MOST_NODE_KEYS: usize = 10_000;

/// The longest annotation of a Namespace that placement reads, in bytes. Its requirements are added to every Pod there, and
/// compared with the Pod's own.
pub const LONGEST_ANNOTATION: usize = 16 * 1024;

/// The most that is written to a Pod about its node, in bytes of keys and values. A Binding does not contain its Pod, so
/// the size of the Pod's own metadata is unknown.
pub const MOST_WRITTEN: usize = 16 * 1024;

/// The API server's limit on the annotations of an object, in bytes of keys and values (`TotalAnnotationSizeLimitB`).
pub const MOST_ANNOTATIONS: usize = 256 * 1024;

/// The most warnings of an answer. The last one counts those that are omitted.
pub const MOST_WARNINGS: usize = 20;

/// The longest warning, in characters. An API server may cut longer ones.
pub const LONGEST_WARNING: usize = 256;

/// The longest rejection, in characters. It becomes an event of the Pod, and an event has at most a kilobyte.
pub const LONGEST_REJECTION: usize = 1024;

/// The longest quote of somebody else's text in a message, in characters.
pub const LONGEST_QUOTE: usize = 100;

/// The most keys that a message names. A longer message would be cut anyway.
pub const MOST_NAMED: usize = 20;
