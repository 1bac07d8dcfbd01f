//! `viewer owners`, `growth`, `leaks` and `lifetimes` for a made-up run.
use crate::common::{Folder, nets, viewer};
use alloc_timeline::{
    Analysis, Bucket, Category, Coverage, Fate, Figures, Flow, Growth, GrowthOwner, Histogram, Place, RetainedAt, Row,
    Scope, Sums, Timeline,
};
use proptest::prelude::*;
use serde_json::Value;
use viewer::analysis::{Lifetimes, fates_by_place, lifetimes};
use viewer::model::Run;
use viewer::view::{Terminal, growth_text, leaks_text, lifetimes_text, owners_text, report};

const MIB: u64 = 1 << 20;
const TERMINAL: Terminal = Terminal { width: 80, colours: false };

fn place(phase: &str, layer: &str) -> Place {
    Place { phase: phase.into(), layer: layer.into() }
}

fn flow(from: Place, fate: Fate, to: Option<Place>, category: Category, bytes: u64, blocks: u64) -> Flow {
    Flow { from: Some(from), fate, to, category, usable_bytes: bytes, requested_bytes: bytes - 100, blocks }
}

fn figures(phase: &str, layer: Option<&str>, peak: u64, retained: u64, largest: u64) -> Figures {
    Figures {
        phase: Some(phase.into()),
        layer: layer.map(str::to_owned),
        peak_bytes: peak,
        peak_requested_bytes: peak - 100,
        peak_ns: 70_000_000,
        process_bytes: 40 * MIB,
        process_by_phase: [(phase.to_owned(), 40 * MIB)].into(),
        process_by_category: [("activation".to_owned(), 30 * MIB), ("parameter".to_owned(), 10 * MIB)].into(),
        retained_bytes: retained,
        retained_at: RetainedAt::PhaseEnd,
        largest_block_bytes: largest,
    }
}

/// The run of the stem with a leak of 4 MiB a step from step 12 on in phase `data`, and with activations that are freed.
fn run() -> Timeline {
    let mut timeline = nets::stem();
    timeline.scopes.push(Scope { phase: "data".into(), ..Scope::default() });
    let scope = timeline.scopes.len() as u32 - 1;
    let leaked: Vec<u64> = (1..=20u64).map(|step| step.saturating_sub(11) * 4 * MIB).collect();
    let snapshot = &mut timeline.at_exit.as_mut().expect("an end").snapshot;
    let (usable_bytes, requested_bytes) = (36 * MIB, 36 * MIB - 900);
    snapshot.rows.push(Row { scope, category: Category::Input, usable_bytes, requested_bytes, blocks: 9 });
    snapshot.live_bytes += usable_bytes;
    snapshot.requested_bytes += requested_bytes;
    let bucket = |from, bytes, blocks| Bucket {
        from,
        sums: Sums { usable_bytes: bytes, requested_bytes: bytes - 100 * blocks, blocks },
    };
    let forward = || place("forward", "stem.conv");
    let (activation, input) = (Category::Activation, Category::Input);
    timeline.analysis = Some(Analysis {
        time_ns: timeline.duration_ns,
        coverage: Coverage { blocks: 12, bytes: 61 * MIB, shrunk_bytes: MIB, all_blocks: 100, all_bytes: 64 * MIB },
        figures: vec![
            figures("forward", None, 30 * MIB, 20 * MIB, 16 * MIB),
            figures("data", None, 36 * MIB, 36 * MIB, 0),
            figures("forward", Some("stem.conv"), 24 * MIB, 16 * MIB, 16 * MIB),
        ],
        flows: vec![
            flow(forward(), Fate::Temporary, Some(forward()), activation, 8 * MIB, 1),
            flow(forward(), Fate::Freed, Some(place("backward", "stem.conv")), activation, 16 * MIB, 2),
            flow(place("data", ""), Fate::Held, None, input, 36 * MIB, 9),
        ]
        .into_iter()
        .map(|flow| Flow { requested_bytes: flow.usable_bytes - 100 * flow.blocks, ..flow })
        .collect(),
        histograms: vec![
            Histogram {
                category: activation,
                sizes: vec![bucket(8 * MIB, 24 * MIB, 3)],
                lifetimes: vec![bucket(1 << 20, 8 * MIB, 1), bucket(1 << 22, 16 * MIB, 2)],
                held: Sums::default(),
            },
            Histogram {
                category: input,
                sizes: vec![bucket(4 * MIB, 36 * MIB, 9)],
                lifetimes: Vec::new(),
                held: bucket(0, 36 * MIB, 9).sums,
            },
        ],
        growth: Growth {
            steps: (1..=20).collect(),
            live_bytes: leaked.iter().map(|bytes| bytes + MIB).collect(),
            owners: vec![GrowthOwner { scope, category: input, live_bytes: leaked }],
            other_bytes: vec![MIB; 20],
        },
    });
    timeline
}

fn said(command: &str) -> String {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &run());
    let answer = viewer(&[command, &file]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    answer.out
}

fn json(command: &str) -> Value {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &run());
    serde_json::from_str(&viewer(&[command, &file, "--json"]).out).unwrap()
}

#[test]
fn owners() {
    insta::assert_snapshot!(said("owners"));
    let json = json("owners");
    let first = &json["figures"][0];
    assert_eq!(first["transient_bytes"], 10 * MIB);
    assert_eq!(json["made"][0]["held"]["blocks"], 9);
    assert_eq!(json["made"][1]["freed_mostly_in"][0]["phase"], "backward");
}

