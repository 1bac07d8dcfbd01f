//! Several runs side by side in a terminal, and the sentence that says which is larger and why.
use alloc_timeline::Dimension;

use crate::analysis::{Comparison, Line};
use crate::model::{change, exact, exact_change, share, size};
use crate::view::table::{cell, table, text};

/// One sentence for each run after the first: which is larger, by how much, and through which category most.
pub fn verdicts(comparison: &Comparison<'_>) -> Vec<String> {
    let first = &comparison.runs[0];
    let base = first.timeline.peak.live_bytes;
    (1..comparison.runs.len())
        .map(|index| {
            let other = &comparison.runs[index];
            let difference = comparison.totals.difference(index);
            if difference == 0 {
                return format!("{} and {} peak at the same {} bytes.", first.label, other.label, exact(base));
            }
            let than = if difference > 0 { "more" } else { "less" };
            let amount = u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX);
            let mut sentence = format!(
                "{} holds {} ({}) {than} than {} at its peak",
                other.label,
                size(amount),
                share(amount, base),
                first.label
            );
            let against = comparison.main_counterweight(index);
            match (comparison.main_cause(index), against) {
                // Where large movements nearly cancel, none of them is "most" of what is left.
                (Some((cause, up)), Some((counter, down)))
                    if up.abs() > difference.abs() && 2 * down.abs() > up.abs() =>
                {
                    let ((more, added), (less, taken)) =
                        if up > 0 { ((cause, up), (counter, down)) } else { ((counter, down), (cause, up)) };
                    let (added, taken) = (change(added), change(taken));
                    sentence
                        .push_str(&format!("; {more} adds the most ({added}), {less} takes the most away ({taken})"));
                }
                (Some((cause, up)), _) => sentence.push_str(&format!("; most of it is {cause} ({})", change(up))),
                (None, _) => {}
            }
            sentence.push('.');
            sentence
        })
        .collect()
}

/// The tables. `only_changed` leaves out lines that are the same in all runs; `most` bounds each table.
pub fn compare_text(comparison: &Comparison<'_>, only_changed: bool, most: usize) -> String {
    let mut out = verdicts(comparison).join("\n");
    out.push_str("\n\nPeak\n");
    let mut totals = table(&heads(comparison, ""));
    totals.add_row(row(&comparison.totals, "live bytes"));
    let facts = |name: &str, of: fn(&crate::model::Run) -> Option<u64>| {
        row(&Line { name: name.to_owned(), bytes: comparison.runs.iter().map(of).collect() }, name)
    };
    totals.add_row(facts("requested bytes", |run| Some(run.timeline.peak.requested_bytes)));
    totals.add_row(facts("RSS, highest", |run| run.rss_peak()));
    out.push_str(&text(&totals));
    for dimension in Dimension::ALL {
        let lines: Vec<&Line> =
            comparison.by(dimension).iter().filter(|line| !only_changed || !line.is_even()).collect();
        if lines.is_empty() {
            out.push_str(&format!("\nBy {dimension}: no difference\n"));
            continue;
        }
        let mut table = table(&heads(comparison, dimension.name()));
        for line in lines.iter().take(most) {
            table.add_row(row(line, &line.name));
        }
        if lines.len() > most {
            table.add_row(row(&rest(&lines[most..]), &format!("rest ({})", lines.len() - most)));
        }
        out.push_str(&format!("\nBy {dimension}\n{}", text(&table)));
    }
    out
}

/// The sum of the lines that are not shown.
fn rest(lines: &[&Line]) -> Line {
    let count = lines.first().map_or(0, |line| line.bytes.len());
    let sum = |index| Some(lines.iter().filter_map(|line| line.bytes[index]).sum());
    Line { name: "rest".to_owned(), bytes: (0..count).map(sum).collect() }
}

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

/// Bytes of each run and the difference to the first; exact where two runs leave the room for it.
fn row(line: &Line, name: &str) -> Vec<String> {
    let two = line.bytes.len() == 2;
    let mut row = vec![cell(name)];
    for (index, bytes) in line.bytes.iter().enumerate() {
        row.push(bytes.map_or(String::new(), if two { exact } else { size }));
        if index > 0 {
            let known = bytes.is_some() || line.bytes[0].is_some();
            let difference = line.difference(index);
            row.push(match known {
                false => String::new(),
                true if two => exact_change(difference),
                true => change(difference),
            });
        }
    }
    row
}
