//! What is said after the program has ended: which processes were recorded, who held most in the largest of them, and what
//! to type next.
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

use alloc_timeline::{Book, BookLine, Dimension, Timeline, dump_path, log};
use viewer::analysis::{Measure, threads};
use viewer::load::load;
use viewer::model::{MemoryKind, Run, in_shell, kind_of, shown, size};
use viewer::view::{
    Terminal, chart, fitted, growth_paragraph, near_limit_text, objects_text, stacks_text, threads_text, top_table,
};

use crate::launch::Ended;

/// Rows of each table.
const MOST_ROWS: usize = 10;
/// Below this part of the resident set, what the tracker has counted needs a word.
const LITTLE: f64 = 0.1;
/// A process that is smaller than this is mostly libraries, and needs no such word.
const SMALL: u64 = 64 << 20;

/// A process, and what it has left.
struct Left {
    process: u32,
    path: PathBuf,
    what: What,
}

enum What {
    Timeline(Box<Run>),
    /// Only the log is there: a signal ended the process, or it replaced itself in a way that nobody sees. With what it tells,
    /// as far as it can be read.
    Log(Option<Box<Timeline>>),
    /// An empty log is there: the process was killed before it recorded anything, as right after a fork.
    EmptyLog,
    /// The log is there, and the process too.
    Running,
    /// A file that is not as it should be.
    Unreadable(String),
    /// Nothing, for this reason: no session could start.
    Refused(String),
}

/// What is to be said, and whether a recorded process goes on.
#[derive(Debug)]
pub struct Told {
    /// The whole text.
    pub text: String,
    /// Whether there is somebody to ask for a dump.
    pub goes_on: bool,
}

/// Looks at what the processes have left; with `quiet` only what went wrong is said.
pub fn tell(ran: &Ended, quiet: bool) -> Told {
    let (left, registered) = left(ran.processes.path());
    if !registered {
        let text = "\nalloc-tracker: nothing was recorded: the program did not load the tracker's library. It may have cleared \
                    its environment, or the library was built for another C library (`ldd` tells which)";
        return Told { text: text.to_owned(), goes_on: false };
    }
    let goes_on = left.iter().any(|left| matches!(left.what, What::Running));
    Told { text: text(&left, ran.process, quiet), goes_on }
}

fn text(left: &[Left], first: u32, quiet: bool) -> String {
    let mut out = String::new();
    let runs = || left.iter().filter_map(|left| if let What::Timeline(run) = &left.what { Some(&**run) } else { None });
    let largest = runs().max_by_key(|run| run.timeline.peak.live_bytes);
    if !quiet {
        out.push_str(&list(left, first));
        if let Some(run) = largest {
            out.push_str(&run_text(run));
        }
    }
    let mut problems = Vec::new();
    for left in left {
        match &left.what {
            What::Timeline(run) => problems.extend(near_limit(left, &run.timeline)),
            What::Log(told) => {
                problems.push(format!(
                    "process {} left no timeline but its log: viewer recover {}",
                    left.process,
                    in_shell(&log::path_beside(&left.path))
                ));
                problems.extend(told.as_ref().and_then(|told| near_limit(left, told)));
            }
            What::EmptyLog => problems.push(format!(
                "process {} was killed before it recorded anything: {}.log is empty",
                left.process,
                left.path.display()
            )),
            What::Running => {
                problems.push(format!("process {} goes on; its timeline will be {}", left.process, left.path.display()))
            }
            What::Unreadable(problem) => problems.push(problem.clone()),
            What::Refused(reason) => problems.push(format!("process {} was not recorded: {reason}", left.process)),
        }
    }
    problems.extend(runs().flat_map(unseen));
    for problem in problems {
        let _ = writeln!(out, "alloc-tracker: {problem}");
    }
    if let Some(run) = largest.filter(|_| !quiet) {
        let file = in_shell(&run.path);
        let _ = writeln!(out, "next: viewer {file}   (pictures)");
        if has_samples(run) {
            let _ = writeln!(out, "      viewer stacks {file}   (by calls)");
        }
    }
    out
}

