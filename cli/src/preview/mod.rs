//! What the policy would do to a cluster.
//!
//! [`assessment`] makes the document ([`document`]) of what is judged ([`subject`]): each is created in every scenario
//! ([`judge`], [`candidate`], with the settings of a [`rulebook`]), and [`compare`] is the table of its outcomes
//! ([`outcome`], [`finding`], [`unschedulable`], [`ties`], [`sums`]); [`others`] finds what something else adds. [`fences`]
//! compares which nodes namespaces may use. [`advisor`] says what is wrong, with the [`way_out`] of it, of taints by
//! [`remedy`]; [`advice`] collects that.

mod advice;
mod advisor;
mod assessment;
mod candidate;
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
mod sums;
mod tenants;
pub mod ties;
mod unschedulable;
mod verdict;
mod way_out;
mod who_may_run_where;

pub use self::{
    advice::{Advice, AffectedObject, Cause, CauseKind},
    assessment::PreviewInput,
    document::{Namespace, OutcomeEntry, Pool, Preview, Workload},
    fences::Opening,
    outcome::{Accepted, Forecast, Outcome},
    restart::Restart,
    tenants::merged,
    verdict::{Circumstances, Verdict},
    way_out::WayOut,
    who_may_run_where::{Answer, Cell, Row},
};
