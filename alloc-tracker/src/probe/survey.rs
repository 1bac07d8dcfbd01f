//! A survey: resident bytes by kind of mapping, for the lines of the book that the kernel alone knows.
//!
//! Each mapping is of one kind. What of it is the tracker's is taken away first; the tracker has a line of its own.
//!
//! ```text
//! stack of a thread                        stacks, by thread
//! file: pages of its own                   pages of files, by file
//!       pages that the process has written written pages of libraries, by file
//! anonymous, directly behind a file's data zero-initialised data, by file
//! the allocator's                          no line: the book compares it with what the allocator claims
//! a GPU's driver's                       pinned host memory, by mapping
//! anything else: anonymous, named, shared  other anonymous memory, by mapping
//! ```
use super::allocator;
use super::cost;
use super::parts::Parts;
use super::resident::{Pagemap, in_core};
use super::smaps::{self, Kind, Mapping, Range};
use super::threads::{self, Thread};

/// Why the allocator's mappings are not known.
const NOT_TOLD: &str = "unavailable: the mappings of an allocator under `Over` cannot be told from the program's; \
                        writable memory without a name is left out here";

/// Resident bytes of all mappings but the allocator's and the tracker's, and where the allocator's are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Stacks by thread.
    pub stacks: Parts,
    /// Anonymous and shared memory by mapping.
    pub other: Parts,
    /// Memory that a GPU's driver has mapped for the device to read and write: pinned host memory.
    pub pinned: Parts,
    /// The part of `other` and `pinned` that the kernel counts as pages of files: shared memory.
    pub shared: u64,
    /// Zero-initialised data by file.
    pub data: Parts,
    /// Pages of mapped files that the process has written and thereby made its own, by file.
    pub written: Parts,
    /// Pages of files by file.
    pub files: Parts,
    /// The allocator's mappings.
    pub allocator: Vec<Range>,
    /// Their resident bytes.
    pub touched: u64,
    /// Their pages that the program has read and never written: `mincore` calls them present, and they are not resident.
    pub zeroes: u64,
    /// Why there is no survey.
    pub problem: Option<String>,
}

impl Survey {
    /// Walks all mappings. Where the kernel's files cannot be read, the survey is empty and says so.
    pub fn take() -> Self {
        let mappings = match smaps::read() {
            Ok(mappings) => mappings,
            Err(reason) => return Survey { problem: Some(reason), ..Survey::default() },
        };
        let pagemap = Pagemap::open();
        let resident = |range: &Range| pagemap.resident(range.start, range.end);
        let allocators = |mapping: &Mapping| allocator::ranges_in(mapping, true, &[]);
        let mut survey = survey(&mappings, &threads::read(), &cost::ranges(), allocators, resident);
        survey.zeroes = zeroes(&survey, &pagemap);
        survey
    }

    /// The allocator's mappings of this moment: those of the survey, as far as they have grown, and those that can be
    /// recognised without the kernel's flags.
    ///
    /// # Errors
    /// A sentence, when the mappings cannot be read or cannot be told from the program's.
    pub fn allocator_now(&self) -> Result<Vec<Range>, String> {
        if !allocator::is_known() {
            return Err(NOT_TOLD.to_owned());
        }
        if let Some(reason) = &self.problem {
            return Err(reason.clone());
        }
        let tracker = cost::ranges();
        let mappings = smaps::read_addresses()?;
        let own = mappings.iter().filter(|mapping| !overlaps_any(&mapping.range, &tracker));
        Ok(own.flat_map(|mapping| allocator::ranges_in(mapping, false, &self.allocator)).collect())
    }

    /// Where the line for other anonymous memory comes from, or what it leaves out.
    pub fn source_of_other(&self) -> &str {
        if allocator::is_known() { self.source() } else { NOT_TOLD }
    }

    /// Where the lines come from, or why there are none.
    pub fn source(&self) -> &str {
        self.problem.as_deref().unwrap_or("/proc/self/smaps")
    }

    /// By how many bytes two surveys differ.
    pub fn distance(&self, other: &Survey) -> u64 {
        let of = |survey: &Survey| {
            let Survey { stacks, other, pinned, data, written, files, .. } = survey;
            [stacks, other, pinned, data, written, files].map(Clone::clone)
        };
        of(self).iter().zip(&of(other)).map(|(a, b)| a.distance(b)).sum()
    }
}

/// Pages of zeroes among the allocator's. There are two ways to find them, and each may find too many: pages that are
/// shared with a forked child look the same, and pages may have been touched since smaps was read. The second way is the
/// cheap one, and mostly says that there are none.
fn zeroes(survey: &Survey, pagemap: &Pagemap) -> u64 {
    let unread = in_core(&survey.allocator).saturating_sub(survey.touched);
    if unread == 0 {
        return 0;
    }
    let pages = survey.allocator.iter().map(|range| pagemap.pages(range.start, range.end));
    let (present, own) = pages.fold((0, 0), |(present, own), pages| (present + pages.present, own + pages.own));
    (present - own).min(unread)
}

