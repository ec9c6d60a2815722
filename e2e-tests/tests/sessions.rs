//! What `kwctl` is tested with holds here too, and more strictly: `kwctl` only warns of what is left of a session.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, ensure};
use e2e_tests::{Evaluation, NoCluster, Policy, Session, policy_under_test, read_document};

/// A row of `fixtures/runs.tsv`.
struct Run {
    name: String,
    request: String,
    settings: String,
    session: Option<String>,
    verdict: String,
    words: String,
}

#[test]
fn every_session_is_used_up_exactly() -> Result<()> {
    let policy = policy_under_test()?;
    for run in runs()? {
        run.evaluate(&policy).and_then(|evaluation| run.check(&evaluation)).with_context(|| run.name.clone())?;
    }
    Ok(())
}

#[test]
fn every_refusal_is_one() -> Result<()> {
    let policy = policy_under_test()?;
    for [name, settings, words] in rows("refusals")? {
        let answer = policy.validate_settings(&serde_json::from_str(&settings).context(name.clone())?)?;
        let message = answer.message.unwrap_or_default();
        ensure!(!answer.valid && message.contains(&words), "{name}: {words:?} is not in {message:?}");
    }
    Ok(())
}

#[test]
fn every_row_is_a_test_of_kwctl() -> Result<()> {
    let mut tests = BTreeSet::new();
    for file in files("", "bats")? {
        let text = fs::read_to_string(file)?;
        let names = text.lines().filter_map(|line| line.strip_prefix("@test \"")?.strip_suffix("\" {"));
        tests.extend(names.map(str::to_owned));
    }
    let names: BTreeSet<String> =
        runs()?.into_iter().map(|run| run.name).chain(rows("refusals")?.into_iter().map(|[name, _, _]| name)).collect();
    assert_eq!(tests, names);
    Ok(())
}

#[test]
fn every_fixture_of_kwctl_is_used() -> Result<()> {
    let runs = runs()?;
    let unused = |folder: &str, extension: &str, used: BTreeSet<&str>| -> Result<Vec<String>> {
        let names = files(&format!("fixtures/{folder}"), extension)?.into_iter().map(|file| stem(&file));
        Ok(names.filter(|name| !used.contains(name.as_str())).collect())
    };
    let none = Vec::<String>::new();
    assert_eq!(unused("bare", "json", runs.iter().map(|run| run.request.as_str()).collect())?, none);
    assert_eq!(unused("settings", "yml", runs.iter().map(|run| run.settings.as_str()).collect())?, none);
    assert_eq!(unused("sessions", "yml", runs.iter().filter_map(|run| run.session.as_deref()).collect())?, none);
    Ok(())
}

#[test]
fn every_bare_request_is_that_of_a_review() -> Result<()> {
    for file in files("fixtures/bare", "json")?.into_iter().filter(|file| !stem(file).contains('+')) {
        let review = read_document(&fixture("requests", &stem(&file), "json"))?;
        assert_eq!(read_document(&file)?, review["request"], "{}", file.display());
    }
    Ok(())
}

impl Run {
    fn evaluate(&self, policy: &Policy) -> Result<Evaluation> {
        let request = read_document(&fixture("bare", &self.request, "json"))?;
        let settings = read_document(&fixture("settings", &self.settings, "yml"))?;
        let answer = policy.validate_settings(&settings)?;
        ensure!(answer.valid, "the settings are not valid: {:?}", answer.message);
        let Some(name) = &self.session else {
            let evaluation = policy.validate(&request, &settings, NoCluster)?;
            ensure!(evaluation.record.lookups.is_empty(), "looked up {:?}", evaluation.record.lookups);
            return Ok(evaluation);
        };
        let session = Session::load(&fixture("sessions", name, "yml"))?;
        let evaluation = policy.validate(&request, &settings, session.clone())?;
        session.verify()?;
        Ok(evaluation)
    }

    fn check(&self, evaluation: &Evaluation) -> Result<()> {
        let answer = serde_json::to_string(&(&evaluation.answer.message, &evaluation.answer.warnings))?;
        let patch = serde_json::to_string(&evaluation.patch)?;
        let warned = evaluation.answer.warnings.as_ref().is_some_and(|warnings| !warnings.is_empty());
        let (verdict, said) = match (evaluation.answer.accepted, &evaluation.patch) {
            (false, _) => ("rejected", answer),
            (true, Some(_)) => ("mutated", patch),
            (true, None) if warned => ("warned", answer),
            (true, None) => ("accepted", answer),
        };
        ensure!(verdict == self.verdict, "{verdict}, expected {}: {evaluation:?}", self.verdict);
        ensure!(said.contains(&self.words), "{:?} is not in {said}", self.words);
        Ok(())
    }
}

fn runs() -> Result<Vec<Run>> {
    let runs = rows("runs")?.into_iter().map(|[name, request, settings, session, verdict, words]| {
        let session = Some(session).filter(|session| session != "-");
        Run { name, request, settings, session, verdict, words }
    });
    Ok(runs.collect())
}

/// The rows of a table in `fixtures`.
fn rows<const COLUMNS: usize>(table: &str) -> Result<Vec<[String; COLUMNS]>> {
    let text = fs::read_to_string(folder("fixtures").join(format!("{table}.tsv")))?;
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let columns = rows.map(|row| {
        let columns: Vec<String> = row.split('\t').map(str::to_owned).collect();
        columns.try_into().map_err(|columns| anyhow!("{table}.tsv: expected {COLUMNS} columns: {columns:?}"))
    });
    columns.collect()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn fixture(kind: &str, name: &str, extension: &str) -> PathBuf {
    folder("fixtures").join(kind).join(format!("{name}.{extension}"))
}

fn files(name: &str, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder(name))?.collect::<Result<Vec<_>, _>>()?;
    let files = entries.into_iter().map(|entry| entry.path());
    Ok(files.filter(|file| file.extension().is_some_and(|found| found == extension)).collect())
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
