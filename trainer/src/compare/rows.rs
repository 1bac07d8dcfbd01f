//! The comparison of allocators as rows: numbers with their spread, the table, and which one is best.
use serde::Serialize;

use crate::figures::{self, median, mib, seconds};

/// The middle of several measurements and how far they lie apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    /// How many were measured.
    pub(super) count: usize,
}

impl Spread {
    /// `None` of no values.
    pub(super) fn of(values: &[u64]) -> Option<Spread> {
        let (least, most) = (*values.iter().min()?, *values.iter().max()?);
        Some(Spread { median: median(values), least, most, count: values.len() })
    }

    fn text(&self, number: fn(u64) -> String) -> [String; 2] {
        [number(self.median), format!("{} .. {}", number(self.least), number(self.most))]
    }
}

/// One allocator under one model in one mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    pub(super) model: String,
    pub(super) mode: String,
    pub(super) allocator: String,
    /// Why this allocator did not run.
    pub(super) missing: Option<String>,
    /// Most live bytes, usable.
    pub(super) peak_live_bytes: Option<u64>,
    /// Why nobody counted the live bytes.
    pub(super) peak_live_missing: Option<String>,
    /// One value a process.
    pub(super) peak_rss_bytes: Option<Spread>,
    /// Nanoseconds, one value a step.
    pub(super) step_ns: Option<Spread>,
}

/// The best of the rows of one model in one mode.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Best {
    pub(super) model: String,
    pub(super) mode: String,
    pub(super) peak_rss: Winner,
    pub(super) step: Winner,
}

/// The smallest median.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Winner {
    pub(super) allocator: String,
    /// Whether all of its values lie below all values of every other row.
    pub(super) clear: bool,
    /// Its median as a part of the first row's.
    pub(super) of_first: f64,
}

/// The best of every model in every mode that has two rows with numbers or more.
pub(super) fn best(rows: &[Row]) -> Vec<Best> {
    let same = |a: &Row, b: &Row| (&a.model, &a.mode) == (&b.model, &b.mode);
    rows.chunk_by(same)
        .filter_map(|rows| {
            let first = rows.first()?;
            Some(Best {
                model: first.model.clone(),
                mode: first.mode.clone(),
                peak_rss: winner(rows, |row| row.peak_rss_bytes.as_ref())?,
                step: winner(rows, |row| row.step_ns.as_ref())?,
            })
        })
        .collect()
}

fn winner(rows: &[Row], of: fn(&Row) -> Option<&Spread>) -> Option<Winner> {
    let known: Vec<(&Row, &Spread)> = rows.iter().filter_map(|row| Some((row, of(row)?))).collect();
    let (place, &(row, spread)) = known.iter().enumerate().min_by_key(|(_, (_, spread))| spread.median)?;
    let mut others = known.iter().enumerate().filter(|(other, _)| *other != place);
    let clear = others.clone().all(|(_, (_, other))| spread.most < other.least);
    others.next()?;
    let first = known.first()?.1;
    Some(Winner {
        allocator: row.allocator.clone(),
        clear,
        of_first: spread.median as f64 / first.median.max(1) as f64,
    })
}

/// The rows as aligned text, and what they say.
pub(super) fn table(rows: &[Row]) -> String {
    let cells = rows.iter().map(|row| {
        let unknown = || ["unavailable".to_owned(), String::new()];
        let [rss, rss_spread] = row.peak_rss_bytes.as_ref().map_or_else(unknown, |spread| spread.text(mib));
        let [step, step_spread] = row.step_ns.as_ref().map_or_else(unknown, |spread| spread.text(seconds));
        let live = row.peak_live_bytes.map_or("unavailable".to_owned(), mib);
        vec![row.model.clone(), row.mode.clone(), row.allocator.clone(), live, rss, rss_spread, step, step_spread]
    });
    let heads =
        ["model", "mode", "allocator", ">peak live", ">peak RSS", ">least .. most", ">a step", ">least .. most"];
    let mut text = figures::table(&heads, cells);
    for best in best(rows) {
        let Best { model, mode, peak_rss, step } = best;
        text.push_str(&format!(
            "\n{model} {mode}: smallest peak RSS {}; fastest step {}",
            sentence(rows, &peak_rss),
            sentence(rows, &step)
        ));
    }
    let mut said = Vec::new();
    for row in rows {
        let live = row.peak_live_missing.as_ref().map(|reason| format!("{}: no peak live: {reason}", row.allocator));
        let missing = row.missing.as_ref().map(|reason| format!("{}: unavailable: {reason}", row.allocator));
        for note in [missing, live].into_iter().flatten().filter(|note| !said.contains(note)).collect::<Vec<_>>() {
            text.push_str(&format!("\nnote: {note}"));
            said.push(note);
        }
    }
    text
}

/// `glibc (0.87 of jemalloc's; no value of another is as low)`.
fn sentence(rows: &[Row], winner: &Winner) -> String {
    let certainty = if winner.clear { "no value of another is as low" } else { "but the spreads overlap" };
    match rows.first() {
        Some(first) if first.allocator != winner.allocator => {
            format!("{} ({:.2} of {}'s; {certainty})", winner.allocator, winner.of_first, first.allocator)
        }
        _ => format!("{} ({certainty})", winner.allocator),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(allocator: &str, rss: &[u64], step: &[u64]) -> Row {
        Row {
            model: "resnet18".to_owned(),
            mode: "train".to_owned(),
            allocator: allocator.to_owned(),
            missing: None,
            peak_live_bytes: Some(1 << 20),
            peak_live_missing: None,
            peak_rss_bytes: Spread::of(rss),
            step_ns: Spread::of(step),
        }
    }

    /// glibc's 30..50 lies below jemalloc's 60..80 in each value; of the steps 1..9 and 2..4 overlap.
    #[test]
    fn the_best_has_the_smallest_median_and_is_clear_when_nothing_else_is_as_low() {
        let rows = [row("jemalloc", &[60, 80, 70], &[9, 1, 8]), row("glibc", &[30, 50, 35], &[2, 3, 4])];
        let [best] = &best(&rows)[..] else { panic!("one model in one mode") };
        assert_eq!(best.peak_rss, Winner { allocator: "glibc".to_owned(), clear: true, of_first: 0.5 });
        assert_eq!(best.step, Winner { allocator: "glibc".to_owned(), clear: false, of_first: 3.0 / 8.0 });
        assert!(
            table(&rows).ends_with(
                "resnet18 train: smallest peak RSS glibc (0.50 of jemalloc's; no value of another is as low); \
                 fastest step glibc (0.38 of jemalloc's; but the spreads overlap)"
            ),
            "{}",
            table(&rows)
        );
    }

    #[test]
    fn what_could_not_run_is_unavailable_and_wins_nothing() {
        let mut absent = row("mimalloc", &[], &[]);
        absent.missing = Some("it is not there".to_owned());
        (absent.peak_live_bytes, absent.peak_live_missing) = (None, Some("nobody counts".to_owned()));
        let rows = [row("jemalloc", &[60], &[9]), absent];
        assert_eq!(best(&rows), [], "one row is no comparison");
        let text = table(&rows);
        assert_eq!(text.matches("unavailable").count(), 4, "{text}");
        assert!(text.contains("note: mimalloc: unavailable: it is not there"), "{text}");
        assert!(text.contains("note: mimalloc: no peak live: nobody counts"), "{text}");
    }
}