#[test]
fn growth() {
    insta::assert_snapshot!(said("growth"));
    let leak = &json("growth")["growth"]["owners"][0];
    assert_eq!((&leak["trend"]["since_step"], &leak["trend"]["bytes_per_step"]), (&12.into(), &(4 * MIB).into()));
}

#[test]
fn leaks() {
    insta::assert_snapshot!(said("leaks"));
    let json = json("leaks");
    let owners = json["owners"].as_array().unwrap();
    assert_eq!(owners[0]["trend"]["kind"], "grows", "what grows comes first");
    let sum: u64 = owners.iter().map(|owner| owner["usable_bytes"].as_u64().unwrap()).sum();
    assert_eq!(json["live_bytes"], sum);
}

#[test]
fn sizes_and_lifetimes() {
    insta::assert_snapshot!(said("lifetimes"));
    assert_eq!(json("lifetimes")["all"]["all"]["blocks"], 12);
}

#[test]
fn the_page_has_them_as_well() {
    let run = Run::new("stem.timeline.json", run());
    let page = report(&[run], alloc_timeline::Dimension::Category, Default::default()).unwrap();
    for part in
        ["data: +4.0 MiB a step since step 12", "Peak, retained, transient", "stem.conv in backward", "Lifetimes"]
    {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_grows_is_said_without_being_asked() {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &run());
    let line = "Grows from step to step\n  data: +4.0 MiB a step since step 12\n";
    assert!(viewer(&[&file]).out.contains(line));
    assert!(viewer(&["summary", &file]).out.contains(line));
}

/// A timeline without an analysis is no error.
#[test]
fn what_was_not_recorded_is_said() {
    let folder = Folder::new();
    let file = folder.store("old.timeline.json", &nets::stem());
    for command in ["owners", "growth", "lifetimes"] {
        let answer = viewer(&[command, &file]);
        assert_eq!(answer.code, 0);
        assert!(answer.out.contains("Not recorded"), "{command}: {}", answer.out);
        assert_eq!(viewer(&[command, &file, "--json"]).code, 0);
    }
    assert!(viewer(&["leaks", &file]).out.contains("Live at exit"));
}

prop_compose! {
    fn any_analysis()(
        flows in prop::collection::vec((0..3usize, 0..3usize, 0..3usize, 0..10usize, any::<u64>(), any::<u64>()), 0..40),
        buckets in prop::collection::vec((0..64u32, any::<u64>(), any::<u64>()), 0..20),
        columns in prop::collection::vec(prop::collection::vec(any::<u64>(), 12), 0..5),
        four in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..5),
    ) -> Analysis {
        let names = ["", "a", "b<"];
        let fates = [Fate::Temporary, Fate::Freed, Fate::Held];
        let bucket = |&(bit, usable_bytes, blocks): &(u32, u64, u64)| Bucket {
            from: if bit == 0 { 0 } else { 1 << bit },
            sums: Sums { usable_bytes, requested_bytes: usable_bytes / 2, blocks },
        };
        let buckets: Vec<Bucket> = buckets.iter().map(bucket).collect();
        let owner = |live_bytes: &Vec<u64>| GrowthOwner { scope: 7, category: Category::Other, live_bytes: live_bytes.clone() };
        Analysis {
            figures: four
                .into_iter()
                .map(|(peak, retained, largest)| figures("a", (largest % 2 == 0).then_some("b"), peak.max(100), retained, largest))
                .collect(),
            flows: flows
                .into_iter()
                .map(|(from, to, fate, category, usable_bytes, blocks)| Flow {
                    from: (from > 0).then(|| place(names[from], names[to])),
                    fate: fates[fate],
                    to: (to > 0).then(|| place(names[to], names[from])),
                    category: Category::ALL[category],
                    usable_bytes,
                    requested_bytes: usable_bytes / 2,
                    blocks,
                })
                .collect(),
            histograms: vec![Histogram {
                category: Category::Other,
                sizes: buckets.clone(),
                lifetimes: buckets,
                held: Sums::default(),
            }],
            growth: Growth {
                steps: (1..=12).collect(),
                live_bytes: vec![u64::MAX; 12],
                owners: columns.iter().map(owner).collect(),
                other_bytes: vec![0; 12],
            },
            ..Analysis::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Nothing panics whatever the numbers are, and the sums by place contain all blocks.
    #[test]
    fn nothing_panics_and_sums_hold(analysis in any_analysis()) {
        let flows: Sums = analysis.flows.iter().map(Flow::sums).collect();
        let by_place: Sums = fates_by_place(&analysis).into_iter().map(|fates| fates.all).collect();
        prop_assert_eq!(by_place, flows);
        let fates = fates_by_place(&analysis).into_iter();
        let by_fate: Sums = fates.flat_map(|fates| [fates.temporary, fates.freed, fates.held]).collect();
        prop_assert_eq!(by_fate, flows);
        let Lifetimes { sizes, .. } = lifetimes(&analysis);
        prop_assert!(sizes.windows(2).all(|pair| pair[1].from == (pair[0].from * 2).max(2)), "no gaps");
        let mut timeline = nets::stem();
        timeline.analysis = Some(analysis);
        let run = Run::new("x", timeline);
        for text in [
            growth_text(&run, 3, TERMINAL),
            leaks_text(&run, 3, TERMINAL),
            owners_text(&run, 3, TERMINAL),
            lifetimes_text(&run, TERMINAL),
        ] {
            prop_assert!(!text.contains("NaN") && !text.contains("inf "), "{}", text);
        }
        report(&[run], alloc_timeline::Dimension::Category, Default::default()).unwrap();
    }
}
