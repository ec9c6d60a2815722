/// A workload whose Pods move to other nodes when they are made again, which the policy does not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Its namespace.
    pub namespace: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How many of its Pods run where they could not be made again.
    pub pods: usize,
    /// Why a restart is not proposed.
    pub obstacle: Option<Obstacle>,
    /// The names of the PodDisruptionBudgets that cover its Pods.
    pub budgets: Vec<String>,
}

/// What speaks against `kubectl rollout restart`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nobody makes its Pods again.
    NobodyMakesItAgain,
    /// `kubectl` restarts no such kind.
    NoRestart,
    /// A volume that may not move with the Pod.
    Volume(String),
    /// The Deployment is paused.
    Paused,
    /// The StatefulSet replaces a Pod when somebody deletes it.
    OnDelete,
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NobodyMakesItAgain => f.write_str("nobody makes its Pods again if they are deleted"),
            Self::NoRestart => f.write_str("kubectl can't restart it; new Pods of it run on the other nodes"),
            Self::Volume(volume) => write!(f, "{volume} may not move with the Pod"),
            Self::Paused => f.write_str("the Deployment is paused"),
            Self::OnDelete => f.write_str("its updateStrategy is OnDelete: Pods are replaced when they are deleted"),
        }
    }
}
