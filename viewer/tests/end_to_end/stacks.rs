//! `viewer stacks`, and the stacks in the outputs of other commands, for a made-up run.
use crate::common::{Folder, nets, viewer};
use alloc_timeline::{
    Analysis, Call, Dimension, Growth, SampleCounts, SampledThread, Scope, Site, SiteColumn, SiteGrowth, SiteSums,
    Stacks, Timeline,
};
use proptest::prelude::*;
use serde_json::Value;
use viewer::analysis::Measure;
use viewer::model::Run;
use viewer::view::{Terminal, folded_stacks, growth_text, report, stacks_flamegraph, stacks_text, threads_text};

const MIB: u64 = 1 << 20;
const TERMINAL: Terminal = Terminal { width: 80, colours: false };

fn sums(samples: u64, allocated: u64, peak: u64, exit: u64) -> SiteSums {
    SiteSums {
        samples,
        allocated_bytes: allocated,
        error_bytes: allocated / 10,
        allocated_blocks: 100,
        peak_bytes: peak,
        exit_bytes: exit,
        exit_samples: samples.min(exit),
    }
}

/// Four sites: a loader that leaks 4 MiB a step from step 12 on, buffers in C++ that are live at the peak, a site that freed
/// everything, and samples without any call.
fn stacks(data: u32) -> Stacks {
    let forward = data + 1;
    let call = |function: &str, file: Option<(&str, u32)>, inlined| Call {
        function: function.into(),
        file: file.map(|(file, _)| file.to_owned()),
        line: file.map(|(_, line)| line),
        inlined,
        object: None,
        language: None,
    };
    Stacks {
        mean_bytes: MIB / 2,
        seed: 3,
        complete: true,
        samples: SampleCounts {
            taken: 70,
            without_calls: 1,
            cut: 30,
            not_followed: 2,
            lost: 1,
            lost_bytes: MIB / 2,
            unnamed_calls: 1,
        },
        calls: vec![
            call("_start", None, false),
            call("net::main", Some(("/home/me/net/src/main.rs", 9)), false),
            call("net::Loader::next", Some(("/home/me/net/src/loader.rs", 77)), false),
            call("with_capacity<u8>", Some(("/rustc/abc/library/alloc/src/vec/mod.rs", 500)), true),
            call("libtorch_cpu.so+0x1234", None, false),
            call("at::native::empty_cpu(c10::IntArrayRef)", None, false),
        ],
        sites: vec![
            Site { scope: data, calls: vec![0, 1, 2, 3], cut: false, sums: sums(18, 36 * MIB, 8 * MIB, 36 * MIB) },
            Site { scope: forward, calls: vec![4, 5], cut: true, sums: sums(30, 60 * MIB, 16 * MIB, 0) },
            Site { scope: forward, calls: vec![0, 1], cut: false, sums: sums(20, 10 * MIB, 0, 0) },
            Site { scope: 0, calls: Vec::new(), cut: false, sums: sums(1, MIB / 2, MIB / 2, 0) },
        ],
        others: sums(1, MIB, MIB, 0),
        growth: SiteGrowth {
            steps: (1..=20).collect(),
            live_bytes: (1..=20u64).map(|step| step.saturating_sub(11) * 4 * MIB + MIB).collect(),
            columns: vec![SiteColumn {
                site: 0,
                live_bytes: (1..=20u64).map(|step| step.saturating_sub(11) * 4 * MIB).collect(),
            }],
            other_bytes: vec![MIB; 20],
        },
        threads: vec![
            SampledThread { number: 1, name: Some("net".into()), sums: sums(31, 60 * MIB, 17 * MIB, 0) },
            SampledThread { number: 2, name: Some("loader".into()), sums: sums(18, 36 * MIB, 8 * MIB, 36 * MIB) },
            SampledThread { number: 4, name: None, sums: sums(20, 11 * MIB, 0, 0) },
        ],
        other_threads: sums(1, MIB / 2, MIB / 2, 0),
    }
}

fn run() -> Timeline {
    let mut timeline = nets::stem();
    let data = timeline.scopes.len() as u32;
    timeline.scopes.push(Scope { phase: "data".into(), ..Scope::default() });
    timeline.scopes.push(Scope { phase: "forward".into(), layer: "stem.conv".into(), op: "aten::conv2d".into() });
    timeline.stacks = Some(stacks(data));
    timeline
}

fn said(command: &[&str]) -> String {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &run());
    let command: Vec<&str> = command.iter().map(|word| if *word == "FILE" { file.as_str() } else { word }).collect();
    let answer = viewer(&command);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    answer.out
}

#[test]
fn of_the_peak() {
    insta::assert_snapshot!(said(&["stacks", "FILE"]));
}

#[test]
fn of_everything_else() {
    insta::assert_snapshot!(
        ["leaks", "allocated", "growth"].map(|of| said(&["stacks", "FILE", "--of", of])).join("\n")
    );
}

