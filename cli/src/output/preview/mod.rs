//! A preview for people, for a browser, and as a script.

mod commands;
mod page;
mod text;
mod view;

pub use self::{
    commands::commands,
    page::{Origin, page},
    text::text,
};

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::preview::{
        Advice, Answer, Cause, CauseKind, Cell, Circumstances, Forecast, Namespace, Outcome, OutcomeEntry, Pool,
        Preview, Restart, Row, Verdict, WayOut, Workload, merged,
    };

    fn finding(outcome: Outcome, reason: Option<&str>) -> OutcomeEntry {
        OutcomeEntry { forecast: Forecast::real(outcome), reason: reason.map(str::to_owned), was: None }
    }

    /// `count` tenants, each with a pool, a namespace and a Deployment; the first has a Deployment that is refused, and the
    /// second one whose Pods move.
    fn tenants_of(count: usize) -> Preview {
        tenants_with(count, &[Outcome::Refused, Outcome::Misplaced])
    }

    /// Returns the same, with these outcomes of the first Deployments.
    fn tenants_with(count: usize, outcomes: &[Outcome]) -> Preview {
        let mut preview = Preview::default();
        for index in 0..count {
            let outcome = outcomes.get(index).copied().unwrap_or(Outcome::Changed);
            add_tenant(&mut preview, index, count, outcome);
        }
        preview.rows = merged(preview.rows);
        preview.advice.push(Advice {
            text: "Deployment web in tenant-000 asks for pool=other: change it, or the entry for tenant.".to_owned(),
            cause: Cause { kind: CauseKind::Requests, namespace: Some("tenant-000".to_owned()), ..Cause::default() },
            way_out: WayOut::Said,
            about: vec![],
        });
        preview.restarts.push(Restart {
            namespace: "tenant-001".to_owned(),
            kind: "Deployment".to_owned(),
            name: "web".to_owned(),
            pods: 2,
            obstacle: Some("the Deployment is paused".to_owned()),
            budgets: Some(vec![]),
        });
        preview.remarks.push("No NodePools found: assuming that Karpenter is not installed.".to_owned());
        let workloads = preview.workloads.iter().map(|it| (it.kind.as_str(), it.finding.forecast));
        let namespaces = preview.namespaces.iter().map(|it| ("", it.finding.forecast));
        preview.verdict = Verdict::new(workloads.chain(namespaces), &Circumstances::default(), &[]);
        preview
    }

    /// Adds the tenant at this place of `count`, whose Deployment has this outcome.
    fn add_tenant(preview: &mut Preview, index: usize, count: usize, outcome: Outcome) {
        let (tenant, is_misplaced) = (format!("tenant-{index:03}"), outcome == Outcome::Misplaced);
        preview.workloads.push(Workload {
            kind: "Deployment".to_owned(),
            namespace: tenant.clone(),
            name: "web".to_owned(),
            finding: finding(outcome, (outcome == Outcome::Refused).then_some("it asks for <b>pool=other</b>")),
            nodes: if is_misplaced { vec!["node-0-a".to_owned()] } else { vec![] },
            pods: 2,
            owner: None,
        });
        preview.namespaces.push(Namespace { name: tenant.clone(), finding: finding(Outcome::Changed, None) });
        let mut cells = vec![Cell::default(); count];
        cells[index].answer = Answer::Yes;
        cells[if is_misplaced { 0 } else { index }].pods = 2;
        preview.rows.push(Row {
            position: 0,
            entry: Some("the entry for tenant".to_owned()),
            tenant: Some(format!("tenant={tenant}")),
            selector: format!("pool={tenant}"),
            written_selector: "pool=$(tenant)".to_owned(),
            cells,
            forecast: Forecast::real(Outcome::Changed),
            kept_away: None,
            namespaces: vec![tenant.clone()],
            pods_there: if is_misplaced { 0 } else { 2 },
            pods_elsewhere: if is_misplaced { 2 } else { 0 },
            tenants: vec![],
        });
        preview.pools.push(Pool {
            name: format!("pool={tenant}"),
            labels: [("pool".to_owned(), tenant)].into(),
            taints: vec!["example.com/dedicated=tenant:NoSchedule".to_owned()],
            nodes: vec![format!("node-{index}-a"), format!("node-{index}-b")],
            node_pool: None,
        });
    }

    /// Returns a comparison in which one Deployment is refused that was not.
    fn difference() -> Preview {
        let mut preview = tenants_of(1);
        preview.opens = Some(vec![]);
        preview.namespaces.clear();
        if let Some(workload) = preview.workloads.first_mut() {
            workload.finding.was = Some(Forecast::real(Outcome::Unchanged));
        }
        preview
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
    }

    #[rstest]
    fn text_keeps_to_its_width(#[values(1, 3, 12, 300)] tenants: usize, #[values(60, 80, 100, 200)] width: usize) {
        let text = text(&tenants_of(tenants), width, false);
        assert!(widest(&text) <= width, "{text}");
    }

    #[test]
    fn three_hundred_tenants_read_as_well_as_three() {
        let (three, many) = (text(&tenants_of(3), 100, false), text(&tenants_of(300), 100, false));
        assert!(three.contains('│') && !many.contains('│'), "{many}");
        assert!(many.contains("299 tenants of the entry for tenant: each its own nodes"), "{many}");
        assert!(many.lines().count() < 50, "{} lines", many.lines().count());
        let all = text(&tenants_of(300), 100, true);
        assert!(
            (0..300).all(|index| all.contains(&format!("tenant-{index:03}: Deployment web")) || index < 2),
            "{all}"
        );
    }

    #[rstest]
    fn a_preview_without_trouble_fits_sixty_lines(#[values(3, 25, 300)] tenants: usize) {
        let text = text(&tenants_with(tenants, &[]), 100, false);
        assert!(text.lines().count() <= 60, "{text}");
    }

    #[test]
    fn the_same_problem_of_many_is_told_once() {
        let mut preview = tenants_with(30, &[Outcome::Refused; 30]);
        let text = text(&preview, 200, false);
        assert!(text.contains("30 namespaces: tenant-000, tenant-001, tenant-002 and 27 more"), "{text}");
        assert_eq!(text.matches("pool=other</b>").count(), 1, "{text}");
        preview.workloads.iter_mut().for_each(|workload| workload.namespace = "blue".to_owned());
        let text = self::text(&preview, 200, false);
        assert!(text.contains("30 workloads: Deployment web, Deployment web, Deployment web and 27 more"), "{text}");
    }

    #[test]
    fn a_page_names_everybody_in_rows_of_many() -> anyhow::Result<()> {
        let page = page(&tenants_of(300), &Origin::default())?;
        assert!(
            (0..300).all(|index| page.contains(&format!("<strong>tenant-{index:03}</strong>")) || index == 1),
            "{page}"
        );
        Ok(())
    }

    #[test]
    fn a_table_is_drawn_only_where_no_word_breaks() {
        let text = text(&tenants_of(3), 60, false);
        assert!(!text.contains('│') && text.contains("new Pods"), "{text}");
    }

    #[test]
    fn what_comes_first_is_the_verdict_and_then_what_to_do() -> anyhow::Result<()> {
        let preview = tenants_of(12);
        let page = page(&preview, &Origin::default())?;
        for shown in [text(&preview, 100, false), page] {
            let places: Vec<_> = ["Not yet: 1 workload is refused", "What to do", "Who may run where", "Also"]
                .iter()
                .map(|part| shown.find(part))
                .collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {shown}");
        }
        Ok(())
    }

    #[test]
    fn a_page_needs_nothing_and_escapes_what_others_wrote() -> anyhow::Result<()> {
        let page = page(&tenants_of(12), &Origin::default())?;
        for outside in ["http://", "https://", "src=", "@import", "url(", "<script", "<b>"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("&lt;b&gt;pool=other&lt;&#x2f;b&gt;"), "{page}");
        Ok(())
    }

    #[test]
    fn a_comparison_says_what_it_was() -> anyhow::Result<()> {
        let preview = difference();
        assert!(text(&preview, 100, false).contains("Deployment web (before: unchanged)"));
        assert!(page(&preview, &Origin::default())?.contains("(before: unchanged)"));
        let same = Preview { workloads: vec![], ..preview };
        assert!(text(&same, 100, false).contains("Compared with the old settings, no outcome changes."));
        Ok(())
    }
}
