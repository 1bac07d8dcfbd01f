//! What became of planted blocks (`victims/analysis.rs`), to the byte; and what a program can ask for while it runs.
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use alloc_timeline::{Analysis, Category, Ending, Fate, Figures, RetainedAt, Sums, Timeline};
use tests::{folder, run, tables, victim};

const PAGE: u64 = 4096;
const VICTIM: &str = env!("CARGO_BIN_EXE_victim-analysis");

static FATES: LazyLock<Timeline> = LazyLock::new(|| {
    let (ran, timeline) = victim(VICTIM, &["fates"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    timeline
});

fn analysis() -> &'static Analysis {
    FATES.analysis.as_ref().expect("an analysis")
}

/// Pages and blocks that were made in one layer and phase and had the same fate.
fn went(from: (&str, &str), fate: Fate, to: Option<(&str, &str)>) -> (u64, u64) {
    let is = |place: &alloc_timeline::Place, names: (&str, &str)| (place.phase.as_str(), place.layer.as_str()) == names;
    let flows = analysis().flows.iter().filter(|flow| {
        flow.fate == fate
            && flow.from.as_ref().is_some_and(|place| is(place, from))
            && match (&flow.to, to) {
                (Some(place), Some(to)) => is(place, to),
                (None, None) => true,
                _ => false,
            }
    });
    let sums: Sums = flows.map(alloc_timeline::Flow::sums).collect();
    assert_eq!(sums.usable_bytes, sums.requested_bytes, "whole pages");
    (sums.usable_bytes / PAGE, sums.blocks)
}

/// Three steps of: 50 pages in passing, 100 until backward, 20 until the forward pass of the next step (the last until
/// after it), 10 for ever.
#[test]
fn the_ownership_matrix() {
    let (forward, backward) = (("forward", "conv1"), ("backward", "conv1"));
    assert_eq!(went(forward, Fate::Temporary, Some(forward)), (3 * 50, 3));
    assert_eq!(went(forward, Fate::Freed, Some(backward)), (3 * 100, 3));
    assert_eq!(went(forward, Fate::Freed, Some(forward)), (2 * 20, 2), "freed where it was made, but a step later");
    assert_eq!(went(forward, Fate::Freed, Some(("", ""))), (20, 1));
    assert_eq!(went(forward, Fate::Held, None), (3 * 10, 3));
    let others = analysis().flows.iter().filter(|flow| flow.from.as_ref().is_some_and(|from| from.layer == "conv1"));
    assert_eq!(others.count(), 5, "and nothing else");
}

/// A block counts at its last size: 30 pages that grew to 60 and shrank to 40, freed in a phase of another thread.
#[test]
fn a_block_that_was_resized() {
    assert_eq!(went(("data", ""), Fate::Freed, Some(("optimizer", ""))), (40, 1));
    assert_eq!(analysis().coverage.shrunk_bytes, 20 * PAGE);
}

fn figures(phase: Option<&str>, layer: Option<&str>) -> &'static Figures {
    let is = |figures: &&Figures| (figures.phase.as_deref(), figures.layer.as_deref()) == (phase, layer);
    analysis().figures.iter().find(is).unwrap_or_else(|| panic!("no figures of {phase:?} {layer:?}"))
}

/// In step 3 forward finds 20 pages leaked by the steps before, and 20 of the cache which it frees first: 20 + 100 + 50
/// are the peak; 100 + 20 + 10 + 20 are left at its end, and 30 + 20 at the end of the step.
#[test]
fn the_four_figures() {
    for (phase, layer) in [(Some("forward"), None), (Some("forward"), Some("conv1")), (None, Some("conv1"))] {
        let figures = figures(phase, layer);
        assert_eq!(figures.peak_bytes, 170 * PAGE, "{phase:?} {layer:?}");
        assert_eq!(figures.peak_requested_bytes, 170 * PAGE, "{phase:?} {layer:?}");
        let (retained, at) = if phase.is_some() { (150, RetainedAt::PhaseEnd) } else { (50, RetainedAt::StepEnd) };
        assert_eq!((figures.retained_bytes, figures.retained_at), (retained * PAGE, at), "{phase:?} {layer:?}");
        assert_eq!(figures.transient_bytes(), (170 - retained) * PAGE);
        assert_eq!(figures.largest_block_bytes, 100 * PAGE);
        assert_eq!(figures.process_by_phase["forward"], 170 * PAGE, "what was alive then");
        assert!(figures.process_bytes > 170 * PAGE, "the runtime and main hold something as well");
        assert!(figures.process_by_category["other"] >= 170 * PAGE);
    }
    assert_eq!(figures(Some("data"), None).peak_bytes, 60 * PAGE);
    assert_eq!(figures(Some("data"), None).largest_block_bytes, 60 * PAGE);
}

/// The own peak of the layer, and that of the third step, which has 170 pages of it and no other block to speak of.
#[test]
fn peaks_are_told_in_requested_bytes_as_well() {
    let water = FATES.high_waters.iter().find(|water| water.name == "conv1").expect("its own peak");
    assert_eq!((water.live_bytes, water.requested_bytes), (170 * PAGE, Some(170 * PAGE)));
    let step = FATES.steps.last().expect("three steps");
    let rounding = step.live_bytes - step.requested_bytes.expect("requested");
    assert!(rounding < PAGE, "{rounding} bytes of rounding in the small blocks of the runtime and main");
    let end = step.end_live_bytes - step.end_requested_bytes.expect("requested");
    assert_eq!(end, rounding, "the same small blocks");
    let totals = &FATES.totals;
    assert!(totals.requested_bytes.expect("requested") <= totals.allocated_bytes);
}