/// 25.5 MiB, as by stack. A thread that held nothing then has no row.
#[test]
fn by_thread() {
    insta::assert_snapshot!(said(&["stacks", "FILE", "--by", "thread"]));
}

#[test]
fn by_thread_growth_and_older_files_have_nothing() {
    let growth = said(&["stacks", "FILE", "--by", "thread", "--of", "growth"]);
    assert!(growth.contains("Growth is known by stack only"), "{growth}");
    let mut timeline = run();
    timeline.stacks.iter_mut().for_each(|stacks| stacks.threads.clear());
    let text = threads_text(&Run::new("x", timeline), Measure::Peak, 5, TERMINAL);
    assert!(text.contains("No threads were recorded"), "{text}");
}

/// The lines sum to the estimated bytes of the peak: 25.5 MiB.
#[test]
fn folded() {
    let folded = said(&["stacks", "FILE", "--folded"]);
    let lines: Vec<&str> = folded.lines().collect();
    assert_eq!(
        lines,
        [
            "(cut);libtorch_cpu.so+0x1234;at::native::empty_cpu(c10::IntArrayRef);[stem.conv in forward, aten::conv2d] 16777216",
            "(no call could be found);[(none)] 524288",
            "(others) 1048576",
            "_start;net::main;net::Loader::next;with_capacity<u8>;[data] 8388608",
        ]
    );
}

#[test]
fn json_has_whole_stacks() {
    let json: Value = serde_json::from_str(&said(&["stacks", "FILE", "--json", "--of", "growth"])).unwrap();
    let sites = json["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 1, "a site whose bytes never changed has no growth");
    assert_eq!(sites[0]["trend"]["bytes_per_step"], 4 * MIB);
    assert_eq!(sites[0]["calls"][2]["function"], "net::Loader::next");
    assert_eq!(json["threads"], serde_json::json!([]), "growth is not kept by thread");
    assert_eq!((&json["samples"]["taken"], &json["complete"]), (&70.into(), &true.into()));
}

#[test]
fn growth_names_the_stack() {
    let run = Run::new("x", run());
    let line = "data: +4.0 MiB a step since step 12, in net::Loader::next (loader.rs:77) < net::main";
    let page = report(std::slice::from_ref(&run), Dimension::Phase, Default::default()).unwrap();
    assert!(page.contains(&line.replace('<', "&lt;")));
    let mut timeline = run.timeline.clone();
    let growth = Growth { steps: vec![1], live_bytes: vec![1], owners: Vec::new(), other_bytes: vec![1] };
    timeline.analysis = Some(Analysis { growth, ..Analysis::default() });
    let wide = Terminal { width: 120, ..TERMINAL };
    assert!(growth_text(&Run::new("x", timeline), 5, wide).contains(line));
}

#[test]
fn pictures_are_drawn_beside_the_others() {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &run());
    let answer = viewer(&[file]);
    assert!(answer.out.contains("stem-train.stacks.svg"), "{}", answer.out);
    let svg = folder.text("stem-train.stacks.svg");
    assert!(svg.contains("net::Loader::next") && svg.contains("at::native::empty_cpu"));
}

#[test]
fn what_is_not_there_is_said() {
    let mut timeline = run();
    timeline.stacks = Some(Stacks { mean_bytes: 1, ..Stacks::default() });
    let run = Run::new("x", timeline);
    assert!(stacks_text(&run, Measure::Peak, 5, TERMINAL).contains("which this one did not reach"));
    assert!(stacks_flamegraph(&run).unwrap().is_none());
    let mut timeline = run.timeline;
    timeline.stacks = None;
    let run = Run::new("x", timeline);
    assert!(stacks_text(&run, Measure::Peak, 5, TERMINAL).contains("ALLOC_TRACKER_STACKS=512KiB"));
    assert_eq!(folded_stacks(&run, Measure::Peak), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Nothing panics, whatever numbers and indices a damaged file has.
    #[test]
    fn nothing_panics(
        scope in any::<u32>(),
        calls in prop::collection::vec(0..9u32, 0..6),
        numbers in prop::array::uniform6(any::<u64>()),
        name in "\\PC{0,9}",
    ) {
        let mut timeline = run();
        let stacks = timeline.stacks.as_mut().unwrap();
        stacks.calls[1].function = name;
        let [samples, allocated_bytes, error_bytes, allocated_blocks, peak_bytes, exit_bytes] = numbers;
        let sums = SiteSums { samples, allocated_bytes, error_bytes, allocated_blocks, peak_bytes, exit_bytes, exit_samples: 1 };
        stacks.sites.push(Site { scope, calls, cut: false, sums });
        let run = Run::new("x", timeline);
        for measure in [Measure::Peak, Measure::Leaks, Measure::Allocated, Measure::Growth] {
            prop_assert!(!stacks_text(&run, measure, 3, TERMINAL).is_empty());
            folded_stacks(&run, measure);
        }
    }
}
