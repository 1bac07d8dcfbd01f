//! Names for the calls of sampled stacks, at the end of a recording. Inlined calls have names too, and names are
//! demangled.
//!
//! ```text
//! frame (file, address in it) -> debug information -> calls: the function and those inlined into it
//!                             \-> else the symbol table -> one call; else FILE+0xADDRESS
//! interpreter's frame -> the interpreter, which kept what it is called -> one call, in place of its function's that ran it
//! ```
//!
//! Names come from the files on disk, so that calls in a library that has been unloaded have names as well; but not from a file that was put
//! in the place of the one that ran. We look for debug information in files of its own (`elf.rs`), and else in the file itself.
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use addr2line::Loader;
use alloc_timeline::{Call, SampledThread, Site, SiteColumn, SiteGrowth, Stacks};
use rustc_hash::FxHashMap;

use alloc_replay::{SiteRow, SiteTable, ThreadRow};

use super::debug_information::{Replaced, calls_at, open};
use super::folded_sites::Folded;
use super::merged_frames::{Merged, merged};
use super::thread_names;
use crate::probe::interposition::own_library;
use crate::settings::sampling;
use crate::stacks::interpreter::{self, InterpretedCall, is_interpreted};
use crate::stacks::{self, ADDRESS_BITS, Modules, NO_STACK};

/// The longest time that a program's end is delayed by the search for names.
const MOST_TIME: Duration = Duration::from_secs(20);

/// Functions through which the program enters the tracker, besides the tracker's own.
const DOORS: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "reallocarray",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
];

/// The timeline's section on stacks. `with_files`: whether names are read from files; without, native calls have none. `losses` gets a
/// sentence for each thing that went wrong.
pub fn stacks(table: SiteTable, modules: &Modules, with_files: bool, losses: &mut Vec<String>) -> Stacks {
    let mut names = Names::new(modules, with_files);
    let mut folded = Folded::default();
    let places: Vec<u32> = table
        .sites
        .iter()
        .map(|&SiteRow { stack, scope, sums }| {
            let cut = stacks::is_cut(stack);
            let calls = names.stack(stack, cut);
            folded.add(Site { scope: scope.into(), calls, cut, sums })
        })
        .collect();
    let mut columns: Vec<SiteColumn> = Vec::new();
    for column in table.growth.columns {
        let site = places[column.owner];
        match columns.iter_mut().find(|known| known.site == site) {
            Some(known) => known.live_bytes.iter_mut().zip(column.live_bytes).for_each(|(sum, part)| *sum += part),
            None => columns.push(SiteColumn { site, live_bytes: column.live_bytes }),
        }
    }
    let mut samples = table.counts;
    (samples.lost, samples.lost_bytes) = stacks::lost();
    samples.unnamed_calls = names.unnamed;
    if names.late > 0 {
        let seconds = MOST_TIME.as_secs();
        losses.push(format!(
            "stacks: {} calls have no name, because naming all takes longer than {seconds} s",
            names.late
        ));
    }
    if !names.replaced.is_empty() {
        let paths: Vec<String> = names.replaced.iter().map(|path| path.display().to_string()).collect();
        losses.push(format!(
            "stacks: calls have no name where the file was deleted or replaced since it was loaded, or cannot be read: {}",
            paths.join(", ")
        ));
    }
    let growth = SiteGrowth {
        steps: table.growth.steps,
        live_bytes: table.growth.live_bytes,
        columns,
        other_bytes: table.growth.other_bytes,
    };
    let (calls, sites, others) = (names.calls, folded.sites, table.others);
    let threads = table.threads.threads.into_iter().map(sampled_thread).collect();
    let other_threads = table.threads.others;
    Stacks { complete: true, samples, calls, sites, others, growth, threads, other_threads, ..announcement() }
}

/// A thread with its name, as far as that is known.
fn sampled_thread(ThreadRow { number, name, sums }: ThreadRow) -> SampledThread {
    SampledThread { number, name: name.or_else(|| thread_names::of(number)), sums }
}

