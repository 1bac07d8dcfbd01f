//! What the probes cost: their own stopwatches, held against the kernel's count of the threads that read them, and against
//! what they may take.
use alloc_timeline::Timeline;
use tests::Config;

const MS: u64 = 1_000_000;

fn timeline() -> &'static Timeline {
    Config::train("resnet18", 8, 224, 8).run()
}

/// Nanoseconds of the probes for which `counts`.
fn sum(timeline: &Timeline, counts: impl Fn(&str) -> bool) -> u64 {
    timeline.tracker.probes_ns.iter().filter(|(probe, _)| counts(probe)).map(|(_, ns)| ns).sum()
}

/// The threads do more than read probes. The first tick and the last, and the figures at the end, are of the one that has the files.
#[test]
fn the_probes_take_less_than_the_threads_that_read_them() {
    let timeline = timeline();
    let utilisation = timeline.utilisation.as_ref().expect("/proc/self/task can be read here");
    let ours = utilisation
        .threads
        .iter()
        .filter(|thread| ["alloc-recorder", "alloc-worker", "alloc-files"].contains(&&*thread.name));
    let threads: Vec<u64> = ours.map(|thread| thread.user_ns + thread.system_ns).collect();
    assert_eq!(threads.len(), 3, "{:?}", utilisation.threads);
    let probes = sum(timeline, |probe| probe != "closing");
    println!("{} ms of {} ms: {:?}", probes / MS, threads.iter().sum::<u64>() / MS, timeline.tracker.probes_ns);
    // The kernel counts whole ticks of a hundredth of a second, user and system apart, for each thread.
    let ticks = 2 * threads.len() as u64 * 10 * MS;
    assert!(probes <= threads.iter().sum::<u64>() + ticks, "{probes} of {threads:?}");
    // A clock that stands still would pass as well: at least the reading of a file on each tick is seen.
    let resident = timeline.tracker.probes_ns["resident"];
    assert!(resident >= timeline.series.time_ns.len() as u64 * 200, "{resident} in {}", timeline.series.time_ns.len());
    for probe in ["columns", "pages", "survey", "beyond", "closing"] {
        assert!(timeline.tracker.probes_ns.contains_key(probe), "{probe}: {:?}", timeline.tracker.probes_ns);
    }
}

/// What the probes may take is 40 ms and half a percent of the time. A reading that takes longer than the one before may
/// exceed that, once for each probe; none of them is expected to take 5 ms longer.
#[test]
fn the_probes_keep_to_what_they_may_take() {
    let timeline = timeline();
    let budgeted = ["columns", "pages", "book", "survey", "beyond"];
    let (budgeted, others) = (sum(timeline, |probe| budgeted.contains(&probe)), timeline.tracker.probes_ns["resident"]);
    let may_take = 40 * MS + timeline.duration_ns / 200;
    println!("{} us of {} us; the resident set {} us", budgeted / 1_000, may_take / 1_000, others / 1_000);
    assert!(budgeted <= may_take + 5 * 5 * MS, "{:?} in {}", timeline.tracker.probes_ns, timeline.duration_ns);
}
