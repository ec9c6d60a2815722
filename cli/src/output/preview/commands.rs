//! What replaces misplaced Pods, as a script to read before it is run.

use crate::{
    lists::counted,
    preview::{Preview, Restart},
};

const HEAD: &str = "#!/bin/sh
# Read this before you run it. It restarts workloads whose Pods run on nodes that their replacements may not use.
# Run it after the policy is enforced: before that, new Pods come back to the same nodes, and it moves nothing.
# kubectl rollout restart keeps as many Pods running as the workload's own strategy says.
set -e
";

/// Writes a shell script that replaces what is Misplaced, and nothing else.
pub fn commands(preview: &Preview) -> String {
    let mut script = HEAD.to_owned();
    if preview.restarts.is_empty() {
        script += "\n# Nothing is misplaced.\n";
    }
    let mut namespace = "";
    for restart in &preview.restarts {
        if restart.namespace != namespace {
            script += &format!("\n# Namespace {}\n", on_one_line(&restart.namespace));
        }
        namespace = &restart.namespace;
        script += &lines(restart);
    }
    script
}

fn lines(restart: &Restart) -> String {
    let Restart { namespace, kind, name, pods, obstacle, budgets } = restart;
    let who = format!("{kind} {}: {}", on_one_line(name), counted(*pods, "Pod"));
    let budgets = match budgets.as_deref() {
        None => ", PodDisruptionBudgets unknown: they could not be listed".to_owned(),
        Some([]) => String::new(),
        Some([budget]) => format!(", covered by PodDisruptionBudget {}", on_one_line(budget)),
        Some(budgets) => format!(", covered by PodDisruptionBudgets {}", on_one_line(&budgets.join(", "))),
    };
    if let Some(obstacle) = obstacle {
        return format!("# Not restarted: {who}{budgets}: {}.\n", on_one_line(obstacle));
    }
    if !is_a_name(namespace) || !is_a_name(name) {
        return format!("# Not restarted: {who}{budgets}: no object can have this name.\n");
    }
    let kind = kind.to_lowercase();
    format!("# {who}{budgets}\nkubectl rollout restart {kind}/{name} --namespace {namespace}\n")
}

/// Returns whether an object can be called so; a shell reads such a name as it is.
fn is_a_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' || c == '-';
    !name.is_empty() && !name.starts_with('-') && name.chars().all(fits)
}

/// Joins lines, so that a text does not leave its comment.
fn on_one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn restart(name: &str, obstacle: Option<&str>) -> Restart {
        Restart {
            namespace: "blue".to_owned(),
            kind: "Deployment".to_owned(),
            name: name.to_owned(),
            pods: 2,
            obstacle: obstacle.map(str::to_owned),
            budgets: Some(vec!["web".to_owned()]),
        }
    }

    fn run_lines(restarts: Vec<Restart>) -> Vec<String> {
        let script = commands(&Preview { restarts, ..Preview::default() });
        let is_run = |line: &&str| !line.starts_with('#') && !line.is_empty() && *line != "set -e";
        script.lines().filter(is_run).map(str::to_owned).collect()
    }

    #[test]
    fn what_can_be_restarted_is() {
        assert_eq!(run_lines(vec![restart("web", None)]), ["kubectl rollout restart deployment/web --namespace blue"]);
    }

    #[test]
    fn what_can_not_be_restarted_is_a_comment() {
        let restarts = vec![restart("web", Some("it is paused")), restart("db", Some("its claim may not move"))];
        assert!(run_lines(restarts).is_empty());
    }

    #[test]
    fn no_name_leaves_its_line() {
        for name in ["web\nrm -rf /", "$(reboot)", "a;b", "-f", ""] {
            assert!(run_lines(vec![restart(name, None)]).is_empty(), "{name}");
        }
        assert!(run_lines(vec![restart("web", Some("claim a\nreboot"))]).is_empty());
    }

    #[test]
    fn that_nothing_is_misplaced_is_said() {
        assert!(commands(&Preview::default()).contains("# Nothing is misplaced."));
    }
}