/// The names that have been found so far.
struct Names<'a> {
    modules: &'a Modules,
    /// The shared library that the tracker is in; `None` when it is part of the program.
    own: Option<PathBuf>,
    end: Instant,
    with_files: bool,
    /// What was opened, by the numbers of the files.
    files: HashMap<u16, Option<Loader>>,
    /// The numbers of the calls at each frame, the outermost first.
    frames: FxHashMap<u64, Vec<u32>>,
    calls: Vec<Call>,
    index: HashMap<Call, u32>,
    /// Frames for which there is only `FILE+0xADDRESS`.
    unnamed: u64,
    /// Those of them for which the time did not suffice.
    late: u64,
    /// The files that are not where they were any more.
    replaced: BTreeSet<&'a Path>,
}

impl<'a> Names<'a> {
    fn new(modules: &'a Modules, with_files: bool) -> Self {
        Names {
            modules,
            own: own_library(),
            end: Instant::now() + MOST_TIME,
            with_files,
            files: HashMap::new(),
            frames: FxHashMap::default(),
            calls: Vec::new(),
            index: HashMap::new(),
            unnamed: 0,
            late: 0,
            replaced: BTreeSet::new(),
        }
    }

    /// The numbers of a stack's calls, the outermost first, without the tracker's own.
    fn stack(&mut self, stack: u32, cut: bool) -> Vec<u32> {
        let frames = if stack == NO_STACK { Vec::new() } else { stacks::frames(stack) };
        let (native, interpreted) = frames.split_at(frames.partition_point(|&frame| !is_interpreted(frame)));
        // Farther out, the tracker's library may have called the program, as its functions around Python's do.
        let innermost = native.iter().take_while(|&&frame| self.is_own(frame)).count();
        let native: Vec<u64> = native[innermost..].iter().copied().filter(|&frame| !self.is_own(frame)).collect();
        native.iter().for_each(|&frame| self.find(frame));
        let mut calls = Vec::new();
        for merged in merged(&native, interpreted, cut, |frame| self.runs_others(frame)).into_iter().rev() {
            match merged {
                Merged::Native(frame) => calls.extend_from_slice(&self.frames[&frame]),
                Merged::Interpreted { frame, within } => calls.extend(self.interpreted(frame, within)),
            }
        }
        let door = calls.iter().position(|&call| is_door(&self.calls[call as usize]));
        calls.truncate(door.unwrap_or(calls.len()));
        calls
    }

    /// Finds the calls at a frame of native code, unless they are known.
    fn find(&mut self, frame: u64) {
        if !self.frames.contains_key(&frame) {
            let found = self.look_up(frame);
            let numbers = found.into_iter().map(|call| self.number(call)).collect();
            self.frames.insert(frame, numbers);
        }
    }

    /// Whether a frame that has been found is of the function in which an interpreter runs others.
    fn runs_others(&self, frame: u64) -> bool {
        let outermost = self.frames.get(&frame).and_then(|calls| calls.first());
        outermost
            .zip(interpreter::announced())
            .is_some_and(|(&call, interpreter)| (interpreter.runs)(&self.calls[call as usize].function))
    }

    /// The number of the call that an interpreter told of, in its function at the frame `within`; `None` for a frame that is no call's.
    fn interpreted(&mut self, frame: u64, within: Option<u64>) -> Option<u32> {
        let interpreter = interpreter::announced()?;
        let InterpretedCall { function, file, line } = (interpreter.call)(frame & ((1 << ADDRESS_BITS) - 1))?;
        let path = within.and_then(|within| self.modules.place(within)).map(|(file, _)| &*file.path);
        let object = path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let language = Some(interpreter.language.to_owned());
        Some(self.number(Call { function, file: Some(file), line, inlined: false, object, language }))
    }

    /// Whether the frame is in the tracker's own library, where it is one.
    fn is_own(&self, frame: u64) -> bool {
        let own = self.own.as_deref();
        own.is_some() && self.modules.place(frame).map(|(file, _)| &*file.path) == own
    }

    fn number(&mut self, call: Call) -> u32 {
        let next = self.calls.len() as u32;
        let number = *self.index.entry(call.clone()).or_insert(next);
        if number == next {
            self.calls.push(call);
        }
        number
    }

