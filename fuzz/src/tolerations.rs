//! Tolerations: covering and overlapping mean what they say of the taints that are tolerated, merging is upstream's,
//! and what is written reads the same.

use arbitrary::{Result, Unstructured};
use node_placement_policy::json::read::read;
use node_placement_policy::toleration::{EXISTS, NO_EXECUTE, Taint, Toleration, from_annotation, missing, untolerated};

use super::pick;

const KEYS: [&str; 4] = ["", "a", "b", "node.kubernetes.io/memory-pressure"];
const VALUES: [&str; 3] = ["", "x", "y"];
const OPERATORS: [&str; 5] = ["", "Equal", "Exists", "Exists", "Lt"];
const EFFECTS: [&str; 5] = ["", "NoSchedule", "PreferNoSchedule", "NoExecute", "Other"];
const SECONDS: [Option<i64>; 5] = [None, None, Some(-1), Some(0), Some(300)];

pub fn check(input: &[u8]) {
    any_annotation_is_judged(input);
    let mut input = Unstructured::new(input);
    let input = &mut input;
    let (one, other) = (toleration(input), toleration(input));
    covers_what_covers_its_taints(&one, &other);
    overlaps_on_a_taint(&one, &other);
    let (Ok(own), Ok(wanted)) = (list(input), list(input)) else { return };
    lacks_nothing_that_is_missing(&own, &wanted);
    is_written_as_it_reads(&own);
    names_a_taint_that_is_not_tolerated(&own);
}

fn toleration(input: &mut Unstructured<'_>) -> Toleration {
    Toleration {
        key: (*pick(input, &KEYS)).to_owned(),
        operator: (*pick(input, &OPERATORS)).to_owned(),
        value: (*pick(input, &VALUES)).to_owned(),
        effect: (*pick(input, &EFFECTS)).to_owned(),
        toleration_seconds: *pick(input, &SECONDS),
    }
}

fn list(input: &mut Unstructured<'_>) -> Result<Vec<Toleration>> {
    let count = input.int_in_range(0..=8)?;
    Ok((0..count).map(|_| toleration(input)).collect())
}

/// Every taint that tolerations of these words can tell apart. The last key and value are none of theirs.
fn every_taint() -> impl Iterator<Item = Taint> {
    let keys = KEYS.into_iter().chain(["c"]);
    keys.flat_map(|key| {
        let values = VALUES.into_iter().chain(["z"]);
        values.flat_map(move |value| EFFECTS.into_iter().map(move |effect| taint(key, value, effect)))
    })
}

fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() }
}

/// For how many seconds `toleration` tolerates `taint`, if not for ever. The API server takes seconds only with the
/// effect `NoExecute`, and elsewhere they are of no account when tolerations are compared.
fn lasts(toleration: &Toleration, taint: &Taint) -> i64 {
    let counts = taint.effect == NO_EXECUTE && toleration.effect == NO_EXECUTE;
    toleration.toleration_seconds.filter(|_| counts).unwrap_or(i64::MAX)
}

fn covers_what_covers_its_taints(one: &Toleration, other: &Toleration) {
    assert!(one.covers(one), "{one:?} covers itself");
    if one.same_as(other) {
        assert!(one.covers(other) && other.covers(one), "{one:?} and {other:?} are the same");
    }
    if !one.covers(other) {
        return;
    }
    for taint in every_taint().filter(|taint| other.tolerates(taint)) {
        assert!(one.tolerates(&taint), "{one:?} covers {other:?}, and yet does not tolerate {taint:?}");
        assert!(one.overlaps(other), "{one:?} covers {other:?}, and yet {taint:?} is not common to both");
        assert!(lasts(one, &taint) >= lasts(other, &taint), "{one:?} covers {other:?}, and ends earlier");
    }
}

fn overlaps_on_a_taint(one: &Toleration, other: &Toleration) {
    let broad = |toleration: &Toleration| {
        let operator = if toleration.compares_values() { &toleration.operator } else { EXISTS };
        Toleration { operator: operator.to_owned(), ..toleration.clone() }
    };
    let (broad_one, broad_other) = (broad(one), broad(other));
    let common = every_taint().find(|taint| broad_one.tolerates(taint) && broad_other.tolerates(taint));
    assert_eq!(one.overlaps(other), common.is_some(), "{one:?} and {other:?} have {common:?}");
    assert_eq!(one.overlaps(other), other.overlaps(one), "{one:?} and {other:?}, the other way round");
}

fn lacks_nothing_that_is_missing(own: &[Toleration], wanted: &[Toleration]) {
    let added = missing(own, wanted.to_vec());
    let result = [own, added.as_slice()].concat();
    for toleration in wanted {
        assert!(result.iter().any(|there| there.covers(toleration)), "{own:?} lacks {toleration:?} of {wanted:?}");
    }
    assert_eq!(missing(&result, wanted.to_vec()), [], "{own:?} still lacks some of {wanted:?}");
}

fn is_written_as_it_reads(own: &[Toleration]) {
    let text = annotation(own);
    assert_eq!(read::<Vec<Toleration>>(&text).as_deref(), Ok(own), "{text}");
    let is_valid = own.iter().all(|toleration| toleration.check().is_empty());
    assert_eq!(from_annotation(&text).ok().as_deref(), Some(own).filter(|_| is_valid), "{text}");
}

fn annotation(own: &[Toleration]) -> String {
    serde_json::to_string(own).expect("tolerations can be written")
}

fn names_a_taint_that_is_not_tolerated(own: &[Toleration]) {
    let taints: Vec<Taint> = every_taint().collect();
    let keeps_away = |taint: &Taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute");
    let is_tolerated = |taint: &Taint| own.iter().any(|toleration| toleration.tolerates(taint));
    let first = taints.iter().find(|taint| keeps_away(taint) && !is_tolerated(taint));
    assert_eq!(untolerated(own, &taints), first, "{own:?}");
}

/// Any bytes that are text can be an annotation: what reads is written as it reads, the rest has its reason, in a line.
fn any_annotation_is_judged(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    match from_annotation(text) {
        Ok(read) => is_written_as_it_reads(&read),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}
