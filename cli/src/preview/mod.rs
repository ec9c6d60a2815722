//! What the policy would do to a cluster.
//!
//! [`making`] makes the document ([`document`]) of what is judged ([`subject`]): the policy is asked about each
//! ([`asking`]), where its Pods would run is looked up ([`placing`], [`binding`]), and both are compared ([`judging`], with
//! [`blame`]). What to do about it says [`advice`], with [`tolerating`].

mod advice;
mod asking;
mod binding;
mod blame;
mod document;
mod judging;
mod making;
mod outcome;
mod placing;
mod restart;
mod subject;
mod tolerating;
mod verdict;
mod who_may_run_where;

pub use self::{
    advice::{Advice, Cause, CauseKind},
    document::{Finding, Namespace, Pool, Preview, Workload},
    making::Input,
    outcome::{Forecast, Outcome},
    restart::Restart,
    subject::is_left_out,
    verdict::{Accepted, Verdict},
    who_may_run_where::{Cell, Row},
};
