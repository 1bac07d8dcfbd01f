//! Times by scope, of a program that knows its own: what the session says lies between what the program measures inside
//! and outside of each scope, over the whole run and step by step.
use std::sync::Mutex;
use std::time::{Duration, Instant};

use alloc_timeline::{ScopeTime, ScopeTimes, Timeline, Utilisation, load};
use alloc_tracker::{Session, Times, hooks, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// A process has one session at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Works for `time` of the clock.
fn work(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::black_box(Vec::<u8>::with_capacity(64));
    }
}

/// The time inside and outside of scopes, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    inside_ns: u64,
    outside_ns: u64,
}

impl Bounds {
    fn add(&mut self, outside: Instant, inside: Instant, inside_ended: Instant) {
        self.inside_ns += (inside_ended - inside).as_nanos() as u64;
        self.outside_ns += outside.elapsed().as_nanos() as u64;
    }
}

fn by_phase(timeline: &Timeline, utilisation: &Utilisation, phase: &str, column: fn(&ScopeTime) -> u64) -> u64 {
    let rows = utilisation.scopes.iter().filter(|row| timeline.scopes[row.scope as usize].phase == phase);
    rows.map(column).sum()
}

#[test]
fn times_by_scope_are_those_of_the_program() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.timeline.json");
    let session = Session::builder().output(&path).times(Times::WithThreadCpu).start().expect("a session");
    let began = Instant::now();
    let (mut busy, mut asleep) = (Bounds::default(), Bounds::default());
    for _ in 0..30 {
        let outside = Instant::now();
        {
            let _phase = phase!("busy");
            let inside = Instant::now();
            let _layer = layer!("conv1");
            work(Duration::from_millis(7));
            let ended = Instant::now();
            drop((_layer, _phase));
            busy.add(outside, inside, ended);
        }
        let outside = Instant::now();
        {
            let _phase = phase!("asleep");
            let inside = Instant::now();
            std::thread::sleep(Duration::from_millis(3));
            let ended = Instant::now();
            drop(_phase);
            asleep.add(outside, inside, ended);
        }
    }
    let took = began.elapsed();
    session.finish().expect("a timeline");
    let timeline = load(&path).expect("the timeline");
    let utilisation = timeline.utilisation.as_ref().expect("it was asked for");
    for (phase, bounds) in [("busy", busy), ("asleep", asleep)] {
        let active_ns = by_phase(&timeline, utilisation, phase, |row| row.active_ns);
        assert!((bounds.inside_ns..=bounds.outside_ns).contains(&active_ns), "{phase}: {active_ns} of {bounds:?}");
    }
    // A sleep takes hardly any processor time; a loop takes all that the machine gives it.
    let cpu = |phase| by_phase(&timeline, utilisation, phase, |row| row.cpu_ns.unwrap_or(0));
    assert!(cpu("busy") > 0 && cpu("busy") <= busy.outside_ns, "{} of {busy:?}", cpu("busy"));
    assert!(cpu("asleep") < cpu("busy") / 2, "{} and {}", cpu("asleep"), cpu("busy"));
    // What was split and what was sampled is all of the session, whoever got it.
    let sum = |column: fn(&ScopeTime) -> u64| utilisation.scopes.iter().map(column).sum::<u64>();
    let process = utilisation.process.expect("getrusage");
    assert!(sum(|row| row.sampled_ns) >= took.as_nanos() as u64, "{utilisation:?}");
    assert!(sum(|row| row.sampled_ns) <= utilisation.duration_ns, "{utilisation:?}");
    // getrusage and the clock count apart: the one may lag behind by a tick of each thread.
    assert!(sum(|row| row.process_cpu_ns) <= process.user_ns + process.system_ns + 100_000_000, "{utilisation:?}");
    assert!(utilisation.intervals > 0);
    let energy = timeline.energy.as_ref().expect("it was asked for");
    assert!(energy.meters.iter().all(|meter| meter.energy_uj != Some(0)), "no sensor means no figure: {energy:?}");
    assert!(!energy.meters.is_empty() || energy.unavailable.len() >= 4, "each instrument says why: {energy:?}");

    // A session that does not ask has no times, and what the process used all the same.
    let session = Session::builder().output(&path).start().expect("a session");
    drop(phase!("busy"));
    session.finish().expect("a timeline");
    let timeline = load(&path).expect("the timeline");
    let utilisation = timeline.utilisation.as_ref().expect("always there");
    assert_eq!((utilisation.intervals, utilisation.scopes.len()), (0, 0));
    assert!(utilisation.process.is_some() && timeline.energy.is_none());
}

