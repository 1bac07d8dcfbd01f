//! What the process and the cores do: processor time, page faults and context switches, as columns and over the run.
use std::collections::{BTreeMap, BTreeSet};

use crate::sensors::{CoreTime, MOST_SINGLE_CORES, ThreadTime, busy_permille, core_times, summary, thread_times};
use alloc_timeline::kept_file::KeptFile;
use alloc_timeline::{CoreUsage, ProcessUsage, ThreadUsage, Utilisation};

use super::reading::Readings;
use crate::sys;

/// Bytes of /proc/stat that are read, so that its lines of cores are among them: at first, enough for some 40 ...
const STAT_BYTES: usize = 4 << 10;
/// ... and at most, enough for 2,000.
const MOST_STAT_BYTES: usize = 200 << 10;
const END_OF_CORES: &str = "\nintr";
/// The most threads that are listed; the others are one row.
const MOST_THREADS: usize = 64;
/// Beyond so many, only threads that live are told apart from each other.
const MOST_KNOWN: usize = 1_024;
/// Listing the threads takes at most one part in this of the time.
const THREADS_SHARE: u64 = 1_000;

/// The kernel's figures, read on the slow ticks of a recording.
#[derive(Debug)]
pub struct UtilisationProbe {
    began: Reading,
    before: Reading,
    cores: Result<KeptFile, String>,
    buffer: Vec<u8>,
    /// By the thread's number and when it began.
    threads: BTreeMap<(u32, u64), ThreadSum>,
    /// Threads that have ended and are told apart no more.
    ended: Ended,
    threads_problem: Option<String>,
    next_threads_ns: u64,
}

/// What was read at one instant.
#[derive(Clone, Debug, Default)]
struct Reading {
    time_ns: u64,
    usage: Option<ProcessUsage>,
    cpu_ns: u64,
    cores: Vec<CoreTime>,
}

/// A thread's ticks since the session began.
#[derive(Debug, Default)]
struct ThreadSum {
    name: String,
    /// What it had when it was first seen, and what it has now.
    base: (u64, u64),
    latest: (u64, u64),
}

impl ThreadSum {
    /// Ticks in the program and in the kernel since the session began.
    fn used(&self) -> (u64, u64) {
        (self.latest.0.saturating_sub(self.base.0), self.latest.1.saturating_sub(self.base.1))
    }
}

/// How many threads, and their ticks in the program and in the kernel.
#[derive(Debug, Default)]
struct Ended {
    threads: usize,
    user: u64,
    system: u64,
}

impl UtilisationProbe {
    /// Opens the files and takes the first reading.
    pub fn open() -> Self {
        let cores = KeptFile::open("/proc/stat").map_err(|error| format!("cores: unavailable: /proc/stat: {error}"));
        let mut probe = UtilisationProbe {
            began: Reading::default(),
            before: Reading::default(),
            cores,
            buffer: vec![0; STAT_BYTES],
            threads: BTreeMap::new(),
            ended: Ended::default(),
            threads_problem: None,
            next_threads_ns: 0,
        };
        probe.began = probe.take();
        probe.before = probe.began.clone();
        probe.list_threads(true);
        probe
    }

    /// The columns: shares of the time since the reading before, in thousandths of a core, and counts since the session
    /// began.
    pub fn read(&mut self) -> Readings {
        let now = self.take();
        let mut readings = Readings::new();
        let ns = now.time_ns.saturating_sub(self.before.time_ns);
        let used = now.cpu_ns.saturating_sub(self.before.cpu_ns);
        readings.extend((used * 1000).checked_div(ns).map(|permille| ("cpu_process_permille".into(), Some(permille))));
        if let Some(used) = now.usage.zip(self.began.usage).map(|(now, began)| sys::usage_since(&now, &began)) {
            readings.push(("minor_faults".into(), Some(used.minor_faults)));
            readings.push(("major_faults".into(), Some(used.major_faults)));
            readings.push(("voluntary_switches".into(), Some(used.voluntary_switches)));
            readings.push(("involuntary_switches".into(), Some(used.involuntary_switches)));
        }
        let busy = busy_permille(&self.before.cores, &now.cores);
        if now.cores.len() <= MOST_SINGLE_CORES {
            readings.extend(
                busy.iter().map(|(core, permille)| (format!("cpu_core_{core}_permille").into(), Some(*permille))),
            );
        } else if let Some(cores) = summary(&busy) {
            readings.push(("cpu_cores_min_permille".into(), Some(cores.min)));
            readings.push(("cpu_cores_median_permille".into(), Some(cores.median)));
            readings.push(("cpu_cores_max_permille".into(), Some(cores.max)));
            readings.push(("cpu_cores_used".into(), Some(cores.used)));
        }
        self.before = now;
        self.list_threads(false);
        readings
    }

