//! `viewer compare` and `viewer diff`: several runs side by side.
use alloc_timeline::Dimension;

use crate::analysis::{Absent, Comparison, ComparisonRow, TimeComparison, compare_times};
use crate::model::{Run, change, exact, exact_change, shortened, size};
use crate::view::text::table::{Table, short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::self_time::basis_words;
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
    out.push_str(&side_by_side(comparison, Figure::Bytes, "", &totals, width));
    for dimension in Dimension::ALL {
        let all = comparison.rows_by(dimension).iter();
        let rows: Vec<ComparisonRow> = all.filter(|row| !only_changed || !row.is_unchanged()).cloned().collect();
        if rows.is_empty() {
            out.push_str(&format!("\nBy {dimension}: no difference\n"));
            continue;
        }
        let rows = with_rest(rows, most);
        let name = dimension.name();
        out.push_str(&format!("\nBy {name}\n{}", side_by_side(comparison, Figure::Bytes, name, &rows, width)));
    }
    if let Some(times) = compare_times(comparison.runs) {
        out.push_str(&self_times(comparison, &times, most, width));
    }
    fitted(&out, width)
}

/// What the numbers of a table are.
#[derive(Clone, Copy)]
enum Figure {
    Bytes,
    /// Nanoseconds, written as milliseconds.
    Time,
}

impl Figure {
    /// The numbers are exact when there are only two runs, because more would not fit.
    fn shown(self, number: u64, two: bool) -> String {
        match self {
            Figure::Time => format!("{:.2}", number as f64 / 1e6),
            Figure::Bytes if two => exact(number),
            Figure::Bytes => size(number),
        }
    }

    fn change(self, difference: i128, two: bool) -> String {
        match self {
            Figure::Time => format!("{:+.2}", difference as f64 / 1e6),
            Figure::Bytes if two => exact_change(difference),
            Figure::Bytes => change(difference),
        }
    }
}

/// The self times of the runs. Times are never the same, so no row is left out for that.
fn self_times(comparison: &Comparison<'_>, times: &TimeComparison, most: usize, width: usize) -> String {
    let mut out = "\nSelf time in milliseconds\n".to_owned();
    for (run, basis) in comparison.runs.iter().zip(&times.basis) {
        let of = basis.as_ref().map_or("unavailable: no times were measured".to_owned(), basis_words);
        out.push_str(&wrapped(&of, &format!("  {}: ", run.label), "    ", width));
    }
    out.push_str(&side_by_side(comparison, Figure::Time, "", std::slice::from_ref(&times.totals), width));
    for (name, rows) in &times.groups {
        let rows = with_rest(rows.clone(), most);
        out.push_str(&format!("\nSelf time by {name}\n{}", side_by_side(comparison, Figure::Time, name, &rows, width)));
    }
    out
}

/// The first `most` rows, and the others as one.
fn with_rest(mut rows: Vec<ComparisonRow>, most: usize) -> Vec<ComparisonRow> {
    if rows.len() > most {
        let others = rows.split_off(most);
        rows.push(rest(&others));
    }
    rows
}

/// The sum of the rows that are not displayed.
fn rest(rows: &[ComparisonRow]) -> ComparisonRow {
    let (runs, absent) = rows.first().map_or((0, Absent::Nothing), |row| (row.figures.len(), row.absent));
    let sum = |index: usize| {
        let figures: Vec<u64> = rows.iter().filter_map(|row| row.figures[index]).collect();
        let is_known = absent == Absent::Nothing || !figures.is_empty();
        is_known.then(|| figures.into_iter().fold(0, u64::saturating_add))
    };
    ComparisonRow { name: format!("rest ({})", rows.len()), figures: (0..runs).map(sum).collect(), absent }
}

/// The rows in a table of all runs, or, where the terminal is too narrow for that, in several tables, each of which begins
/// with the first run.
fn side_by_side(
    comparison: &Comparison<'_>,
    figure: Figure,
    first: &str,
    rows: &[ComparisonRow],
    width: usize,
) -> String {
    let others: Vec<usize> = (1..comparison.runs.len()).collect();
    let of_runs = |others: &[usize], label| of_runs(comparison, figure, first, rows, others, label);
    let whole = of_runs(&others, usize::MAX);
    if whole.whole_width() <= width || others.len() < 2 {
        return whole.text(width);
    }
    let fits = |count: &usize| of_runs(&others[..*count], SHORT_LABEL).least_width() <= width;
    let count = (1..=others.len()).rev().find(fits).unwrap_or(1);
    let tables = others.chunks(count).map(|some| of_runs(some, SHORT_LABEL).text(width));
    tables.collect()
}

/// The first run and `others`, by their index, with labels of at most `label` characters.
fn of_runs(
    comparison: &Comparison<'_>,
    figure: Figure,
    first: &str,
    rows: &[ComparisonRow],
    others: &[usize],
    label: usize,
) -> Table {
    let head = |index: usize| format!(">{}", shortened(&comparison.runs[index].label, label));
    let mut heads = vec![first.to_owned(), head(0)];
    others.iter().for_each(|&index| heads.extend([head(index), ">difference".to_owned()]));
    let mut table = table(&heads);
    let two = comparison.runs.len() == 2;
    for row in rows {
        let none = if row.absent == Absent::NotKnown { "not known" } else { "" };
        let shown = |index: usize| row.figures[index].map_or(none.to_owned(), |number| figure.shown(number, two));
        let mut cells = vec![short_name(&row.name), shown(0)];
        for &index in others {
            let change = row.known_difference(index).map(|difference| figure.change(difference, two));
            cells.extend([shown(index), change.unwrap_or_default()]);
        }
        table.add_row(cells);
    }
    table
}
