//! What limits did to a command, as text: one run in sentences, several as tables.
use super::culprit::{Culprit, Owner};
use super::row::{Layer, Row, largest};
use crate::figures::{mib, milliseconds, seconds, table};

/// How many layers the tables show; the files have all.
const LAYERS: usize = 12;

/// What a table says of a layer: a number, and how it is written.
type Cell = (fn(&Layer) -> Option<u64>, fn(u64) -> String);

/// One run in sentences. `holder` says what enforced the limit.
pub(super) fn one(row: &Row, holder: &str) -> String {
    let counters = &row.counters;
    let bytes = |bytes: Option<u64>| bytes.map_or("unavailable".to_owned(), mib);
    let number = |number: Option<u64>| number.map_or("unavailable".to_owned(), |number| number.to_string());
    let mut text = format!(
        "limit       {} of memory, by {holder}\n\
         ended       {}, after {}\n\
         peak        {}; of that could not be reclaimed: {}\n\
         pressure    limit hits {}, pages scanned {}, pages reclaimed {}, file pages read again {}, major faults {}\n\
         swap        {} at the end, pages that came back {}\n\
         kills       {} for lack of memory",
        row.limit_text(),
        row.ended(),
        seconds(row.wall_ns),
        bytes(counters.peak_bytes),
        bytes(row.unreclaimable_peak_bytes),
        number(counters.limit_hits),
        number(counters.pages_scanned),
        number(counters.pages_reclaimed),
        number(counters.file_refaults),
        number(counters.major_faults),
        bytes(counters.swap_bytes),
        number(counters.swap_refaults),
        number(counters.oom_kills),
    );
    let Some(run) = &row.run else { return text + "\ntimeline    the command left none" };
    let how = if run.recovered { "recovered from its log" } else { "whole" };
    let peak = mib(run.peak_live_bytes);
    text.push_str(&format!("\ntimeline    {}, {how}: {} steps done, peak live {peak}", run.timeline, run.steps));
    if let Some(culprit) = &run.culprit {
        text.push_str(&format!("\nbroke at    {}\nheld most   {}", grew(culprit), owners(&culprit.holds)));
    }
    text
}

/// Several runs: a table of the limits, and tables of the layers.
pub(super) fn several(rows: &[Row]) -> String {
    let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
    let heads = [
        ">limit",
        "ended",
        ">wall",
        ">steps",
        ">a step",
        ">peak",
        ">not reclaimable",
        ">limit hits",
        ">read again",
        ">major faults",
        "broke at",
    ];
    let lines = rows.iter().map(|row| {
        let run = row.run.as_ref();
        vec![
            row.limit_text(),
            row.ended(),
            seconds(row.wall_ns),
            run.map_or("-".to_owned(), |run| run.steps.to_string()),
            run.and_then(|run| run.step_ns).map_or("-".to_owned(), seconds),
            row.counters.peak_bytes.map_or("-".to_owned(), mib),
            row.unreclaimable_peak_bytes.map_or("-".to_owned(), mib),
            number(row.counters.limit_hits),
            number(row.counters.file_refaults),
            number(row.counters.major_faults),
            run.and_then(|run| run.culprit.as_ref()).map_or(String::new(), |culprit| names(&culprit.grew)),
        ]
    });
    let mut text = table(&heads, lines);
    let tables: [(&str, Cell); 4] = [
        ("Peak of each layer", (|layer| Some(layer.peak_bytes), mib)),
        ("Time to make each layer's weights", (|layer| layer.init_ns, milliseconds)),
        ("Time of each layer in all forward passes", (|layer| layer.forward_ns, milliseconds)),
        ("Time of each layer in all backward passes", (|layer| layer.backward_ns, milliseconds)),
    ];
    for (title, (number, written)) in tables {
        let mut names = largest(rows, number);
        names.truncate(LAYERS);
        if !names.is_empty() {
            let heads: Vec<String> = ["layer".to_owned()]
                .into_iter()
                .chain(rows.iter().map(|row| format!(">{}", row.limit_text())))
                .collect();
            let lines = names.iter().map(|name| {
                let of = |row: &Row| row.run.as_ref().and_then(|run| number(run.layers.get(name)?)).map(written);
                let cells = rows.iter().map(|row| of(row).unwrap_or("-".to_owned()));
                [name.clone()].into_iter().chain(cells).collect()
            });
            text.push_str(&format!("\n\n{title}, by limit\n{}", table(&heads, lines)));
        }
    }
    text
}

