//! What depends on what in the tool: no circles, output on commands alone, and nothing that nobody uses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, ensure};

/// The modules that each module uses, by their paths: `webhook::request`.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The code of the tool without comments and tests, by the path of its module. The root is the empty path.
struct Code(BTreeMap<String, String>);

impl Code {
    fn read() -> Result<Self> {
        let mut code = BTreeMap::new();
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        let root = folders.first().context("a folder")?.clone();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let module = path.strip_prefix(&root)?.with_extension("").display().to_string();
                    let module = module.replace('/', "::");
                    let module = module.strip_suffix("mod").map_or(module.as_str(), |own| own.trim_end_matches("::"));
                    let module = if ["lib", "main"].contains(&module) { "" } else { module };
                    code.entry(module.to_owned()).or_insert_with(String::new).push_str(&without_tests(&path)?);
                }
            }
        }
        Ok(Self(code))
    }

    /// Returns what each module uses, but for its own parts.
    fn uses(&self) -> Uses {
        let mut uses = Uses::new();
        for (module, code) in &self.0 {
            let paths = imports(code).into_iter().chain(inline_paths(code));
            let used = paths.filter_map(|path| self.resolved(&path, module, 0));
            let is_other = |used: &String| used != module && !used.starts_with(&format!("{module}::"));
            uses.insert(module.clone(), used.filter(is_other).collect());
        }
        // The root and `main` are made of all others.
        uses.remove("");
        uses
    }

    /// Returns the module in which the item at a path is, which a module names; through what others pass on.
    fn resolved(&self, path: &str, module: &str, depth: usize) -> Option<String> {
        let mut steps: Vec<&str> = path.split("::").collect();
        let mut start: Vec<&str> = module.split("::").filter(|step| !step.is_empty()).collect();
        match *steps.first()? {
            "crate" => start.clear(),
            "super" => {
                while steps.first() == Some(&"super") {
                    start.pop();
                    steps.remove(0);
                }
                steps.insert(0, "self");
            }
            "self" => {}
            first if self.0.contains_key(&joined(&[start.as_slice(), &[first]].concat())) => steps.insert(0, "self"),
            _ => return None,
        }
        start.extend(steps.get(1..)?);
        let known = (0..=start.len()).rev().find(|count| self.0.contains_key(&joined(&start[..*count])))?;
        let (found, item) = (joined(&start[..known]), start.get(known));
        let passed_on = item.and_then(|item| self.passed_on(&found, item)).filter(|_| depth < 3);
        passed_on.and_then(|path| self.resolved(&path, &found, depth + 1)).or(Some(found))
    }

    /// Returns the path at which a module has an item that it passes on with `pub use`.
    fn passed_on(&self, module: &str, item: &str) -> Option<String> {
        let code = self.0.get(module)?;
        let passed_on = statements(code).into_iter().filter(|statement| statement.starts_with("pub use "));
        passed_on.flat_map(|statement| leaves(&statement)).find(|path| path.rsplit("::").next() == Some(item))
    }
}

fn joined(steps: &[&str]) -> String {
    steps.join("::")
}