    /// The calls at a frame, the outermost first; none when the frame lies in no known module, else at least one.
    fn look_up(&mut self, frame: u64) -> Vec<Call> {
        let Some((file, address)) = self.modules.place(frame) else { return Vec::new() };
        let late = self.with_files && Instant::now() > self.end;
        self.late += u64::from(late);
        let loader = if late || !self.with_files {
            None
        } else {
            let replaced = &mut self.replaced;
            let load = || {
                open(file).unwrap_or_else(|Replaced| {
                    replaced.insert(&file.path);
                    None
                })
            };
            self.files.entry(file.number).or_insert_with(load).as_ref()
        };
        let mut calls = loader.map_or_else(Vec::new, |loader| calls_at(loader, address));
        let object = file.path.file_name().unwrap_or_default().to_string_lossy();
        if calls.is_empty() {
            calls.push(Call { function: format!("{object}+{address:#x}"), ..Call::default() });
            self.unnamed += 1;
        }
        calls.iter_mut().for_each(|call| call.object = Some(object.to_string()));
        calls
    }
}

/// Whether the call belongs to the tracker, or to the functions between it and the program (`malloc`, Rust's `alloc`).
fn is_door(call: &Call) -> bool {
    if call.language.is_some() {
        return false;
    }
    // This file is `.../alloc-tracker/src/recorder/stack_names.rs`; the doors' sources are in
    // `.../alloc-tracker/src/door/`.
    let source = file!().strip_suffix("recorder/stack_names.rs").unwrap_or("alloc-tracker/src/");
    let file = call.file.as_deref().unwrap_or_default();
    let name = call.function.strip_prefix("__rustc::").unwrap_or(&call.function).trim_start_matches('<');
    file.split_once(source).is_some_and(|(_, rest)| rest.starts_with("door/"))
        || file.ends_with("library/alloc/src/alloc.rs")
        || DOORS.contains(&name)
        || ["alloc_tracker::door::", "alloc_interpose::", "__rg_", "__rdl_"].iter().any(|door| name.starts_with(door))
}

/// The section before any site is known: it says that stacks are sampled, and with which settings.
pub fn announcement() -> Stacks {
    Stacks { mean_bytes: sampling::mean_bytes(), seed: sampling::seed(), ..Stacks::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_into_the_tracker_is_known() {
        let call = |function: &str, file: Option<&str>| Call {
            function: function.into(),
            file: file.map(str::to_owned),
            ..Call::default()
        };
        let here = std::path::Path::new("/build").join(file!());
        let source = here.ancestors().nth(2).expect("the sources");
        let cold = source.join("door/cold.rs");
        for (function, file) in [
            ("malloc", None),
            ("__rustc::__rust_realloc", None),
            ("alloc_tracker::door::cold::allocate", None),
            ("<alloc_tracker::door::rust::Tracker as core::alloc::global::GlobalAlloc>::alloc", None),
            ("allocate", cold.to_str()),
            ("alloc", Some("/rustc/abc/library/alloc/src/alloc.rs")),
        ] {
            assert!(is_door(&call(function, file)), "{function}");
        }
        for (function, file) in [
            ("my_malloc", None),
            ("alloc::raw_vec::finish_grow", Some("/rustc/abc/library/alloc/src/raw_vec/mod.rs")),
            ("operator new(unsigned long)", None),
            ("std::sys::backtrace::__rust_begin_short_backtrace", None),
            ("alloc_tracker::scopes::guard::within", here.to_str()),
        ] {
            assert!(!is_door(&call(function, file)), "{function}");
        }
    }

    #[inline(never)]
    fn outer(seed: u64) -> u64 {
        std::hint::black_box(inner(std::hint::black_box(seed)))
    }

    #[inline(always)]
    fn inner(seed: u64) -> u64 {
        std::hint::black_box(seed) + u64::from(line!())
    }

    /// Somewhere in the code of `outer` there is the inlined code of `inner`.
    #[test]
    fn inlined_calls_lie_in_their_callers() {
        assert!(outer(1) > 1);
        let start = outer as *const () as u64;
        let found: Vec<Vec<Call>> = stacks::with_modules(|modules, map| {
            let mut names = Names::new(modules, true);
            let frames = (0..64).filter_map(|offset| map.frame(start + offset));
            let inner = |call: &Call| call.inlined && call.function.ends_with("inner");
            frames.map(|frame| names.look_up(frame)).filter(|calls| calls.iter().any(inner)).collect()
        });
        let calls = found.first().expect("an inlined call");
        assert!(calls[0].function.ends_with("tests::outer") && !calls[0].inlined, "{calls:?}");
        assert!(calls[1].function.ends_with("inner") && calls[1].inlined, "{calls:?}");
        assert!(calls[..2].iter().all(|call| call.file.as_ref().is_some_and(|file| file.ends_with("stack_names.rs"))));
    }
}
