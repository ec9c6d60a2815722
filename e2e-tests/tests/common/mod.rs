//! The cases in `e2e-tests/cases`, each of them a test that is named for it.

use std::{
    collections::BTreeSet,
    fs, mem,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use anyhow::{Context, Result, ensure};
use e2e_tests::{Chapter, Manifests, Step, Story};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

/// A step of a chapter: one request, and how it must end.
pub struct Case {
    /// `placement.yml::Conflict::another value`: the file, the chapter and the step.
    name: String,
    chapter: Arc<Chapter>,
    pub step: Step,
}

impl Case {
    pub fn settings(&self) -> Value {
        self.chapter.settings(&self.step)
    }

    pub fn request(&self) -> Result<Value> {
        self.chapter.request(&self.step)
    }

    pub fn cluster(&self) -> Result<Manifests> {
        self.chapter.cluster()
    }
}

/// Checks every case by itself, as far as the command line asks for it.
pub fn run(check: impl Fn(&Case) -> Result<()> + Clone + Send + 'static) -> Result<ExitCode> {
    let trials = all()?.into_iter().map(|case| {
        let check = check.clone();
        Trial::test(case.name.clone(), move || check(&case).map_err(|error| Failed::from(format!("{error:#}"))))
    });
    Ok(libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code())
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
    let story = Story::load(file)?;
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    ensure!(!story.chapters.is_empty(), "{file} has no chapters");
    let mut cases = vec![];
    for mut chapter in story.chapters {
        let steps = mem::take(&mut chapter.steps);
        ensure!(!steps.is_empty(), "{file}: {} has no steps", chapter.title);
        let chapter = Arc::new(chapter);
        cases.extend(steps.into_iter().map(|step| Case {
            name: format!("{file}::{}::{}", chapter.title, step.title),
            chapter: chapter.clone(),
            step,
        }));
    }
    Ok(cases)
}
