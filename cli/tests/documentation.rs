//! The commands in the documentation work, one page after the other, in the order of the page.
//!
//! `kubectl node-placement` is the tool. The rest of `kubectl`, and what only others have, is played by scripts: they
//! answer with the sample cluster, and complain about files that are not there.
#![cfg(unix)]

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use anyhow::{Context, Result, bail, ensure};
use cli::Manifests;
use serde_json::{Value, json};

/// A rejection is no failure of a page, a mistake is one. `kubectl` of a cluster has one policy and the sample cluster.
const KUBECTL: &str = r#"#!/bin/sh
answers="$(dirname "$0")/answers"
if [ "$1" = node-placement ]; then
  shift
  "$TOOL" "$@"
  [ $? -le 1 ]
  exit
fi
previous=""
for argument; do
  if [ "$previous" = -f ] && [ ! -s "$argument" ]; then
    echo "kubectl $*: $argument is not there, or empty" >&2
    exit 1
  fi
  previous="$argument"
done
case "$*" in
  "get clusteradmissionpolicy "*" -o yaml") cat "$answers/policy" ;;
  "config current-context"*) echo sample ;;
  "get mutatingwebhookconfigurations,"*) echo kw.cap.node-placement ;;
  "get "*,*" -o json"*) cat "$answers/all" ;;
  "get "*" -o json"*) cat "$answers/$2" 2>/dev/null || echo '{"kind": "List", "items": []}' ;;
  *" logs "*) echo "would be rejected: …" ;;
esac
"#;

/// The tool by its own name, as where there is no kubectl.
const TOOL: &str = "#!/bin/sh\n\"$TOOL\" \"$@\"\n[ $? -le 1 ]\n";

/// Whether the target is there, with these variables.
const MAKE: &str = "#!/bin/sh\nexec /usr/bin/env -u MAKEFLAGS \"$REAL_MAKE\" -n -s -C \"$ROOT\" \"$@\" >/dev/null\n";

/// A clone is where the page is read.
const GIT: &str = "#!/bin/sh\n[ \"$1\" = clone ] && ln -sfn . \"$(basename \"$2\")\"\n";

/// What a page needs that is not in the repository: the user's own files.
const SETTINGS: &str = "cli/tour/fences.yml";

const DEPLOYMENT: &str = r#"
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: team-blue }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: example.com/web:1 }] }
"#;