    /// The figures of the run so far.
    pub fn figures(&mut self) -> Utilisation {
        let now = self.take();
        self.list_threads(true);
        let process = now.usage.zip(self.began.usage).map(|(now, began)| sys::usage_since(&now, &began));
        let busy = busy_permille(&self.began.cores, &now.cores);
        let mut unavailable = Vec::new();
        if process.is_none() {
            unavailable.push("process: unavailable: getrusage does not answer".to_owned());
        }
        match &self.cores {
            Err(reason) => unavailable.push(reason.clone()),
            Ok(_) if now.cores.is_empty() => {
                unavailable.push("cores: unavailable: /proc/stat names none".to_owned());
            }
            Ok(_) => {}
        }
        unavailable.extend(self.threads_problem.clone());
        Utilisation {
            duration_ns: now.time_ns.saturating_sub(self.began.time_ns),
            process,
            cores: busy.into_iter().map(|(core, busy_permille)| CoreUsage { core, busy_permille }).collect(),
            threads: self.thread_rows(),
            unavailable,
            ..Utilisation::default()
        }
    }

    fn take(&mut self) -> Reading {
        let length = self.read_stat();
        let text = String::from_utf8_lossy(&self.buffer[..length]);
        let cores = &text[..text.find(END_OF_CORES).unwrap_or(text.len())];
        Reading {
            time_ns: sys::now_ns(),
            usage: sys::process_usage(),
            cpu_ns: sys::process_cpu_ns(),
            cores: core_times(cores),
        }
    }

    /// Reads the lines of cores, which are the first; the line of interrupts behind them may be longer than all of them.
    /// Returns how many bytes were read.
    fn read_stat(&mut self) -> usize {
        let Ok(file) = &self.cores else { return 0 };
        loop {
            let length = file.read_at(&mut self.buffer, 0).unwrap_or(0);
            let text = String::from_utf8_lossy(&self.buffer[..length]);
            if length < self.buffer.len() || text.contains(END_OF_CORES) || length >= MOST_STAT_BYTES {
                return length;
            }
            self.buffer.resize(2 * length, 0);
        }
    }

    /// Lists the threads, unless that was done a short while ago and `now` is false.
    fn list_threads(&mut self, now: bool) {
        let began = sys::now_ns();
        if !now && began < self.next_threads_ns {
            return;
        }
        match thread_times() {
            Ok(threads) => self.saw(threads),
            Err(error) => self.threads_problem = Some(format!("threads: unavailable: /proc/self/task: {error}")),
        }
        self.next_threads_ns = began + THREADS_SHARE * sys::now_ns().saturating_sub(began);
    }

    /// These are all threads that live.
    fn saw(&mut self, threads: Vec<ThreadTime>) {
        // A thread that came after the first listing has used nothing before the session.
        let is_first = self.next_threads_ns == 0;
        let mut living = BTreeSet::new();
        for thread in threads {
            let (key, ticks) = ((thread.id, thread.began), (thread.user, thread.system));
            let base = if is_first { ticks } else { (0, 0) };
            let sum = self.threads.entry(key).or_insert_with(|| ThreadSum { base, ..ThreadSum::default() });
            (sum.name, sum.latest) = (thread.name, ticks);
            living.insert(key);
        }
        if self.threads.len() > MOST_KNOWN {
            for (_, sum) in self.threads.extract_if(.., |key, _| !living.contains(key)) {
                let (user, system) = sum.used();
                self.ended.threads += 1;
                self.ended.user += user;
                self.ended.system += system;
            }
        }
    }

