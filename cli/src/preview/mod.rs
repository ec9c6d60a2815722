//! What the policy would do to a cluster.
//!
//! [`making`] makes the document ([`document`]) of what is judged ([`subject`]): each is created with the settings
//! ([`round`], with [`namespace_rules`]), the pools that take its Pods are looked up ([`pod_shape`], [`binding`]), and both
//! give its outcome ([`judging`], [`outcome`], [`unschedulable`]). [`advice`] says what to do about it, with [`remedy`].

mod advice;
mod binding;
mod document;
mod judging;
mod making;
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
    document::{Finding, Namespace, Pool, Preview, Workload},
    making::Input,
    outcome::{Forecast, Outcome},
    restart::Restart,
    subject::is_left_out,
    verdict::Verdict,
    who_may_run_where::{Cell, Row},
};
