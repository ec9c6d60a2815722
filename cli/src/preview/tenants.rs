//! Rows of tenants that share an entry, each with nodes of its own, as one row.

use std::collections::BTreeMap;

use super::who_may_run_where::{Answer, Row};

/// Fewer tenants are shown one by one.
const FEWEST: usize = 4;

/// Returns the rows, those of one entry as one if each may use its own nodes only, and has no Pods elsewhere. They stand
/// behind all others.
pub fn merged(rows: Vec<Row>) -> Vec<Row> {
    let mut users: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for row in &rows {
        for pool in row.pools_in_the_end() {
            *users.entry((row.position, pool)).or_default() += 1;
        }
    }
    let is_own = |row: &Row| {
        let mut pools = row.pools_in_the_end().peekable();
        let has_nodes = pools.peek().is_some();
        has_nodes && pools.all(|pool| users.get(&(row.position, pool)) == Some(&1))
    };
    let (alike, mut others): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| row.tenant.is_some() && row.has_no_trouble() && is_own(row));
    let mut entries: BTreeMap<_, Vec<Row>> = BTreeMap::new();
    for row in alike {
        entries.entry((row.position, row.forecast, row.is_shared_until_enforced())).or_default().push(row);
    }
    let mut merged = vec![];
    for tenants in entries.into_values() {
        if tenants.len() < FEWEST {
            others.extend(tenants);
        } else {
            merged.extend(as_one(tenants));
        }
    }
    others.sort();
    others.into_iter().chain(merged).collect()
}

/// Returns one row for all of these tenants.
fn as_one(tenants: Vec<Row>) -> Option<Row> {
    let mut row = Row { tenant: None, namespaces: vec![], pods_there: 0, ..tenants.first()?.clone() };
    row.selector.clone_from(&row.written_selector);
    for tenant in &tenants {
        row.namespaces.extend(tenant.namespaces.iter().cloned());
        row.pods_there += tenant.pods_there;
    }
    row.namespaces.sort();
    row.tenants = tenants;
    Some(row)
}

impl Row {
    /// Returns the positions of the pools that accept a plain Pod when all entries are enforced.
    fn pools_in_the_end(&self) -> impl Iterator<Item = usize> {
        let cells = self.cells.iter().enumerate();
        cells.filter(|(_, cell)| cell.answer.is_yes_once_enforced()).map(|(pool, _)| pool)
    }

    /// Returns whether it may use the nodes of others until its entry is enforced.
    pub fn is_shared_until_enforced(&self) -> bool {
        self.cells.iter().any(|cell| cell.answer == Answer::UntilEnforced)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            outcome::{Forecast, Outcome},
            who_may_run_where::Cell,
        },
        *,
    };

    /// Rows of tenants of one entry, with what each pool answers.
    fn rows(answers: &[&[Answer]]) -> Vec<Row> {
        let rows = answers.iter().enumerate().map(|(index, answers)| Row {
            position: 0,
            entry: Some("the entry for tenant".to_owned()),
            tenant: Some(format!("tenant={index}")),
            selector: format!("pool={index}"),
            written_selector: "pool=$(tenant)".to_owned(),
            cells: answers.iter().map(|answer| Cell { answer: *answer, pods: 0 }).collect(),
            forecast: Forecast::real(Outcome::Changed),
            kept_away: None,
            namespaces: vec![format!("n{index}")],
            pods_there: 1,
            pods_elsewhere: 0,
            tenants: vec![],
        });
        rows.collect()
    }

    /// So many tenants, each with a pool of its own.
    fn own(count: usize) -> Vec<Row> {
        let answer = |own: bool| if own { Answer::Yes } else { Answer::No };
        let answers: Vec<Vec<Answer>> =
            (0..count).map(|row| (0..count).map(|pool| answer(row == pool)).collect()).collect();
        rows(&answers.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn tenants_with_nodes_of_their_own_are_one_row() {
        let merged = merged(own(25));
        assert_eq!(merged.len(), 1);
        let row = merged.first().unwrap();
        assert_eq!((row.tenants.len(), row.namespaces.len(), row.pods_there), (25, 25, 25));
        assert_eq!(row.selector, "pool=$(tenant)");
    }

    #[test]
    fn a_few_tenants_are_shown_one_by_one() {
        assert_eq!(merged(own(3)), own(3));
    }

    #[test]
    fn who_shares_nodes_or_has_pods_elsewhere_is_shown() {
        let mut tenants = own(6);
        tenants[0].cells[1].answer = Answer::Yes;
        tenants[5].pods_elsewhere = 1;
        let merged = merged(tenants);
        let shown: Vec<&str> = merged.iter().filter(|row| row.tenants.is_empty()).map(Row::name).collect();
        // The second one's nodes are those of the first, too: three are too few for one row.
        assert_eq!(shown.len(), 6);
        assert!(merged.iter().all(|row| row.tenants.is_empty()));
    }

    #[test]
    fn what_holds_once_enforced_counts() {
        let mut tenants = own(4);
        for row in &mut tenants {
            for cell in &mut row.cells {
                cell.answer = if cell.answer == Answer::Yes { Answer::Yes } else { Answer::UntilEnforced };
            }
        }
        let merged = merged(tenants);
        assert_eq!(merged.len(), 1);
        assert!(merged.iter().all(Row::is_shared_until_enforced));
    }
}