fn without_tests(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\n#[allow").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Returns the `use` statements, each on one line.
fn statements(code: &str) -> Vec<String> {
    let mut statements = vec![];
    let mut rest = code;
    while let Some((_, after)) = rest.split_once("use ") {
        let before = rest.len() - after.len() - "use ".len();
        let line = rest[..before].rsplit('\n').next().unwrap_or_default().trim_start();
        let (statement, next) = after.split_once(';').unwrap_or((after, ""));
        if ["", "pub "].contains(&line) {
            statements.push(format!("{line}use {}", statement.split_whitespace().collect::<Vec<_>>().join(" ")));
            rest = next;
        } else {
            rest = after;
        }
    }
    statements
}

fn imports(code: &str) -> Vec<String> {
    statements(code).iter().flat_map(|statement| leaves(statement)).collect()
}

/// Returns the paths in a `use` statement: two of `use a::{b, c::d}`.
fn leaves(statement: &str) -> Vec<String> {
    let mut found = vec![];
    add_leaves("", statement.trim_start_matches("pub ").trim_start_matches("use "), &mut found);
    found
}

fn add_leaves(prefix: &str, tree: &str, found: &mut Vec<String>) {
    let Some((path, inner)) = tree.trim().split_once('{') else {
        let path = tree.trim().split(" as ").next().unwrap_or_default();
        found.push(format!("{prefix}{path}").trim_end_matches("::self").to_owned());
        return;
    };
    let (mut depth, mut start) = (0, 0);
    let inner = inner.trim_end().strip_suffix('}').unwrap_or(inner);
    for (at, character) in inner.char_indices().chain([(inner.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[start..at].trim().is_empty() {
                    add_leaves(&format!("{prefix}{path}"), &inner[start..at], found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the paths that begin with `crate::`, outside of `use` statements too.
fn inline_paths(code: &str) -> Vec<String> {
    let is_in_path = |character: char| character.is_alphanumeric() || "_:".contains(character);
    let starts = code.match_indices("crate::").filter_map(|(at, _)| code.get(at..));
    let paths = starts.map(|rest| rest.split(|character| !is_in_path(character)).next().unwrap_or_default());
    paths.map(|path| path.trim_end_matches(':').to_owned()).collect()
}

/// Returns a circle, from a module to itself, if there is one.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    uses.keys().find_map(|start| {
        let mut paths = vec![vec![start.clone()]];
        let mut seen = BTreeSet::new();
        while let Some(path) = paths.pop() {
            for next in path.last().and_then(|last| uses.get(last)).into_iter().flatten() {
                let path = [path.as_slice(), std::slice::from_ref(next)].concat();
                if next == start {
                    return Some(path);
                }
                if seen.insert(next.clone()) {
                    paths.push(path);
                }
            }
        }
        None
    })
}

fn folder(module: &str) -> String {
    module.split("::").next().unwrap_or_default().to_owned()
}

/// Returns what folders use of each other.
fn of_folders(uses: &Uses) -> Uses {
    let mut folders = Uses::new();
    for (module, used) in uses {
        let used = used.iter().map(|used| folder(used)).filter(|used| *used != folder(module) && !used.is_empty());
        folders.entry(folder(module)).or_default().extend(used);
    }
    folders
}

#[test]
fn neither_files_nor_folders_use_each_other_in_a_circle() -> Result<()> {
    let uses = Code::read()?.uses();
    ensure!(uses.len() > 100, "{} modules", uses.len());
    ensure!(of_folders(&uses).get("preview").is_some_and(|used| used.contains("verdict")), "{:?}", of_folders(&uses));
    assert_eq!(circle(&uses), None);
    assert_eq!(circle(&of_folders(&uses)), None);
    Ok(())
}

#[test]
fn only_commands_depend_on_output() -> Result<()> {
    let folders = of_folders(&Code::read()?.uses());
    let depending = folders.iter().filter(|(_, used)| used.contains("output")).map(|(folder, _)| folder.as_str());
    assert_eq!(depending.collect::<Vec<_>>(), ["commands"]);
    Ok(())
}

/// A function that only tests call has a second mention in none of these files.
#[test]
fn every_public_function_is_used() -> Result<()> {
    let Code(code) = Code::read()?;
    let is_in_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut mentions: BTreeMap<&str, usize> = BTreeMap::new();
    for word in code.values().flat_map(|code| code.split(|character| !is_in_name(character))) {
        *mentions.entry(word).or_default() += 1;
    }
    let mut unused = vec![];
    for (module, code) in &code {
        for line in code.lines().map(str::trim_start) {
            let Some(rest) = line.strip_prefix("pub fn ").or_else(|| line.strip_prefix("pub const fn ")) else {
                continue;
            };
            let name = rest.split(|character| !is_in_name(character)).next().unwrap_or_default();
            unused.extend((mentions.get(name) < Some(&2)).then(|| format!("{module}::{name}")));
        }
    }
    assert_eq!(unused, [""; 0]);
    Ok(())
}

/// Files and folders that CONTRIBUTING names are there.
#[test]
fn contributing_names_files_that_are_there() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let text = fs::read_to_string(root.join("CONTRIBUTING.md"))?;
    let mut count = 0;
    for name in text.split('`').skip(1).step_by(2) {
        let is_path = name.contains('/') && !name.contains([' ', ':', '<', '*']);
        ensure!(!is_path || root.join(name).exists(), "{name}");
        count += usize::from(is_path);
    }
    ensure!(count > 10, "only {count} paths");
    Ok(())
}
