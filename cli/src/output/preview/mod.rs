//! A preview for people, for a browser, and as a script.

mod commands;
mod matrix;
mod page;
mod rows;
mod text;
mod workloads;

pub use self::{
    commands::commands,
    page::{Origin, page},
    text::text,
};

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::preview::{Preview, sample};

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or_default()
    }

    #[rstest]
    fn text_keeps_to_its_width(#[values(1, 3, 12, 300)] tenants: usize, #[values(60, 80, 100, 200)] width: usize) {
        let text = text(&sample::tenants(tenants), width, false);
        assert!(widest(&text) <= width, "{text}");
    }

    #[test]
    fn three_hundred_tenants_read_as_well_as_three() {
        let (three, many) = (text(&sample::tenants(3), 100, false), text(&sample::tenants(300), 100, false));
        assert!(three.contains('│') && !many.contains('│'), "{many}");
        assert!(many.lines().count() < 140, "{} lines", many.lines().count());
        assert!(many.contains("more rows of the entry for tenant, all in order"), "{many}");
        let all = text(&sample::tenants(300), 100, true);
        assert!(
            (0..300).all(|index| all.contains(&format!("tenant-{index:03}: Deployment web")) || index < 2),
            "{all}"
        );
    }

    #[test]
    fn a_table_is_drawn_only_where_no_word_breaks() {
        let text = text(&sample::tenants(3), 60, false);
        assert!(!text.contains('│') && text.contains("new Pods"), "{text}");
    }

    #[test]
    fn what_comes_first_is_the_verdict_and_then_what_to_do() -> anyhow::Result<()> {
        let preview = sample::tenants(12);
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
        let page = page(&sample::tenants(12), &Origin::default())?;
        for outside in ["http://", "https://", "src=", "@import", "url(", "<script", "<b>"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("&lt;b&gt;pool=other&lt;&#x2f;b&gt;"), "{page}");
        Ok(())
    }

    #[test]
    fn a_comparison_says_what_it_was() -> anyhow::Result<()> {
        let preview = sample::difference();
        assert!(text(&preview, 100, false).contains("Deployment web (was unchanged)"));
        assert!(page(&preview, &Origin::default())?.contains("(was unchanged)"));
        let same = Preview { workloads: vec![], ..preview };
        assert!(text(&same, 100, false).contains("Compared with the old settings, no outcome changes."));
        Ok(())
    }
}