/// What each process has left, and whether any has told of itself at all.
fn left(processes: &Path) -> (Vec<Left>, bool) {
    let mut all = Vec::new();
    let mut registered = false;
    for entry in fs::read_dir(processes).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let (number, is_refused) = name.strip_suffix(".refused").map_or((name, false), |number| (number, true));
        let Ok(process) = number.parse::<u32>() else { continue };
        registered = true;
        let told = fs::read_to_string(entry.path()).unwrap_or_default();
        if is_refused {
            all.push(Left { process, path: PathBuf::new(), what: What::Refused(told) });
            continue;
        }
        // A forked child that became another program has told of the same path twice.
        let paths: BTreeSet<PathBuf> = told.lines().map(PathBuf::from).collect();
        for path in paths {
            let log = log::path_beside(&path);
            let what = if path.exists() {
                match load(&path) {
                    Ok(run) => What::Timeline(Box::new(run)),
                    Err(problem) => What::Unreadable(problem.to_string()),
                }
            } else if !log.exists() {
                // The recording was given up: a child that only became another program, or one without libtorch.
                continue;
            } else if Path::new(&format!("/proc/{process}")).exists() {
                What::Running
            } else if fs::metadata(&log).is_ok_and(|file| file.len() == 0) {
                What::EmptyLog
            } else {
                What::Log(recovered(&log).map(Box::new))
            };
            all.push(Left { process, path, what });
        }
    }
    all.sort_by_key(|left| left.process);
    (all, registered)
}

/// What a log tells. `viewer recover` says why where it tells nothing.
fn recovered(path: &Path) -> Option<Timeline> {
    let file = BufReader::new(File::open(path).ok()?);
    Some(log::recover(file, path).ok()?.timeline)
}

/// That a process came near a limit of its memory. The program's own stderr was not touched, so it is said here.
fn near_limit(left: &Left, timeline: &Timeline) -> Option<String> {
    let text = near_limit_text(timeline);
    let (first, more) = text.split_once('\n')?;
    let number = u32::try_from(timeline.near_limits.len()).ok()?;
    let dump = dump_path(&left.path, "near-limit", number);
    let dump = if dump.exists() { format!("; see {}", dump.display()) } else { String::new() };
    Some(format!("process {}: {first}{dump}\n{more}", left.process).trim_end().to_owned())
}

/// One line for each timeline, the largest peak first.
fn list(left: &[Left], first: u32) -> String {
    let mut runs: Vec<(&Left, &Run)> = left
        .iter()
        .filter_map(|left| if let What::Timeline(run) = &left.what { Some((left, &**run)) } else { None })
        .collect();
    runs.sort_by_key(|(left, run)| (std::cmp::Reverse(run.timeline.peak.live_bytes), left.process != first));
    let mut out = match runs.len() {
        0 => return "\n".to_owned(),
        1 => "\nalloc-tracker: recorded one process\n".to_owned(),
        count => format!("\nalloc-tracker: recorded {count} processes\n"),
    };
    for (left, run) in runs.iter().take(MOST_ROWS) {
        let (peak, command) = (size(run.timeline.peak.live_bytes), command(run));
        let _ = writeln!(out, "  {:>8}  {peak:>11}  {command}  {}", left.process, left.path.display());
    }
    if runs.len() > MOST_ROWS {
        let _ = writeln!(out, "  and {} more beside them", runs.len() - MOST_ROWS);
    }
    out.push('\n');
    out
}

