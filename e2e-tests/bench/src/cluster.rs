//! What a policy-server would make of these costs: an estimate.
//!
//! A policy-server was measured once, with the floor and with a probe: a module of known cost that makes one look-up,
//! answered from the cache, and one change. What the server itself spends is the difference, and it does not depend on
//! the policy: TLS, parsing the review, serving the look-up, and making a patch of the changed object.

use anyhow::{Context, Result};
use e2e_tests::cost::{Family, KB};

use crate::{Measured, measured::Row, report::duration};

/// One kind of request to the policy-server that was measured.
struct Served {
    what: &'static str,
    /// Evaluations per second, with the floor and with the probe.
    floor: f64,
    probe: f64,
    /// What an evaluation of the probe took by itself, in nanoseconds: 39 µs with a Pod of 2 KB and 79 µs with one of
    /// 17 KB, so 6 KB is read off between, and a Binding counts as the smallest Pod.
    probe_alone: f64,
}

const POD: Served = Served { what: "Pod CREATE, 6 KB, injection", floor: 5_070.0, probe: 3_440.0, probe_alone: 50e3 };
const BINDING: Served = Served { what: "Binding, three entries", floor: 5_990.0, probe: 4_230.0, probe_alone: 39e3 };

/// How many workers that policy-server had.
const WORKERS: f64 = 2.0;

impl Served {
    /// What the server spends on a request, beside the evaluation.
    fn around(&self) -> f64 {
        WORKERS * 1e9 / self.probe - self.probe_alone
    }

    fn per_second(&self, evaluation: f64) -> f64 {
        WORKERS * 1e9 / (self.around() + evaluation)
    }

    fn line(&self, row: &Row) -> Result<String> {
        let twin = row.time.twin.context("the typed twin takes part")?;
        Ok(format!(
            "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} % |",
            self.what,
            duration(row.time.policy),
            duration(self.around()),
            self.floor,
            self.per_second(row.time.policy),
            self.per_second(twin),
            100.0 * row.time.policy / (self.around() + row.time.policy),
        ))
    }
}

pub fn table(measured: &Measured) -> Result<String> {
    let head = "| Request | The policy | The server around it | Per second: floor, measured | This policy | Typed twin | Share of the policy |";
    let pod = POD.line(measured.row(Family::Injected, 6 * KB)?)?;
    let binding = BINDING.line(measured.row(Family::Bindings, 3)?)?;
    Ok(format!("{head}\n|---|---|---|---|---|---|---|\n{pod}\n{binding}"))
}