const TESTS: &str = "
tests:
  - name: Team blue
    settings: settings.yml
    cluster: cluster.yml
    cases: [{ name: its Deployment is accepted, manifest: web.yml, expect: { accepted: true } }]
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All pages but the changelog, which is about versions that are gone.
fn pages() -> Result<Vec<PathBuf>> {
    let mut pages = vec![];
    for folder in [".", "docs", "examples", "examples/platform-team", "fuzz"] {
        for entry in fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("CHANGELOG.md") {
                pages.push(Path::new(folder).join(path.file_name().context("a name")?));
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// A checkout, with a kubeconfig and a user's own files beside it.
struct Checkout(PathBuf);

impl Checkout {
    fn new(page: &Path) -> Result<Self> {
        let name = page.display().to_string().replace('/', "-");
        let checkout = Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join("documentation").join(name));
        let folder = &checkout.0;
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("bin/answers"))?;
        for (program, script) in [("kubectl", KUBECTL), ("kubectl-node_placement", TOOL), ("make", MAKE), ("git", GIT)]
        {
            checkout.program(program, script)?;
        }
        for program in ["cargo", "docker", "helm", "jq", "kwctl"] {
            checkout.program(program, "#!/bin/sh\n")?;
        }
        // What a page changes must not be changed in the repository.
        let copied = Command::new("cp").arg("-r").arg(root().join("examples")).arg(folder).status()?;
        ensure!(copied.success(), "the examples can't be copied");
        for shared in ["cli", "docs", "e2e-tests"] {
            symlink(root().join(shared).canonicalize()?, folder.join(shared))?;
        }
        let cluster = Manifests::load(&root().join("cli/tour/cluster"))?;
        let objects: Vec<Value> = cluster.objects().iter().map(|object| object.parse()).collect();
        let list = |kind: &str| -> Vec<&Value> { objects.iter().filter(|object| object["kind"] == kind).collect() };
        let kinds = [
            ("Namespace", "namespaces"),
            ("Node", "nodes"),
            ("Pod", "pods"),
            ("Deployment", "deployments.apps"),
            ("DaemonSet", "daemonsets.apps"),
        ];
        for (kind, resource) in kinds {
            let answer = json!({ "kind": "List", "items": list(kind) });
            checkout.write(&format!("bin/answers/{resource}"), &answer.to_string())?;
        }
        let all = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
        for file in ["bin/answers/all", "cluster.json", "cluster.yml"] {
            checkout.write(file, &all)?;
        }
        let settings = fs::read_to_string(root().join(SETTINGS))?;
        for file in ["settings.yml", "new.yml"] {
            checkout.write(file, &settings)?;
        }
        for file in ["web.yml", "web-before.yml"] {
            checkout.write(file, DEPLOYMENT)?;
        }
        checkout.write("daemonset.yml", &DEPLOYMENT.replace("Deployment", "DaemonSet"))?;
        checkout.write("tests.yml", TESTS)?;
        let policy = checkout.run("kubectl node-placement policy settings.yml")?;
        let deployed = "bin/answers/clusteradmissionpolicies.policies.kubewarden.io";
        for file in ["bin/answers/policy", deployed, "policy.yml", "back.yml", "backstop.yml"] {
            checkout.write(file, &text(&policy.stdout))?;
        }
        Ok(checkout)
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        fs::write(self.0.join(file), text).with_context(|| file.to_owned())
    }

    fn program(&self, name: &str, script: &str) -> Result<()> {
        let path = self.0.join("bin").join(name);
        fs::write(&path, script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    fn run(&self, commands: &str) -> Result<Output> {
        let path = env::var_os("PATH").context("a PATH")?;
        let real_make = env::split_paths(&path).map(|folder| folder.join("make")).find(|path| path.exists());
        let mut folders = vec![self.0.join("bin")];
        folders.extend(env::split_paths(&path));
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", commands]).current_dir(&self.0).env("PATH", env::join_paths(folders)?);
        shell.env("TOOL", env!("CARGO_BIN_EXE_kubectl-node_placement")).env("EDITOR", "true");
        shell.env("REAL_MAKE", real_make.context("make")?).env("ROOT", root());
        Ok(shell.output()?)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a page has that is run, in order.
#[derive(Debug)]
enum Part {
    /// Commands, and what stands directly below them as printed.
    Console { commands: String, printed: Option<String> },
    /// A file of tests.
    Tests(String),
    /// A command between backticks.
    Inline(String),
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = vec![];
    let mut lines = page.lines();
    let mut is_directly_below = false;
    while let Some(line) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            let commands = line.split('`').skip(1).step_by(2).filter(|text| is_inline_command(text));
            parts.extend(commands.map(|command| Part::Inline(command.to_owned())));
            is_directly_below &= line.trim().is_empty();
            continue;
        };
        let indentation = line.len() - line.trim_start().len();
        let block = lines.by_ref().take_while(|line| line.trim_start() != "```");
        let block = block.map(|line| line.get(indentation..).unwrap_or_default()).collect::<Vec<_>>().join("\n");
        match (language, parts.last_mut()) {
            ("console", _) => parts.push(Part::Console { commands: block, printed: None }),
            ("text", Some(Part::Console { printed, .. })) if is_directly_below => *printed = Some(block),
            ("yaml", _) if block.starts_with("tests:") => parts.push(Part::Tests(block)),
            _ => {}
        }
        is_directly_below = language == "console";
    }
    parts
}

/// The name of a command alone is no command.
fn is_inline_command(text: &str) -> bool {
    let words = text.split_whitespace().count();
    let is_of_the_tool =
        ["kubectl node-placement ", "kubectl-node_placement "].iter().any(|name| text.starts_with(name));
    (is_of_the_tool && words > 3 || text.starts_with("make ")) && !text.contains('…')
}

/// Parts of the output stand for what a page leaves out with `…`.
fn check(checkout: &Checkout, part: &Part) -> Result<()> {
    let commands = match part {
        Part::Console { commands, .. } | Part::Inline(commands) => commands.as_str(),
        Part::Tests(tests) => {
            checkout.write("documented.yml", tests)?;
            "kubectl node-placement test documented.yml"
        }
    };
    let output = checkout.run(commands)?;
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    ensure!(output.status.success(), "{commands}\n{stdout}{stderr}");
    if let Part::Console { printed: Some(printed), .. } = part {
        for excerpt in printed.split("\n…\n") {
            ensure!(stdout.contains(excerpt), "{commands}\nprints\n{stdout}and not\n{excerpt}");
        }
    }
    Ok(())
}

#[test]
fn every_command_works() -> Result<()> {
    let (mut count, mut failed) = (0, vec![]);
    for page in pages()? {
        let checkout = Checkout::new(&page)?;
        for part in parts(&fs::read_to_string(root().join(&page))?) {
            count += 1;
            if let Err(error) = check(&checkout, &part) {
                failed.push(format!("{}: {error:#}", page.display()));
            }
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    ensure!(count > 100, "only {count} commands");
    Ok(())
}

/// A page that shows something else than what is printed, or a command that fails, is found.
#[test]
fn wrong_pages_are_found() -> Result<()> {
    let checkout = Checkout::new(Path::new("wrong.md"))?;
    let pages = [
        "```console\nkubectl node-placement preview -s settings.yml --nonsense\n```",
        "```console\nkubectl apply -f absent.yml\n```",
        "```console\nmake nonsense\n```",
        "Run `kubectl node-placement check absent.yml`.",
        "```console\nkubectl node-placement check settings.yml\n```\n\n```text\nsettings.yml: the settings are wrong\n```",
    ];
    for page in pages {
        let parts = parts(page);
        ensure!(parts.len() == 1, "{page}: {parts:?}");
        if check(&checkout, &parts[0]).is_ok() {
            bail!("nothing is wrong with\n{page}");
        }
    }
    Ok(())
}
