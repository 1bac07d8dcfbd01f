//! The one setting that would make the resident set smallest, by rules: each says which lines of a book a setting can give
//! back, for which allocator, and what it costs.
//!
//! The bytes are an upper bound. Pages that are given back may be needed again at the peak, and a smaller cache makes other
//! lines larger; only a run with the setting tells.
use alloc_timeline::{Allocator, Book, Timeline};
use serde::Serialize;

/// What a setting would give back at the most, and at what cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// The lines of the book that it would make smaller.
    pub lines: Vec<String>,
    /// The environment variable with its value.
    pub setting: String,
    /// What is set now, in words.
    pub now: String,
    /// The most bytes that it could give back.
    pub up_to_bytes: u64,
    /// What it costs, in words.
    pub cost: String,
    /// What `trainer compare --allocator` takes to run both; absent where the setting is not one of an allocator.
    pub compare: Option<String>,
}

/// A setting is only worth a word when it could give back this part of the resident set ...
const LEAST_SHARE: u64 = 50;
/// ... and at least these bytes.
const LEAST_BYTES: u64 = 1 << 20;

/// One rule.
struct Rule {
    /// The allocator that it is about, as timelines call it; `None` when it does not matter.
    backend: Option<&'static str>,
    /// What could be changed; `None` when it is set so already.
    change: fn(&Facts<'_>) -> Option<Change>,
    /// What the change costs.
    cost: &'static str,
}

/// What a rule proposes.
struct Change {
    lines: &'static [&'static str],
    setting: String,
    now: String,
    up_to: u64,
    compare: Option<String>,
}

/// Of settings that could give back the same, the first rule's counts.
const RULES: [Rule; 6] = [
    Rule {
        backend: Some("jemalloc"),
        change: decay,
        cost: "pages that are needed again are faulted in anew, which makes steps slower",
    },
    Rule {
        backend: Some("jemalloc"),
        change: one_arena,
        cost: "threads then wait for each other where they allocate small blocks at the same time",
    },
    Rule { backend: Some("jemalloc"), change: no_thread_cache, cost: "every small block then takes a lock" },
    Rule {
        backend: Some("system"),
        change: trim,
        cost: "memory that is needed again is faulted in anew, which makes steps slower",
    },
    Rule {
        backend: Some("system"),
        change: one_glibc_arena,
        cost: "threads then wait for each other where they allocate at the same time",
    },
    Rule {
        backend: None,
        change: fewer_threads,
        cost: "operators then run on one core; the stacks of threads that Rust starts are bounded by RUST_MIN_STACK",
    },
];

/// The setting that could give back most; `None` where none could give back much.
pub(super) fn advice(book: &Book, timeline: &Timeline) -> Option<Advice> {
    let allocator = &timeline.allocator;
    let pid = timeline.run.get("pid").and_then(serde_json::Value::as_u64);
    let facts = Facts { book, allocator, pid };
    let least = (book.rss_bytes / LEAST_SHARE).max(LEAST_BYTES);
    let applies = |rule: &&Rule| rule.backend.is_none_or(|backend| backend == allocator.backend);
    let proposed = RULES.iter().filter(applies).filter_map(|rule| Some((rule, (rule.change)(&facts)?)));
    // `max_by_key` takes the last of equal ones, so the rules are taken from the end.
    let worth_it = proposed.filter(|(_, change)| change.up_to >= least).collect::<Vec<_>>();
    let (rule, best) = worth_it.into_iter().rev().max_by_key(|(_, change)| change.up_to)?;
    Some(Advice {
        lines: best.lines.iter().filter(|line| facts.bytes(line) > 0).map(|line| (*line).to_owned()).collect(),
        setting: best.setting,
        now: best.now,
        up_to_bytes: best.up_to,
        cost: rule.cost.to_owned(),
        compare: best.compare,
    })
}

/// What the rules look at.
struct Facts<'a> {
    book: &'a Book,
    allocator: &'a Allocator,
    /// The number of the process, which its main thread has as well.
    pid: Option<u64>,
}

impl Facts<'_> {
    /// The bytes of a line; 0 where there is no such line, and where it is negative.
    fn bytes(&self, name: &str) -> u64 {
        let line = self.book.lines.iter().find(|line| line.name == name);
        line.map_or(0, |line| u64::try_from(line.bytes).unwrap_or(0))
    }

    fn sum(&self, lines: &[&str]) -> u64 {
        lines.iter().fold(0, |sum, line| sum.saturating_add(self.bytes(line)))
    }

    /// What jemalloc's setting of this name is: as jemalloc said it, as the environment set it, or as it was compiled in.
    fn jemalloc_setting(&self, name: &str) -> Option<&str> {
        let config = &self.allocator.config;
        let in_list = |list: &'static str| {
            let pairs = config.get(list)?.split(',').rev().filter_map(|pair| pair.split_once(':'));
            pairs.map(|(key, value)| (key.trim(), value.trim())).find(|pair| pair.0 == name).map(|pair| pair.1)
        };
        config.get(name).map(String::as_str).or_else(|| in_list("environment")).or_else(|| in_list("compiled_in"))
    }

    /// The change that adds these settings of jemalloc's to those that are in the environment.
    fn jemalloc_change(&self, lines: &'static [&'static str], settings: &str, now: String) -> Change {
        let set = self.allocator.config.get("environment").map_or("", |set| set.trim_matches(','));
        let all = if set.is_empty() { settings.to_owned() } else { format!("{set},{settings}") };
        Change {
            lines,
            setting: format!("_RJEM_MALLOC_CONF={all}"),
            now,
            up_to: self.sum(lines),
            compare: Some(format!("jemalloc,jemalloc:{}", all.replace(',', "+"))),
        }
    }

    /// The change that sets one of glibc's variables.
    fn glibc_change(&self, setting: &str, compare: &str, now: &str) -> Change {
        let up_to = self.sum(&FREE_IN_GLIBC);
        let compare = Some(format!("glibc,glibc:{compare}"));
        Change { lines: &FREE_IN_GLIBC, setting: setting.to_owned(), now: now.to_owned(), up_to, compare }
    }
}

