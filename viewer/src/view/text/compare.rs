//! `viewer compare` and `viewer diff`: several runs side by side.
use alloc_timeline::Dimension;

use crate::analysis::{Comparison, ComparisonRow};
use crate::model::{Run, change, exact, exact_change, size};
use crate::view::text::table::{render, short_name, table};
use crate::view::words::verdicts;

/// The sentences and the tables, each with at most `most` rows. `only_changed` leaves out rows that are the same in all runs.
pub fn compare_text(comparison: &Comparison<'_>, only_changed: bool, most: usize) -> String {
    let mut out = verdicts(comparison).join("\n");
    out.push_str("\n\nPeak\n");
    let mut totals = table(&heads(comparison, ""));
    totals.add_row(cells(&comparison.totals, "live bytes"));
    let figure = |name: &str, of_run: fn(&Run) -> Option<u64>| cells(&comparison.figure(of_run), name);
    totals.add_row(figure("requested bytes", |run| Some(run.timeline.peak.requested_bytes)));
    totals.add_row(figure("RSS, highest", Run::rss_peak));
    out.push_str(&render(&totals));
    for dimension in Dimension::ALL {
        let rows: Vec<&ComparisonRow> =
            comparison.rows_by(dimension).iter().filter(|row| !only_changed || !row.is_unchanged()).collect();
        if rows.is_empty() {
            out.push_str(&format!("\nBy {dimension}: no difference\n"));
            continue;
        }
        let mut table = table(&heads(comparison, dimension.name()));
        for row in rows.iter().take(most) {
            table.add_row(cells(row, &row.name));
        }
        if rows.len() > most {
            table.add_row(cells(&rest(&rows[most..]), &format!("rest ({})", rows.len() - most)));
        }
        out.push_str(&format!("\nBy {dimension}\n{}", render(&table)));
    }
    out
}

/// The sum of the rows that are not displayed.
fn rest(rows: &[&ComparisonRow]) -> ComparisonRow {
    let runs = rows.first().map_or(0, |row| row.bytes.len());
    let sum = |index| Some(rows.iter().filter_map(|row| row.bytes[index]).sum());
    ComparisonRow { name: "rest".to_owned(), bytes: (0..runs).map(sum).collect() }
}

/// The column heads: the label of each run, and after each run but the first its difference to the first.
fn heads(comparison: &Comparison<'_>, first: &str) -> Vec<String> {
    let mut heads = vec![first.to_owned()];
    for (index, run) in comparison.runs.iter().enumerate() {
        heads.push(format!(">{}", run.label));
        if index > 0 {
            heads.push(">difference".to_owned());
        }
    }
    heads
}

/// The cells of one row. The numbers are exact when there are only two runs, because more would not fit.
fn cells(row: &ComparisonRow, name: &str) -> Vec<String> {
    let two = row.bytes.len() == 2;
    let mut cells = vec![short_name(name)];
    for (index, bytes) in row.bytes.iter().enumerate() {
        cells.push(bytes.map_or(String::new(), if two { exact } else { size }));
        if index > 0 {
            let known = bytes.is_some() || row.bytes[0].is_some();
            let difference = row.difference(index);
            cells.push(match known {
                false => String::new(),
                true if two => exact_change(difference),
                true => change(difference),
            });
        }
    }
    cells
}
