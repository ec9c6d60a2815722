//! What came of the cases of some files, as text, as data, and for CI systems.

use anyhow::Result;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;

use super::expect::Mismatch;
use crate::lists::counted;

/// What came of all cases.
#[derive(Debug, Default)]
pub struct Report {
    pub results: Vec<CaseResult>,
    /// Why the rest could not be asked, if it could not.
    pub mistake: Option<String>,
}

/// What came of all tests, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "Tests"))]
pub struct Tests {
    /// The tests of all files.
    pub tests: Vec<TestEntry>,
}

/// What came of a test.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Test"))]
pub struct TestEntry {
    /// Its name.
    pub name: String,
    /// Its cases.
    pub cases: Vec<CaseEntry>,
}

/// What came of a case.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Case"))]
pub struct CaseEntry {
    /// Its name.
    pub name: String,
    /// Whether all is as expected.
    pub passed: bool,
    /// What is not.
    pub failures: Vec<Failure>,
}

/// Something that is not as expected.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failure {
    /// The field of `expect`.
    pub what: String,
    pub expected: String,
    pub found: String,
}

impl From<&CaseResult> for CaseEntry {
    fn from(case: &CaseResult) -> Self {
        let failure = |Mismatch { field, expected, found }: &Mismatch| Failure {
            what: field.clone(),
            expected: expected.clone(),
            found: found.clone(),
        };
        let failures = case.mismatches.iter().map(failure).collect();
        Self { name: case.case.clone(), passed: case.passed, failures }
    }
}

/// What came of one case.
#[derive(Debug)]
pub struct CaseResult {
    pub file: String,
    pub test: String,
    pub case: String,
    pub passed: bool,
    /// What ended otherwise than expected.
    pub mismatches: Vec<Mismatch>,
}

impl Report {
    /// Returns the cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|result| !result.passed)
    }

    /// Returns the last line: how many cases there are, and how many of them failed.
    pub fn summary(&self) -> String {
        match self.failed().count() {
            0 => format!("{} passed", counted(self.results.len(), "case")),
            failed => format!("{} failed of {}", counted(failed, "case"), self.results.len()),
        }
    }

    /// Returns the report for programs.
    pub fn data(&self) -> Tests {
        let tests = self.results.chunk_by(|one, next| (&one.file, &one.test) == (&next.file, &next.test));
        let test = |cases: &[CaseResult]| TestEntry {
            name: cases.first().map(|case| case.test.clone()).unwrap_or_default(),
            cases: cases.iter().map(CaseEntry::from).collect(),
        };
        Tests { tests: tests.map(test).collect() }
    }

    /// Returns the report for CI systems: JUnit's XML, a suite for each test.
    ///
    /// # Errors
    /// The writer of the XML fails.
    pub fn junit(&self) -> Result<String> {
        let mut report = quick_junit::Report::new("kubectl node-placement test");
        for test in self.results.chunk_by(|one, next| (&one.file, &one.test) == (&next.file, &next.test)) {
            let Some(first) = test.first() else { continue };
            let mut suite = TestSuite::new(format!("{}: {}", first.file, first.test));
            suite.add_test_cases(test.iter().map(CaseResult::junit));
            report.add_test_suite(suite);
        }
        if let Some(mistake) = &self.mistake {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(mistake.as_str());
            let mut suite = TestSuite::new("A mistake in a file");
            suite.add_test_case(TestCase::new("the file of tests can be run", status));
            report.add_test_suite(suite);
        }
        Ok(report.to_string()?)
    }
}

/// Returns two lines for each mismatch: what was expected, and below it what was found.
pub fn lines(mismatches: &[Mismatch]) -> Vec<String> {
    let line = |mismatch: &Mismatch| {
        let Mismatch { field, expected, found } = mismatch;
        [format!("{field}: expected {expected}"), format!("{:1$}found    {found}", "", field.len() + 2)]
    };
    mismatches.iter().flat_map(line).collect()
}

impl CaseResult {
    fn junit(&self) -> TestCase {
        let status = match self.mismatches.first() {
            None => TestCaseStatus::success(),
            Some(first) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(format!("{}: expected {}; found {}", first.field, first.expected, first.found));
                status.set_description(lines(&self.mismatches).join("\n"));
                status
            }
        };
        let mut case = TestCase::new(self.case.as_str(), status);
        case.set_classname(self.test.as_str());
        case
    }
}