/// `phase forward (2.0 MiB), layer conv1 (1.0 MiB), op aten::conv2d (1.0 MiB), in the last 12.3 ms`.
fn grew(culprit: &Culprit) -> String {
    if culprit.grew.is_empty() {
        return "no sample before the end is lower: nothing is known to have grown".to_owned();
    }
    format!("{}, in the last {}", owners(&culprit.grew), milliseconds(culprit.grew_in_ns))
}

fn owners(owners: &[Owner]) -> String {
    let one = |owner: &Owner| format!("{} {} ({})", owner.dimension, owner.name, mib(owner.bytes));
    owners.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn names(owners: &[Owner]) -> String {
    owners.iter().map(|owner| owner.name.as_str()).collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Counters;
    use crate::limited::row::RunRow;
    use alloc_timeline::Dimension;

    fn row(limit_bytes: Option<u64>, broke: bool) -> Row {
        let owner = Owner { dimension: Dimension::Layer, name: "conv1".to_owned(), bytes: 1 << 20 };
        let culprit = Culprit { live_bytes: 1, grew: vec![owner.clone()], grew_in_ns: 12_000_000, holds: vec![owner] };
        let layer =
            Layer { peak_bytes: 3 << 20, init_ns: Some(2_000_000), forward_ns: None, backward_ns: Some(4_000_000) };
        Row {
            limit_bytes,
            by: "cgroup-v1",
            exit_code: if broke { 137 } else { 0 },
            broke: Some(broke),
            wall_ns: 1_500_000_000,
            unreclaimable_peak_bytes: Some(5 << 20),
            counters: Counters { peak_bytes: Some(6 << 20), limit_hits: Some(4), ..Counters::default() },
            run: Some(RunRow {
                timeline: "a.timeline.json.log".to_owned(),
                recovered: broke,
                steps: 2,
                step_ns: Some(700_000_000),
                peak_live_bytes: 4 << 20,
                culprit: broke.then_some(culprit),
                layers: [("conv1".to_owned(), layer)].into(),
            }),
        }
    }

    #[test]
    fn one_run_that_was_killed() {
        let text = one(&row(Some(6 << 20), true), "a control group");
        for line in [
            "limit       6.0 MiB of memory, by a control group",
            "ended       broke the limit (exit code 137), after 1.500 s",
            "timeline    a.timeline.json.log, recovered from its log: 2 steps done, peak live 4.0 MiB",
            "broke at    layer conv1 (1.0 MiB), in the last 12.0 ms",
            "held most   layer conv1 (1.0 MiB)",
        ] {
            assert!(text.lines().any(|found| found == line), "{line:?} is missing in\n{text}");
        }
        assert!(text.contains("pages scanned unavailable"), "what is not known is no 0: {text}");
    }

    /// The layers' forward times are unknown, so they have no table.
    #[test]
    fn a_table_of_limits_and_tables_of_layers() {
        let text = several(&[row(None, false), row(Some(6 << 20), true)]);
        assert!(text.lines().nth(2).is_some_and(|line| line.contains("none") && line.contains("finished")), "{text}");
        assert!(text.contains("Peak of each layer, by limit\nlayer      none   6.0 MiB"), "{text}");
        assert!(text.contains("conv1   2.0 ms    2.0 ms"), "{text}");
        assert!(!text.contains("forward passes"), "{text}");
        assert!(text.contains("all backward passes, by limit\nlayer     none   6.0 MiB"), "{text}");
        assert!(text.contains("conv1   4.0 ms    4.0 ms"), "{text}");
    }
}
