//! What the policy would do to a cluster.
//!
//! [`assessment`] makes the document ([`document`]) of what is judged ([`subject`]): each is created with the settings
//! ([`round`], with [`namespace_rules`]), the pools that take its Pods are looked up ([`pod_shape`], [`binding`]), and both
//! give its outcome ([`judging`], [`outcome`], [`unschedulable`]). [`advisor`] says what to do about it, with
//! [`remedy`]; [`advice`] brings that together.

mod advice;
mod advisor;
mod assessment;
mod binding;
mod document;
mod judging;
mod namespace_rules;
mod outcome;
mod pod_shape;
mod remedy;
mod restart;
mod round;
mod subject;
mod unschedulable;
mod verdict;
mod who_may_run_where;

pub use self::{
    advice::{Advice, Cause, CauseKind},
    assessment::PreviewInput,
    document::{Namespace, OutcomeEntry, Pool, Preview, Workload},
    outcome::{Forecast, Outcome},
    restart::Restart,
    subject::is_left_out,
    verdict::Verdict,
    who_may_run_where::{Cell, Row},
};