/// 50 pages are 204,800 bytes and 100 pages 409,600; nothing else in this program is between 128 and 512 KiB but the
/// block of 40 pages.
#[test]
fn sizes_are_in_powers_of_two() {
    let histogram = analysis().histograms.iter().find(|one| one.category == Category::Other).expect("a histogram");
    let bucket = |from| histogram.sizes.iter().find(|bucket| bucket.from == from).map(|bucket| bucket.sums);
    let sums = |pages: u64, blocks| Sums { usable_bytes: pages * PAGE, requested_bytes: pages * PAGE, blocks };
    assert_eq!(bucket(128 << 10), Some(sums(3 * 50 + 40, 4)));
    assert_eq!(bucket(256 << 10), Some(sums(3 * 100, 3)));
    assert!(histogram.held.usable_bytes >= 30 * PAGE);
}

/// The recorder does not follow all blocks: it counts small ones in batches. (Reading a file checks that its flows,
/// histograms and coverage agree.)
#[test]
fn the_part_that_is_covered_is_told() {
    let (analysis, coverage) = (analysis(), analysis().coverage);
    let flows: Sums = analysis.flows.iter().map(alloc_timeline::Flow::sums).collect();
    assert_eq!(flows.usable_bytes, coverage.bytes - coverage.shrunk_bytes);
    assert_eq!(flows.blocks, coverage.blocks);
    assert!(coverage.blocks <= coverage.all_blocks && coverage.bytes <= coverage.all_bytes, "{coverage:?}");
    assert!(coverage.bytes > coverage.all_bytes / 2, "nearly all bytes are in the planted blocks: {coverage:?}");
}

/// The peak is that of the 200 pages before the pause. The 30 pages that the pause leaves are live afterwards.
#[test]
fn a_pause_has_no_peak() {
    let (ran, timeline) = victim(VICTIM, &["pause"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let data =
        |snapshot: &alloc_timeline::Snapshot| snapshot.by(&timeline.scopes, alloc_timeline::Dimension::Phase)["data"];
    assert_eq!(data(&timeline.peak), 200 * PAGE);
    assert_eq!(data(tables(&timeline, "after")[0]), 30 * PAGE);
    let highest = timeline.series.high_bytes.iter().max().expect("samples");
    assert!(*highest < 1_000 * PAGE, "{highest}");
    let marks: Vec<&str> = timeline.marks.iter().map(|mark| mark.name.as_str()).collect();
    assert_eq!(marks, ["paused", "resumed", "after"]);
    let figures = &timeline.analysis.expect("an analysis").figures;
    let data = figures.iter().find(|figures| figures.phase.as_deref() == Some("data")).expect("its figures");
    assert_eq!(data.peak_bytes, 200 * PAGE);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The program sets a threshold of 16 MiB, the environment one of 8 MiB; each is crossed twice. The program asks for a
/// dump too.
#[test]
fn thresholds_dump() {
    let folder = folder();
    let out = folder.path().join("victim.timeline.json");
    let mut command = Command::new(VICTIM);
    command.arg(&out).arg("threshold").env_remove("ALLOC_TRACKER").env("ALLOC_TRACKER_DUMP_AT", "8 MiB, nonsense");
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let dumps: Vec<String> = (1..=4).map(|number| format!("victim.threshold-{number}.timeline.json")).collect();
    let mut expected = vec!["victim.dump-1.timeline.json".to_owned()];
    expected.extend(dumps.iter().cloned());
    expected.push("victim.timeline.json".to_owned());
    assert_eq!(names(folder.path()), expected);
    for name in &dumps {
        let dump = alloc_timeline::load(folder.path().join(name)).expect("a timeline");
        assert_eq!(dump.ending, Ending::Dumped);
        assert!(dump.peak_requested.is_some_and(|peak| peak.bytes > 0), "a dump ends as any timeline does");
        let live = dump.at_exit.as_ref().expect("an end").snapshot.by(&dump.scopes, alloc_timeline::Dimension::Phase);
        assert_eq!(live["data"], 5_000 * PAGE, "{name}: who owned what at that moment");
        assert!(dump.analysis.is_some() && dump.totals.allocations > 0);
    }
    let timeline = alloc_timeline::load(&out).expect("the timeline");
    let marks: Vec<&str> = timeline.marks.iter().map(|mark| mark.name.as_str()).collect();
    let (eight, sixteen) = ("threshold 8388608", "threshold 16777216");
    assert_eq!(marks, [sixteen, eight, sixteen, eight]);
    let losses = &timeline.tracker.losses;
    assert!(losses.iter().any(|loss| loss.contains("'nonsense' is no size")), "{losses:?}");
}

/// The victim checks how often each function was called.
#[test]
fn functions_are_called_before_a_peak() {
    let folder = folder();
    let out = folder.path().join("victim.timeline.json");
    let ran = run(Command::new(VICTIM).arg(&out).arg("before").env_remove("ALLOC_TRACKER"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let dumps: Vec<String> = (1..=3).map(|number| format!("victim.before-peak-{number}.timeline.json")).collect();
    assert_eq!(names(folder.path())[..3], dumps);
    let losses = alloc_timeline::load(&out).expect("the timeline").tracker.losses;
    assert_eq!(losses, ["a function to be called before a peak panicked"]);
}