/// Time and calls of the scopes with these names.
fn of(timeline: &Timeline, times: &ScopeTimes, [phase, layer, op]: [&str; 3]) -> (u64, u64) {
    let named = times.rows().filter(|(scope, ..)| {
        let scope = &timeline.scopes[*scope as usize];
        (scope.phase.as_str(), scope.layer.as_str(), scope.op.as_str()) == (phase, layer, op)
    });
    named.fold((0, 0), |sum, (_, ns, calls)| (sum.0 + ns, sum.1 + calls))
}

/// Six steps, and in each: two calls of an operator in a layer of the forward phase, time in that phase outside of the
/// layer, and time in no phase. Another thread is in a scope of its own meanwhile.
#[test]
fn the_parts_of_a_step_sum_to_it() {
    const STEPS: usize = 6;
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.timeline.json");
    let session = Session::builder().output(&path).times(Times::ByScope).start().expect("a session");
    let op = hooks::name("my::matmul");
    let mut outside = Vec::new();
    std::thread::scope(|threads| {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let (is_there, wait) = std::sync::mpsc::channel();
        threads.spawn(move || {
            let _phase = phase!("elsewhere");
            is_there.send(()).expect("the test waits");
            let _ = receiver.recv();
        });
        wait.recv().expect("the thread is in its scope");
        for step in 0..STEPS {
            work(Duration::from_millis(2)); // between two steps: in none of them
            let began = Instant::now();
            let _step = session.step();
            {
                let _phase = phase!("forward");
                work(Duration::from_millis(1));
                let _layer = layer!("fc");
                for call in 1..3 {
                    let entered = hooks::enter_op(op, None, hooks::Name::default(), call + 2 * step as u64);
                    work(Duration::from_millis(3));
                    hooks::leave(entered);
                }
            }
            work(Duration::from_millis(1));
            drop(_step);
            outside.push(began.elapsed().as_nanos() as u64);
        }
        drop(sender);
    });
    // A step that another thread ends has no times; neither has one that nobody ends.
    session.begin_step();
    std::thread::scope(|threads| drop(threads.spawn(|| session.end_step())));
    // Nor one that was begun by a thread that has ended, though another may have what that one left: its place among the threads.
    std::thread::scope(|threads| threads.spawn(|| session.begin_step()).join().expect("a step"));
    std::thread::sleep(Duration::from_millis(2));
    std::thread::scope(|threads| threads.spawn(|| session.end_step()).join().expect("its end"));
    session.begin_step();
    session.finish().expect("a timeline");

    let timeline = load(&path).expect("the timeline, whose sums are checked");
    assert_eq!(timeline.step_times.len(), STEPS);
    assert_eq!(timeline.steps.len(), STEPS + 2, "those that another thread ended are steps all the same");
    for (index, step) in timeline.step_times.iter().enumerate() {
        assert_eq!((step.first_step, step.last_step), (index as u64 + 1, index as u64 + 1));
        let own = &step.stepping_thread;
        assert_eq!(own.active_ns.iter().sum::<u64>(), step.wall_ns, "to the nanosecond");
        assert!((8_000_000..=outside[index]).contains(&step.wall_ns), "{} of {}", step.wall_ns, outside[index]);
        let (ns, calls) = of(&timeline, own, ["forward", "fc", "my::matmul"]);
        assert!(ns >= 6_000_000 && calls == 2, "{ns} ns, {calls} calls");
        let (ns, calls) = of(&timeline, own, ["forward", "", ""]);
        assert!(ns >= 1_000_000 && calls == 1, "{ns} ns, {calls} calls");
        assert!(of(&timeline, own, ["", "", ""]).0 >= 1_000_000, "{own:?}");
        let (ns, calls) = of(&timeline, &step.other_threads, ["elsewhere", "", ""]);
        // It came to its scope before the first step. Its time is read just after the step's own.
        assert!(ns > 0 && ns <= step.wall_ns + 10_000_000 && calls == 0, "{ns} ns, {calls} calls");
        assert_eq!(of(&timeline, own, ["elsewhere", "", ""]), (0, 0));
    }
}
