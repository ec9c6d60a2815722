use std::{
    collections::VecDeque,
    fs,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;

use cli::{Cluster, GetResourceRequest, LogLevel};

/// A recorded conversation between a policy and its host, in the format of
/// `kwctl run --replay-host-capabilities-interactions`.
///
/// It is replayed strictly in order, and every look-up must equal the recorded one. Where `kwctl`
/// only warns of exchanges that were never asked for, this is an error.
#[derive(Clone, Debug)]
pub struct Session(Arc<Mutex<Replay>>);

#[derive(Debug)]
struct Replay {
    exchanges: VecDeque<(GetResourceRequest, Response)>,
    mismatch: Option<String>,
}

#[derive(Deserialize)]
struct Exchange {
    /// YAML within YAML: that is how `kwctl` records it.
    request: String,
    response: Response,
}

#[derive(Deserialize)]
enum Request {
    KubernetesGetResource(GetResourceRequest),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type")]
enum Response {
    Success { payload: String },
    Error { message: String },
}

impl Session {
    pub fn load(path: &Path) -> Result<Self> {
        let yaml = fs::read_to_string(path).with_context(|| format!("cannot read the session {}", path.display()))?;
        Self::parse(&yaml).with_context(|| format!("{} is not a session as kwctl records it", path.display()))
    }

    pub fn parse(yaml: &str) -> Result<Self> {
        let exchanges: Vec<Exchange> = yaml_serde::from_str(yaml)?;
        let exchanges = exchanges.into_iter().enumerate().map(|(index, exchange)| {
            let Request::KubernetesGetResource(lookup) = yaml_serde::from_str(&exchange.request)
                .with_context(|| format!("the request of exchange {}", index + 1))?;
            Ok((lookup, exchange.response))
        });
        let replay = Replay { exchanges: exchanges.collect::<Result<_>>()?, mismatch: None };
        Ok(Self(Arc::new(Mutex::new(replay))))
    }

    /// Whether all went as it was recorded, once the policy has answered.
    ///
    /// # Errors
    /// The policy asked for something else, or did not ask for all.
    pub fn verify(&self) -> Result<()> {
        let replay = self.replay();
        if let Some(mismatch) = &replay.mismatch {
            bail!("{mismatch}");
        }
        match replay.exchanges.front() {
            None => Ok(()),
            Some((next, _)) => bail!(
                "the policy never asked for {} exchange(s) of the session; the next one is {} {}",
                replay.exchanges.len(),
                next.kind,
                next.name
            ),
        }
    }

    fn replay(&self) -> MutexGuard<'_, Replay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Replay {
    fn next(&mut self, lookup: &GetResourceRequest) -> Result<Response, String> {
        match self.exchanges.pop_front() {
            None => Err(format!("the session is over, but the policy looks up {lookup:?}")),
            Some((expected, _)) if expected != *lookup => {
                Err(format!("the session expects {expected:?}, but the policy looks up {lookup:?}"))
            }
            Some((_, response)) => Ok(response),
        }
    }
}

impl Cluster for Session {
    fn get_resource(&self, lookup: &GetResourceRequest) -> Result<String> {
        let mut replay = self.replay();
        match replay.next(lookup) {
            Ok(Response::Success { payload }) => Ok(payload),
            Ok(Response::Error { message }) => Err(anyhow!(message)),
            Err(mismatch) => {
                replay.mismatch.get_or_insert_with(|| mismatch.clone());
                Err(anyhow!(mismatch))
            }
        }
    }

    fn log(&self, _: LogLevel, _: &str) {}
}