fn overlaps_any(range: &Range, others: &[Range]) -> bool {
    others.iter().any(|other| other.start < range.end && range.start < other.end)
}

fn survey(
    mappings: &[Mapping],
    threads: &[Thread],
    tracker: &[Range],
    allocators: impl Fn(&Mapping) -> Vec<Range>,
    resident: impl Fn(&Range) -> u64,
) -> Survey {
    let mut survey = Survey::default();
    let mappings: Vec<Mapping> = mappings.iter().flat_map(|mapping| cut(mapping, threads, &resident)).collect();
    // The writable mapping of a file that ends where the next mapping begins.
    let mut data_of: Option<&Mapping> = None;
    let has_driver = mappings.iter().any(|mapping| mapping.name.starts_with(DRIVER));
    for mapping in &mappings {
        let range = &mapping.range;
        let behind = data_of.filter(|file| file.range.end == range.start);
        data_of = None;
        let within = |other: &Range| other.start.max(range.start)..other.end.min(range.end);
        let tracked: u64 = tracker.iter().map(within).filter(|part| !part.is_empty()).map(|part| resident(&part)).sum();
        let rss = mapping.rss.saturating_sub(tracked);
        let thread = || threads.iter().find(|thread| range.contains(&thread.stack_address));
        match mapping.kind {
            Kind::File | Kind::Shared if has_driver && is_pinned(mapping) => {
                survey.shared += rss;
                survey.pinned.add(&mapping.name, rss);
            }
            Kind::File => {
                survey.files.add(&mapping.name, mapping.rss.saturating_sub(mapping.anonymous));
                survey.written.add(&mapping.name, mapping.anonymous.saturating_sub(tracked));
                data_of = mapping.writable.then_some(mapping);
            }
            Kind::Stack => survey.stacks.add(thread().map_or(&mapping.name, |thread| &thread.name), rss),
            Kind::Anonymous if let Some(thread) = thread() => survey.stacks.add(&thread.name, rss),
            Kind::Anonymous
                if let Some(file) = behind
                    && !mapping.unreserved =>
            {
                survey.data.add(&file.name, rss);
            }
            Kind::Shared => {
                survey.shared += rss;
                survey.other.add(&mapping.name, rss);
            }
            _ => {
                let own = if overlaps_any(range, tracker) { Vec::new() } else { allocators(mapping) };
                let claimed: u64 = if own == [range.clone()] { rss } else { own.iter().map(&resident).sum() };
                if allocator::is_known() || mapping.kind != Kind::Anonymous || mapping.executable {
                    survey.other.add(&name(mapping), rss.saturating_sub(claimed));
                }
                survey.touched += claimed;
                survey.allocator.extend(own);
            }
        }
    }
    survey
}

/// How the files of NVIDIA's driver begin: `nvidia0`, `nvidiactl`, `nvidia-uvm`.
const DRIVER: &str = "/dev/nvidia";

/// Whether a mapping of a process that uses NVIDIA's driver is host memory that the driver has mapped. It maps shared memory
/// without a name for `cudaHostAlloc`, which the kernel calls /dev/zero, and its own files.
fn is_pinned(mapping: &Mapping) -> bool {
    mapping.name.starts_with(DRIVER) || (mapping.kind == Kind::Shared && mapping.name.starts_with("/dev/zero"))
}

/// The name of a mapping among the other anonymous memory.
fn name(mapping: &Mapping) -> String {
    if !mapping.name.is_empty() {
        return mapping.name.clone();
    }
    let bytes = mapping.range.len();
    let size = if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) };
    let kind = if mapping.executable { "executable (JIT) mapping" } else { "unnamed mapping" };
    format!("{kind} of {size} at {:#x}", mapping.range.start)
}

