//! What the policy would do to a cluster.
//!
//! [`assessment`] makes the document ([`document`]) of what is judged ([`subject`]): each is created in every scenario
//! ([`judge`], with the settings of a [`rulebook`]), and [`compare`] is the table of its outcomes ([`outcome`], [`finding`],
//! [`unschedulable`], [`ties`]); [`others`] finds what something else adds. [`fences`] compares which nodes namespaces may
//! use. [`advisor`] says what to do about it, with [`remedy`]; [`advice`] brings that together.

mod advice;
mod advisor;
mod assessment;
mod compare;
mod document;
mod fences;
mod finding;
mod judge;
mod others;
mod outcome;
mod platform;
mod remedy;
mod restart;
mod rulebook;
mod subject;
mod tenants;
mod ties;
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
    tenants::merged,
    verdict::{Circumstances, Verdict},
    who_may_run_where::{Answer, Cell, Row},
};
