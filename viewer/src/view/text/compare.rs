//! `viewer compare` and `viewer diff`: several runs side by side.
use alloc_timeline::Dimension;

use crate::analysis::{Comparison, ComparisonRow};
use crate::model::{Run, change, exact, exact_change, shortened, size};
use crate::view::text::table::{Table, short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::fitted;
use crate::view::words::verdicts;

/// Characters of a run's label where not all runs fit beside each other.
const SHORT_LABEL: usize = 12;

/// The sentences and the tables, each with at most `most` rows. `only_changed` leaves out rows that are the same in all runs.
pub fn compare_text(comparison: &Comparison<'_>, only_changed: bool, most: usize, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut out = verdicts(comparison).join("\n");
    out.push_str("\n\nPeak\n");
    let named = |name: &str, row: ComparisonRow| ComparisonRow { name: name.to_owned(), ..row };
    let totals = [
        named("live bytes", comparison.totals.clone()),
        named("requested bytes", comparison.figure(|run| Some(run.timeline.peak.requested_bytes))),
        named("RSS, highest", comparison.figure(Run::rss_peak)),
    ];
    out.push_str(&side_by_side(comparison, "", &totals, width));
    for dimension in Dimension::ALL {
        let all = comparison.rows_by(dimension).iter();
        let mut rows: Vec<ComparisonRow> = all.filter(|row| !only_changed || !row.is_unchanged()).cloned().collect();
        if rows.is_empty() {
            out.push_str(&format!("\nBy {dimension}: no difference\n"));
            continue;
        }
        if rows.len() > most {
            let others = rows.split_off(most);
            rows.push(rest(&others));
        }
        out.push_str(&format!("\nBy {dimension}\n{}", side_by_side(comparison, dimension.name(), &rows, width)));
    }
    fitted(&out, width)
}

/// The sum of the rows that are not displayed.
fn rest(rows: &[ComparisonRow]) -> ComparisonRow {
    let runs = rows.first().map_or(0, |row| row.bytes.len());
    let sum = |index| Some(rows.iter().filter_map(|row: &ComparisonRow| row.bytes[index]).fold(0, u64::saturating_add));
    ComparisonRow { name: format!("rest ({})", rows.len()), bytes: (0..runs).map(sum).collect() }
}

/// The rows in a table of all runs, or, where the terminal is too narrow for that, in several tables, each of which begins
/// with the first run.
fn side_by_side(comparison: &Comparison<'_>, first: &str, rows: &[ComparisonRow], width: usize) -> String {
    let others: Vec<usize> = (1..comparison.runs.len()).collect();
    let whole = of_runs(comparison, first, rows, &others, usize::MAX);
    if whole.whole_width() <= width || others.len() < 2 {
        return whole.text(width);
    }
    let fits = |count: &usize| of_runs(comparison, first, rows, &others[..*count], SHORT_LABEL).least_width() <= width;
    let count = (1..=others.len()).rev().find(fits).unwrap_or(1);
    let tables = others.chunks(count).map(|some| of_runs(comparison, first, rows, some, SHORT_LABEL).text(width));
    tables.collect()
}

/// The first run and `others`, by their index, with labels of at most `label` characters.
fn of_runs(comparison: &Comparison<'_>, first: &str, rows: &[ComparisonRow], others: &[usize], label: usize) -> Table {
    let head = |index: usize| format!(">{}", shortened(&comparison.runs[index].label, label));
    let mut heads = vec![first.to_owned(), head(0)];
    others.iter().for_each(|&index| heads.extend([head(index), ">difference".to_owned()]));
    let mut table = table(&heads);
    // The numbers are exact when there are only two runs, because more would not fit.
    let two = comparison.runs.len() == 2;
    for row in rows {
        let bytes = |index: usize| row.bytes[index].map_or(String::new(), if two { exact } else { size });
        let mut cells = vec![short_name(&row.name), bytes(0)];
        for &index in others {
            let known = row.bytes[index].is_some() || row.bytes[0].is_some();
            let difference = row.difference(index);
            cells.extend([
                bytes(index),
                match known {
                    false => String::new(),
                    true if two => exact_change(difference),
                    true => change(difference),
                },
            ]);
        }
        table.add_row(cells);
    }
    table
}