/// Cuts a mapping where the stack of a thread ends in it: the kernel has merged the stack with what lies behind.
fn cut(mapping: &Mapping, threads: &[Thread], resident: &impl Fn(&Range) -> u64) -> Vec<Mapping> {
    let range = &mapping.range;
    let ends = |thread: &&Thread| {
        range.contains(&thread.stack_address) && (thread.stack_address + 1..range.end).contains(&thread.stack_end)
    };
    let end = threads.iter().filter(ends).map(|thread| thread.stack_end).min();
    let Some(end) = end.filter(|_| mapping.kind == Kind::Anonymous) else { return vec![mapping.clone()] };
    let part = |range: Range, rss| Mapping { range, rss, anonymous: rss, ..mapping.clone() };
    let behind = resident(&(end..range.end)).min(mapping.rss);
    let mut parts = vec![part(range.start..end, mapping.rss - behind)];
    parts.extend(cut(&part(end..range.end, behind), threads, resident));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(list: &[(&str, u64)]) -> Parts {
        list.iter().map(|&(name, bytes)| (name.to_owned(), bytes)).collect()
    }

    fn mapping(range: Range, kind: Kind, name: &str, rss: u64, anonymous: u64) -> Mapping {
        let (name, writable) = (name.to_owned(), true);
        Mapping { range, kind, name, writable, executable: false, unreserved: false, rss, anonymous }
    }

    #[test]
    fn every_mapping_has_one_kind() {
        let mappings = [
            mapping(0x1000..0x2000, Kind::File, "libc.so", 7, 1),
            mapping(0x2000..0x4000, Kind::Anonymous, "", 10, 10),
            mapping(0x5000..0x6000, Kind::Anonymous, "", 100, 100),
            mapping(0x7000..0x8000, Kind::Anonymous, "", 1_000, 1_000),
            Mapping { executable: true, ..mapping(0x9000..0xa000, Kind::Anonymous, "", 10_000, 10_000) },
            mapping(0xb000..0xc000, Kind::Shared, "/dev/shm/pool", 20_000, 0),
            Mapping { unreserved: true, ..mapping(0xd000..0xf000, Kind::Anonymous, "", 500_000, 500_000) },
            mapping(0x10000..0x14000, Kind::Stack, "[stack]", 3_000, 3_000),
        ];
        let thread = |name: &str, stack_address| Thread { name: name.to_owned(), stack_address, stack_end: 0 };
        let threads = [thread("main (1)", 0x10800), thread("worker (2)", 0x7abc)];
        // 0x5000 is the tracker's, and so is a table of 4 bytes in the zero-initialised data.
        let tracker = [0x3000..0x4000, 0x5000..0x6000];
        let allocators = |mapping: &Mapping| Vec::from_iter(mapping.unreserved.then(|| mapping.range.clone()));
        let resident = |range: &Range| if range.start == 0x3000 { 4 } else { 100 };
        let found = survey(&mappings, &threads, &tracker, allocators, resident);
        let expected = Survey {
            stacks: parts(&[("main (1)", 3_000), ("worker (2)", 1_000)]),
            other: parts(&[("executable (JIT) mapping of 4 KiB at 0x9000", 10_000), ("/dev/shm/pool", 20_000)]),
            shared: 20_000,
            pinned: Parts::default(),
            data: parts(&[("libc.so", 6)]),
            written: parts(&[("libc.so", 1)]),
            files: parts(&[("libc.so", 6)]),
            allocator: vec![mappings[6].range.clone()],
            touched: 500_000,
            zeroes: 0,
            problem: None,
        };
        assert_eq!(found, expected);
    }

    fn parsed(text: &str) -> Vec<Mapping> {
        smaps::parse(text.as_bytes()).expect("mappings")
    }

    /// A process that uses CUDA, made up after such lists: 64 MiB of pinned memory, 128 KiB of the driver's, a segment of the
    /// program's own. Without the driver, /dev/zero is a program's shared memory like any other.
    #[test]
    fn pinned_memory_has_a_line_of_its_own_and_is_in_no_other() {
        let text = include_str!("../../../fixtures/gpu/handmade-cuda.smaps");
        let found = survey(&parsed(text), &[], &[], |_| Vec::new(), |_| 0);
        assert_eq!(found.pinned, parts(&[("/dev/nvidiactl", 128 << 10), ("/dev/zero", 64 << 20)]));
        assert_eq!(found.other, parts(&[("/dev/shm/pool", 4 << 20)]));
        assert_eq!(found.files, parts(&[("/usr/lib/libcuda.so.1", 8 << 10)]));
        assert_eq!(found.shared, (68 << 20) + (128 << 10));
        let without: Vec<_> = parsed(text).into_iter().filter(|one| !one.name.starts_with(DRIVER)).collect();
        let found = survey(&without, &[], &[], |_| Vec::new(), |_| 0);
        assert_eq!(found.pinned, Parts::default());
        assert_eq!(found.other, parts(&[("/dev/shm/pool", 4 << 20), ("/dev/zero", 64 << 20)]));
    }

    /// A stack up to 0x14000, and what the program has mapped directly behind it.
    #[test]
    fn a_stack_can_be_merged_with_its_neighbour() {
        let range = 0x10000..0x20000;
        let mapping = mapping(range, Kind::Anonymous, "", 0x9000, 0x9000);
        let threads = [Thread { name: "worker (2)".to_owned(), stack_address: 0x13800, stack_end: 0x14000 }];
        let found = survey(&[mapping], &threads, &[], |_| Vec::new(), |range| (range.len() / 2) as u64);
        assert_eq!(found.stacks, parts(&[("worker (2)", 0x3000)]));
        assert_eq!(found.other, parts(&[("unnamed mapping of 48 KiB at 0x14000", 0x6000)]));
    }

    /// A block of glibc's with a mapping of its own, which has merged with one of the program's.
    #[test]
    fn a_mapping_can_be_the_allocators_in_part() {
        let range = 0x10000..0x20000;
        let mapping = mapping(range, Kind::Anonymous, "", 0x10000, 0x10000);
        let block = 0x14000..0x18000;
        let found = survey(&[mapping], &[], &[], |_| vec![block.clone()], |range| range.len() as u64);
        assert_eq!(found.other, parts(&[("unnamed mapping of 64 KiB at 0x10000", 0xc000)]));
        assert_eq!(found.allocator, vec![block.clone()]);
    }
}