    fn thread_rows(&self) -> Vec<ThreadUsage> {
        let tick_ns = 1_000_000_000 / sys::ticks_per_second();
        let row = |(&(id, _), sum): (&(u32, u64), &ThreadSum)| {
            let (user, system) = sum.used();
            ThreadUsage { id, name: sum.name.clone(), user_ns: user * tick_ns, system_ns: system * tick_ns }
        };
        let mut rows: Vec<ThreadUsage> = self.threads.iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.user_ns + row.system_ns));
        let others = rows.split_off(rows.len().min(MOST_THREADS));
        let count = others.len() + self.ended.threads;
        if count > 0 {
            rows.push(ThreadUsage {
                id: 0,
                name: format!("{count} other threads"),
                user_ns: others.iter().map(|row| row.user_ns).sum::<u64>() + self.ended.user * tick_ns,
                system_ns: others.iter().map(|row| row.system_ns).sum::<u64>() + self.ended.system * tick_ns,
            });
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_process_is_seen() {
        let mut probe = UtilisationProbe::open();
        let until = sys::thread_cpu_ns() + 50_000_000;
        while sys::thread_cpu_ns() < until {}
        let readings: BTreeMap<_, _> = probe.read().into_iter().collect();
        assert!(readings["cpu_process_permille"] > Some(0), "{readings:?}");
        assert!(readings.contains_key("minor_faults") && readings.contains_key("involuntary_switches"), "{readings:?}");
        let figures = probe.figures();
        let process = figures.process.expect("getrusage");
        assert!(process.user_ns + process.system_ns >= 40_000_000 && figures.duration_ns >= 50_000_000, "{figures:?}");
        assert!(!figures.threads.is_empty() && figures.unavailable.is_empty(), "{figures:?}");
    }

    /// Thread 7 has ended, and its number is another's: both have their times. Of more than a thousand, those that have ended are one row.
    #[test]
    fn threads_that_have_ended_keep_their_times() {
        let thread = |id, began, user| ThreadTime { id, began, name: "worker".into(), user, system: 1 };
        let mut probe = UtilisationProbe { threads: BTreeMap::new(), ..UtilisationProbe::open() };
        probe.saw(vec![thread(7, 1, 10)]);
        probe.saw(vec![thread(7, 2, 20)]);
        let tick_ns = 1_000_000_000 / sys::ticks_per_second();
        let told = |probe: &UtilisationProbe| -> Vec<(String, u64)> {
            probe.thread_rows().into_iter().map(|row| (row.name, row.user_ns / tick_ns)).collect()
        };
        assert_eq!(told(&probe), [("worker".to_owned(), 20), ("worker".to_owned(), 10)]);
        for number in 0..2_000 {
            probe.saw(vec![thread(8, number, 1)]);
        }
        assert!(probe.threads.len() <= MOST_KNOWN, "{}", probe.threads.len());
        assert_eq!(told(&probe).iter().map(|(_, user)| user).sum::<u64>(), 10 + 20 + 2_000);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_the_rest_stands() {
        let mut probe =
            UtilisationProbe { cores: Err("cores: unavailable: closed".into()), ..UtilisationProbe::open() };
        probe.before.cores.clear();
        let names: Vec<_> = probe.read().into_iter().map(|(name, _)| name).collect();
        assert!(names.contains(&"cpu_process_permille".into()), "{names:?}");
        assert!(!names.iter().any(|name| name.starts_with("cpu_core")), "{names:?}");
        let figures = probe.figures();
        assert_eq!((figures.cores, figures.unavailable), (Vec::new(), vec!["cores: unavailable: closed".to_owned()]));
        assert!(figures.process.is_some());
    }
}
