//! The cases in `e2e-tests/cases`, each of them a test that is named for it.

use std::{
    collections::BTreeSet,
    fs, mem,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use e2e_tests::{
    Manifests,
    testing::{self, Suite, Test},
};
use libtest_mimic::{Failed, Trial};
use serde_json::Value;

/// A case of a test: one request, and how it must end.
pub struct Case {
    /// `placement.yml::Conflict::another value`: the file, the test and the case.
    name: String,
    pub test: Arc<Test>,
    pub case: testing::Case,
}

impl Case {
    pub fn settings(&self) -> Result<Value> {
        let deployed = self.test.deployed(&self.case)?;
        Ok(deployed.first().context("no settings")?.settings.clone())
    }

    pub fn request(&self) -> Result<Value> {
        self.test.request(&self.case)
    }

    pub fn cluster(&self) -> &Manifests {
        self.test.cluster()
    }
}

/// Returns a test for every case, named for what is checked and for the case.
pub fn trials(what: &str, check: impl Fn(&Case) -> Result<()> + Clone + Send + 'static) -> Result<Vec<Trial>> {
    let trial = |case: Case| {
        let check = check.clone();
        let name = format!("{what}::{}", case.name);
        Trial::test(name, move || check(&case).map_err(|error| Failed::from(format!("{error:#}"))))
    };
    Ok(all()?.into_iter().map(trial).collect())
}

/// The cases of every file in the folder. Fails if there are none, or if two of them have the same name: which of the
/// two failed, nobody could tell.
fn all() -> Result<Vec<Case>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut cases = vec![];
    for file in files(&folder)? {
        cases.extend(cases_of(&file)?);
    }
    let mut names = BTreeSet::new();
    for case in &cases {
        ensure!(names.insert(&case.name), "two cases are called {:?}", case.name);
    }
    Ok(cases)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut files: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "yml")).collect();
    ensure!(!files.is_empty(), "{} has no *.yml", folder.display());
    files.sort();
    Ok(files)
}

fn cases_of(file: &Path) -> Result<Vec<Case>> {
    let suite = Suite::load(file)?;
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let mut cases = vec![];
    for mut test in suite.tests {
        let own = mem::take(&mut test.cases);
        let test = Arc::new(test);
        cases.extend(own.into_iter().map(|case| Case {
            name: format!("{file}::{}::{}", test.name, case.name),
            test: test.clone(),
            case,
        }));
    }
    Ok(cases)
}
