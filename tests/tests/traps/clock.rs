//! Clocks that go back.
use std::process::Command;

use crate::compiled::clock;
use crate::counts::consistent;
use crate::run::{MODES, run_as};

/// Times go on from where they were, for the samples as for the marks that the trap sets every ten milliseconds.
#[test]
fn that_go_back() {
    for &mode in MODES {
        let command = Command::new(env!("CARGO_BIN_EXE_victim-trap-clock"));
        let ended = run_as(command, mode, &[], &[("LD_PRELOAD", clock())]).passed();
        if !mode.records() {
            continue;
        }
        let timeline = ended.timeline();
        consistent(&timeline);
        let samples = &timeline.series.time_ns;
        assert!(samples.is_sorted() && samples.len() > 5, "{samples:?}");
        let marks: Vec<u64> = timeline.marks.iter().map(|mark| mark.time_ns).collect();
        assert!(marks.is_sorted(), "{marks:?}");
        // At least thirty pauses of 10 ms, at most what the kernel's own clock says: not the hour by which it went back.
        let took = ended.numbers("took")[0];
        assert!((300_000_000..=took).contains(&timeline.duration_ns), "{} of {took}", timeline.duration_ns);
    }
}
