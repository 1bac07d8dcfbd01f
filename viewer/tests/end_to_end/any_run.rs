//! Properties of all views for any timeline: nothing panics, and each split sums to its total.
use alloc_timeline::{Assembler, Category, Dimension, FORMAT_VERSION, Record, Row, Sample, Scope, Snapshot, Timeline};
use proptest::prelude::*;
use viewer::analysis::{PEAK, book_at, curve, owners, summarise};
use viewer::export::{csv, massif};
use viewer::model::Run;
use viewer::view::{
    Colours, Terminal, chart, flamegraph, folded_peak, report, rss_svg, summary_text, timeline_svg, waterfall_svg,
};

prop_compose! {
    fn rows(scopes: u32)(rows in prop::collection::vec((0..scopes, 0..10usize, 0..u64::MAX / 64), 0..12)) -> Vec<Row> {
        rows.into_iter()
            .map(|(scope, category, bytes)| Row {
                scope,
                category: Category::ALL[category],
                usable_bytes: bytes,
                requested_bytes: bytes / 2,
                blocks: bytes,
            })
            .collect()
    }
}

prop_compose! {
    fn timeline()(
        names in prop::collection::vec(("\\PC{0,6}", "[a-z.;#<]{0,9}", "\\PC{0,6}"), 1..5),
        peak in rows(1),
        samples in prop::collection::vec((any::<u64>(), rows(1)), 0..40),
        peak_ns in any::<u64>(),
        has_columns in any::<bool>(),
    ) -> Timeline {
        let mut assembler = Assembler::new();
        assembler.apply(Record::Start {
            format_version: FORMAT_VERSION,
            run: Default::default(),
            machine: Default::default(),
            allocator: Default::default(),
            interval_ns: 1,
        });
        let count = names.len() as u32;
        for (phase, layer, op) in names {
            assembler.apply(Record::Scope(Scope { phase, layer, op }));
        }
        let mut samples = samples;
        samples.sort_by_key(|sample| sample.0);
        for (index, (time_ns, rows)) in samples.into_iter().enumerate() {
            let rows: Vec<_> = rows.into_iter().map(|row| (index as u32 % count, row.category, row.usable_bytes)).collect();
            let live_bytes = rows.iter().map(|row| row.2).sum();
            // The lines of a coarse book, each of which is missing now and then, with sums that need not be sensible.
            let lines = ["rss_allocator", "rss_untouched", "rss_tracker", "rss_files"].into_iter().enumerate();
            let line = |(line, name): (usize, &'static str)| (name.into(), (index % (line + 2) > 0).then_some(time_ns / 64));
            let mut probes = vec![("rss".into(), (index % 3 > 0).then_some(live_bytes))];
            probes.extend(lines.filter(|_| has_columns).map(line));
            assembler.apply(Record::Sample(Sample {
                time_ns, live_bytes, requested_bytes: live_bytes / 2, high_bytes: live_bytes, rows, probes,
            }));
        }
        let rows: Vec<Row> =
            peak.into_iter().enumerate().map(|(index, row)| Row { scope: index as u32 % count, ..row }).collect();
        assembler.apply(Record::Peak(Snapshot {
            time_ns: peak_ns,
            live_bytes: rows.iter().map(|row| row.usable_bytes).sum(),
            requested_bytes: rows.iter().map(|row| row.requested_bytes).sum(),
            slack_bytes: 0,
            rows,
        }));
        assembler.timeline()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_panics_and_sums_hold(timeline in timeline()) {
        let live = timeline.peak.live_bytes;
        let run = Run::new("any.timeline.json", timeline);
        let peak = summarise(&run).peak;
        for split in peak.splits.all() {
            prop_assert_eq!(split.values().sum::<u64>(), live);
        }
        prop_assert_eq!(owners(&run.timeline.peak, run.scopes()).iter().map(|owner| owner.bytes).sum::<u64>(), live);
        let folded: u64 = folded_peak(&run.timeline, Default::default())
            .iter()
            .map(|line| line.rsplit_once(' ').map_or(0, |(_, bytes)| bytes.parse().unwrap_or(0)))
            .sum();
        prop_assert_eq!(folded, live);
        for dimension in Dimension::ALL {
            let curve = curve(&run.timeline, dimension, 3);
            let thin = curve.thinned(5);
            prop_assert_eq!(thin.total.iter().max(), curve.total.iter().max());
            let svg = timeline_svg(&run, dimension, &Colours::of([&run.timeline]));
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
            chart(&run, dimension, Terminal { width: 80, colours: false });
            let svg = rss_svg(&run, dimension, &Colours::of([&run.timeline])).unwrap_or_default();
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        }
        if let Some(chosen) = book_at(&run.timeline, PEAK).unwrap() {
            let sum: i128 = chosen.book.lines.iter().map(|line| i128::from(line.bytes)).sum();
            prop_assert_eq!(sum, i128::from(chosen.book.rss_bytes));
            let svg = waterfall_svg(&run, &chosen);
            prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        }
        flamegraph(&run, Default::default(), &Colours::of([&run.timeline])).unwrap();
        summary_text(&run, Terminal { width: 80, colours: false });
        csv(&run.timeline);
        massif(&run);
        report(std::slice::from_ref(&run), Dimension::Category, Default::default()).unwrap();
    }
}
