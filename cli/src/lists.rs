//! Counts and lists, as people read them.

/// Returns `1 node`, `2 nodes`.
pub fn counted(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// Returns `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [item] => item.clone(),
        [items @ .., last] => format!("{} and {last}", items.join(", ")),
    }
}

/// Returns `a, b and 3 more`, where there are more than `most`.
pub fn shortened(items: &[String], most: usize) -> Option<String> {
    match items.split_at_checked(most) {
        Some((shown, more @ [_, ..])) => Some(format!("{} and {} more", shown.join(", "), more.len())),
        _ => None,
    }
}

/// Returns each item once, in the order in which they come first.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = vec![];
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[rstest::rstest]
    #[case::none(&[], None)]
    #[case::as_many_as_are_shown(&["a", "b"], None)]
    #[case::more(&["a", "b", "c", "d"], Some("a, b and 2 more"))]
    fn a_list_is_shortened_where_it_is_longer(#[case] items: &[&str], #[case] told: Option<&str>) {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        assert_eq!(shortened(&items, 2).as_deref(), told);
    }
}
