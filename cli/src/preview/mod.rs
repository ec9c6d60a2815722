//! What the policy would do to a cluster.
//!
//! [`making`] makes the document ([`document`]) of what is judged ([`subject`]): the policy is asked about each
//! ([`asking`]), where its Pods would run is looked up ([`placing`]), and both are compared ([`judging`]). What to do
//! about it says [`advice`], with [`blame`] and [`tolerating`].

mod advice;
mod asking;
mod blame;
mod document;
mod judging;
mod making;
mod outcome;
mod placing;
mod restart;
#[cfg(test)]
#[allow(clippy::indexing_slicing)]
pub mod sample;
mod subject;
mod tolerating;
mod verdict;
mod who_may_run_where;

pub use self::{
    advice::{Advice, Cause, CauseKind},
    document::{Namespace, Pool, Preview, Workload},
    making::Input,
    outcome::{Change, Outcome, Was},
    restart::{Obstacle, Restart},
    verdict::{Accepted, Verdict},
    who_may_run_where::Row,
};
