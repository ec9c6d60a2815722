//! What the policy would do to a cluster.
//!
//! [`assessment`] makes the document ([`document`]) of what is judged ([`subject`]): each is created with the settings
//! ([`round`], with [`namespace_rules`]), the pools that take its Pods are looked up ([`pod_shape`], [`binding`]), and both
//! give its outcome ([`judging`], [`outcome`], [`unschedulable`]). [`fences`] compares which nodes namespaces may use. [`advisor`] says what to do about it, with
//! [`remedy`]; [`advice`] brings that together.

mod advice;
mod advisor;
mod assessment;
mod binding;
mod document;
mod fences;
mod judging;
mod namespace_rules;
mod outcome;
mod platform;
mod pod_shape;
mod remedy;
mod restart;
mod round;
mod subject;
mod tenants;
mod unschedulable;
mod verdict;
mod who_may_run_where;

pub use self::{
    advice::{Advice, Cause, CauseKind},
    assessment::PreviewInput,
    document::{Namespace, OutcomeEntry, Pool, Preview, Workload},
    fences::Opening,
    outcome::{Accepted, Forecast, Outcome},
    restart::Restart,
    subject::is_left_out,
    tenants::merged,
    verdict::{Circumstances, Verdict},
    who_may_run_where::{Answer, Cell, Row},
};