/// The first words of a process's command, in at most 32 characters.
fn command(run: &Run) -> String {
    let words = run.timeline.run.get("command").and_then(|words| words.as_array());
    let words: Vec<&str> = words.into_iter().flatten().filter_map(|word| word.as_str()).collect();
    let text = shown(&words.join(" ").replace(['\n', '\r', '\t'], " "));
    match text.char_indices().nth(32) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// What `viewer` prints of a run, and the stacks where it has some.
fn run_text(run: &Run) -> String {
    let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
    let terminal = Terminal { width, colours: false };
    let mut out = chart(run, Dimension::Category, terminal);
    // Without a program's help all of its memory has the same owner, and a table of owners says nothing.
    let has_scopes = run.timeline.peak.rows.iter().any(|row| is_named(run, row.scope));
    if !has_samples(run) || has_scopes {
        let _ = write!(out, "\n{}", top_table(run, MOST_ROWS, terminal));
    }
    if has_samples(run) {
        let _ = write!(out, "\n{}", stacks_text(run, Measure::Peak, MOST_ROWS, terminal));
        let _ = write!(out, "\n{}", objects_text(run, Measure::Peak, MOST_ROWS, terminal));
        // One thread holds what the process does.
        if threads(&run.timeline, Measure::Peak).is_some_and(|threads| threads.len() > 1) {
            let _ = write!(out, "\n{}", threads_text(run, Measure::Peak, MOST_ROWS, terminal));
        }
    }
    let _ = write!(out, "{}", fitted(&growth_paragraph(run), width));
    out
}

/// Whether the run has stacks of sampled blocks.
fn has_samples(run: &Run) -> bool {
    run.timeline.stacks.as_ref().is_some_and(|stacks| stacks.samples.taken > 0)
}

/// Whether somebody has entered that scope: the tracker itself only tells what is allocated before `main`.
fn is_named(run: &Run, scope: u32) -> bool {
    let named = |name: &str| !name.is_empty() && name != "runtime";
    run.scopes()
        .get(scope as usize)
        .is_some_and(|scope| [&scope.phase, &scope.layer, &scope.op].into_iter().any(|name| named(name)))
}

/// A sentence on memory that the tracker could not see: a malloc of the program's own, or none at all.
fn unseen(run: &Run) -> Option<String> {
    let timeline = &run.timeline;
    let objects = &timeline.interposition;
    let own = objects.iter().find(|resolution| !resolution.tracked && resolution.object == resolution.resolved_in);
    let file = in_shell(&run.path);
    if let Some(own) = own.filter(|own| !is_system(&own.object)) {
        let rest = format!("see the end of viewer summary {file}");
        return Some(format!(
            "{}: brings a {} of its own, whose blocks are not counted; {rest}",
            own.object, own.symbol
        ));
    }
    // Not the highest resident set: the names of calls are looked up at the end, and the files with the names count there.
    let at_peak = run.lane("rss").and_then(|lane| lane.at_peak_bytes);
    let (live, resident) = (timeline.peak.live_bytes, at_peak.unwrap_or(0));
    let others = resident.saturating_sub(timeline.book.as_ref().map_or(0, known_besides));
    let little = others > SMALL && (live as f64) < others as f64 * LITTLE;
    little.then(|| {
        let (live, resident) = (size(live), size(resident));
        let why = "the rest is mapped, or an allocator inside the program has it";
        format!("{live} of {resident} resident went through malloc; {why}: viewer reconcile {file}")
    })
}

/// What the allocator and the tracker have besides live blocks. Where huge pages are always on, it is tens of MiB.
fn known_besides(book: &Book) -> u64 {
    let is_theirs = |line: &&BookLine| {
        matches!(kind_of(&line.name), MemoryKind::Allocator | MemoryKind::Untouched | MemoryKind::Tracker)
    };
    book.lines.iter().filter(is_theirs).map(|line| line.bytes).sum::<i64>().max(0) as u64
}

/// Whether the object is the C library or the loader, which call their own malloc for blocks that they free themselves.
fn is_system(object: &str) -> bool {
    let name = object.rsplit('/').next().unwrap_or(object);
    name.starts_with("libc.so") || name.starts_with("ld-linux")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_allocator_and_the_tracker_have_is_known() {
        let line = |(name, bytes): (&str, i64)| BookLine {
            name: name.to_owned(),
            bytes,
            source: String::new(),
            parts: Vec::new(),
        };
        let book = |lines: &[(&str, i64)]| Book {
            time_ns: 0,
            live_bytes: 0,
            rss_bytes: 0,
            lines: lines.iter().copied().map(line).collect(),
            beyond: Vec::new(),
        };
        let all =
            [("requested by the program", 1), ("dirty pages", 10), ("tracker", 100), ("other anonymous memory", 1_000)];
        assert_eq!(known_besides(&book(&all)), 110);
        assert_eq!(known_besides(&book(&[("dirty pages", 10), ("claimed but never touched", -30)])), 0);
    }

    /// A process tells of its timeline before it makes the log, so one that is killed in between leaves nothing or an empty log.
    #[test]
    fn a_process_that_was_killed_before_its_first_record() {
        let folder = tempfile::tempdir().expect("a folder");
        let processes = folder.path().join("processes");
        fs::create_dir(&processes).expect("a folder");
        let timeline = folder.path().join("run.timeline.json");
        // No process has this number: the kernel's highest is 4,194,304.
        fs::write(processes.join("4194305"), format!("{}\n", timeline.display())).expect("a file");
        let told = || {
            let (left, registered) = left(&processes);
            assert!(registered);
            text(&left, 1, true)
        };
        assert_eq!(told(), "");
        let log = folder.path().join("run.timeline.json.log");
        File::create(&log).expect("a log");
        let expected = format!("process 4194305 was killed before it recorded anything: {} is empty", log.display());
        assert_eq!(told(), format!("alloc-tracker: {expected}\n"));
    }
}