/// jemalloc gives freed pages back at once. Pages that it has dropped lazily count as resident until the kernel takes
/// them, so both decay times have to be 0.
fn decay(facts: &Facts<'_>) -> Option<Change> {
    // The third of these is what older recorders wrote in place of all lines of the allocator.
    const LINES: [&str; 3] = ["dirty pages", "muzzy pages", "allocator: free pages and tables"];
    const MUZZY: [&str; 1] = ["muzzy pages"];
    let later = |name: &str| facts.jemalloc_setting(name).filter(|ms| *ms != "0");
    let (dirty, muzzy) = (later("dirty_decay_ms"), later("muzzy_decay_ms"));
    let lines: &[&str] = if dirty.is_some() { &LINES } else { &MUZZY };
    let set = [("dirty_decay_ms", dirty), ("muzzy_decay_ms", muzzy)];
    let zero: Vec<String> = set.iter().filter(|one| one.1.is_some()).map(|one| format!("{}:0", one.0)).collect();
    let now = match dirty.or(muzzy) {
        Some("-1") => "jemalloc never gives freed pages back".to_owned(),
        Some(ms) => format!("jemalloc gives freed pages back over {ms} ms"),
        None => return None,
    };
    Some(facts.jemalloc_change(lines, &zero.join(","), now))
}

/// Small blocks of all threads share slabs.
fn one_arena(facts: &Facts<'_>) -> Option<Change> {
    const LINES: [&str; 1] = ["slack inside slabs"];
    let now = match facts.jemalloc_setting("narenas") {
        Some("1") => return None,
        Some(arenas) => format!("threads are spread over {arenas} arenas, each with slabs of its own"),
        None => "threads are spread over four arenas for each CPU, each with slabs of its own".to_owned(),
    };
    Some(facts.jemalloc_change(&LINES, "narenas:1", now))
}

/// Freed small blocks go back to their slab.
fn no_thread_cache(facts: &Facts<'_>) -> Option<Change> {
    const LINES: [&str; 1] = ["blocks cached by the allocator"];
    if facts.jemalloc_setting("tcache") == Some("false") {
        return None;
    }
    let now = "each thread keeps freed small blocks in a cache".to_owned();
    Some(facts.jemalloc_change(&LINES, "tcache:false", now))
}

/// What glibc's allocator has freed and not given back; the last is what older recorders wrote.
const FREE_IN_GLIBC: [&str; 2] = ["free memory of the allocator", "allocator: free pages and tables"];

/// glibc gives the free end of its heap back; a threshold that is set does not grow with what the program frees.
fn trim(facts: &Facts<'_>) -> Option<Change> {
    if is_set_in_glibc(facts, "MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold") {
        return None;
    }
    let now = "the C library raises its threshold for giving memory back as large blocks are freed";
    Some(facts.glibc_change("MALLOC_TRIM_THRESHOLD_=131072", "trim_threshold:131072", now))
}

/// All threads share one heap, so that what one has freed serves the others.
fn one_glibc_arena(facts: &Facts<'_>) -> Option<Change> {
    if is_set_in_glibc(facts, "MALLOC_ARENA_MAX", "glibc.malloc.arena_max") {
        return None;
    }
    let now = "threads are spread over up to eight arenas for each CPU";
    Some(facts.glibc_change("MALLOC_ARENA_MAX=1", "arena_max:1", now))
}

fn is_set_in_glibc(facts: &Facts<'_>, variable: &str, tunable: &str) -> bool {
    let config = &facts.allocator.config;
    config.contains_key(variable) || config.get("GLIBC_TUNABLES").is_some_and(|set| set.contains(tunable))
}

/// Operators run on one thread; the main thread's stack stays.
fn fewer_threads(facts: &Facts<'_>) -> Option<Change> {
    const LINES: [&str; 1] = ["stacks"];
    let line = facts.book.lines.iter().find(|line| line.name == LINES[0])?;
    let main = facts.pid.map(|pid| format!("({pid})"));
    let is_main = |name: &str| name.contains("[stack]") || main.as_ref().is_some_and(|main| name.ends_with(main));
    let others = || line.parts.iter().filter(|part| !is_main(&part.name));
    let (up_to, now) = if line.parts.is_empty() {
        (facts.sum(&LINES), "every thread has a stack".to_owned())
    } else {
        let bytes = others().fold(0u64, |sum, part| sum.saturating_add(u64::try_from(part.bytes).unwrap_or(0)));
        (bytes, format!("{} threads beside the main one have stacks", others().count()))
    };
    Some(Change { lines: &LINES, setting: "OMP_NUM_THREADS=1".to_owned(), now, up_to, compare: None })
}

#[cfg(test)]
mod tests;
