//! What the documentation points to is there: files, headings, tests.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result, ensure};

use super::{file, pages};

/// Every file or heading that the documentation points to is there.
#[test]
fn links_lead_somewhere() -> Result<()> {
    let mut count = 0;
    for document in pages()? {
        let path = file(&document);
        let text = fs::read_to_string(&path)?;
        for link in links(&text).filter(|link| !link.starts_with("https://")) {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match target {
                "" => path.clone(),
                _ => path.parent().context("a document stands in a folder")?.join(target),
            };
            ensure!(target.exists(), "{document}: {link}");
            if !heading.is_empty() {
                let text = fs::read_to_string(&target)?;
                ensure!(text.lines().any(|line| anchor(line).as_deref() == Some(heading)), "{document}: {link}");
            }
            count += 1;
        }
    }
    ensure!(count > 300, "only {count} links");
    Ok(())
}

/// Lines of prose can be read side by side. Tables, and blocks of what is typed or printed, are as wide as they must be.
#[test]
fn lines_of_prose_are_short() -> Result<()> {
    for document in pages()? {
        let mut is_block = false;
        for (position, line) in fs::read_to_string(file(&document))?.lines().enumerate() {
            is_block ^= line.trim_start().starts_with("```");
            let is_prose = !is_block && !line.trim_start().starts_with('|') && line.trim().contains(' ');
            ensure!(!is_prose || line.chars().count() <= 120, "{document}:{}: more than 120 characters", position + 1);
        }
    }
    Ok(())
}

/// What is said on one page is linked from the others. Sentences of a few words, such as headings, may be alike.
#[test]
fn no_sentence_stands_on_two_pages() -> Result<()> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for document in pages()? {
        let text = fs::read_to_string(file(&document))?;
        for sentence in sentences(&text) {
            if sentence.split(' ').count() < 6 {
                continue;
            }
            let page = found.entry(sentence.clone()).or_insert_with(|| document.clone());
            ensure!(*page == document, "{document} repeats {page}: {sentence}");
        }
    }
    ensure!(found.len() > 800, "only {} sentences", found.len());
    Ok(())
}

/// Returns the sentences of a document, and the cells of its tables, as words without marks. Blocks are no prose.
fn sentences(text: &str) -> Vec<String> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let mut parts = vec![prose.join("\n\n")];
    for end in [". ", ": ", "; ", ".\n", ":\n", ";\n", "\n\n", "\n- ", " | ", "|\n"] {
        parts = parts.iter().flat_map(|part| part.split(end)).map(str::to_owned).collect();
    }
    parts.iter().map(|part| words(part)).collect()
}

/// Returns the words of a sentence, without the targets of its links.
fn words(sentence: &str) -> String {
    let mut parts = sentence.split("](");
    let mut text = parts.next().unwrap_or_default().to_lowercase();
    for part in parts {
        text.push(' ');
        text.push_str(&part.split_once(')').map_or(part, |(_, after)| after).to_lowercase());
    }
    let words: Vec<&str> =
        text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Returns the links of a document.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

/// The anchor that GitHub gives a heading.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

/// A row of the table of attacks names functions of a file, or titles where cases are data: YAML in either style.
#[test]
fn every_attack_that_the_table_names_is_there() -> Result<()> {
    let table = fs::read_to_string(file("e2e-tests/attacks.md"))?;
    let mut count = 0;
    for row in table.lines().filter(|line| line.contains("](")) {
        let path = links(row).next().context("a file")?;
        let tests = fs::read_to_string(file("e2e-tests").join(path)).with_context(|| path.to_owned())?;
        let names = row.trim_end_matches(" |").rsplit(" | ").next().context("names")?;
        for name in names.split("; ") {
            let spellings = [format!("fn {name}("), format!("title: {name}\n"), format!("name: {name}\n")];
            ensure!(spellings.iter().any(|spelling| tests.contains(spelling)), "{path} has no {name}");
            count += 1;
        }
    }
    ensure!(count > 40, "only {count} tests are named");
    Ok(())
}
