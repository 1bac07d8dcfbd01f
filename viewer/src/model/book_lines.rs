//! The lines of books that the viewer knows by name: what kind of memory each is, and what it means in plain words.

/// The kind of memory that a line of a book counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Blocks that the program has not freed.
    Live,
    /// What the allocator holds beyond the live blocks.
    Allocator,
    /// Claimed by the allocator, but not resident: the line is negative.
    Untouched,
    /// The tracker's own memory.
    Tracker,
    /// The stacks of threads.
    Stacks,
    /// Anonymous memory that is neither the allocator's nor the tracker's nor a stack.
    Other,
    /// Pages of libraries and of other mapped files.
    Files,
    /// The resident set less all other lines.
    Unexplained,
}

/// The name of the line that stands for all lines of the allocator in a coarse book.
pub const COARSE_ALLOCATOR: &str = "allocator";

/// The name of the last line of every book.
pub const UNEXPLAINED: &str = "unexplained";

/// Names, kinds and meanings: first the lines of a fine book in their order, then those that only coarse books have, and
/// at last those that only older recorders wrote.
const LINES: [(&str, MemoryKind, &str); 26] = [
    ("requested by the program", MemoryKind::Live, "what the callers asked for"),
    ("rounding to size classes", MemoryKind::Live, "what the allocator added to each request"),
    ("blocks cached by the allocator", MemoryKind::Allocator, "freed blocks that threads keep at hand"),
    ("slack inside slabs", MemoryKind::Allocator, "free places between small blocks"),
    ("dirty pages", MemoryKind::Allocator, "freed pages that the allocator keeps for the next blocks"),
    ("muzzy pages", MemoryKind::Allocator, "freed pages that the kernel may take back, and has not taken yet"),
    ("free memory of the allocator", MemoryKind::Allocator, "freed blocks that the C library has not given back"),
    ("allocator's metadata", MemoryKind::Allocator, "the allocator's own tables"),
    ("claimed but never touched", MemoryKind::Untouched, "pages that the allocator claimed and nobody wrote to"),
    ("tracker", MemoryKind::Tracker, "the profiler's own memory, which goes when it goes"),
    ("stacks", MemoryKind::Stacks, "pages of the threads' stacks that were used"),
    ("other anonymous memory", MemoryKind::Other, "memory that the program or a library mapped past the allocator"),
    ("pinned host memory", MemoryKind::Other, "memory that a GPU's driver keeps resident for copies to the device"),
    ("Python's arenas", MemoryKind::Other, "memory in which Python has its objects of up to 512 bytes"),
    ("zero-initialised data", MemoryKind::Other, "global variables that begin as zero"),
    ("written pages of libraries", MemoryKind::Files, "pages of libraries that the process has changed"),
    ("pages of files", MemoryKind::Files, "code and data of mapped files, which the kernel drops when memory is short"),
    ("live", MemoryKind::Live, "blocks that were not freed"),
    (COARSE_ALLOCATOR, MemoryKind::Allocator, "what the allocator holds beyond the live blocks"),
    ("other memory", MemoryKind::Other, "data and memory that was mapped past the allocator"),
    ("files", MemoryKind::Files, "code and data of mapped files, which the kernel drops when memory is short"),
    (UNEXPLAINED, MemoryKind::Unexplained, "what no instrument accounts for"),
    ("tracked live", MemoryKind::Live, "blocks that were not freed"),
    ("untouched pages of live blocks", MemoryKind::Untouched, "pages of live blocks that nobody wrote to"),
    ("allocator: free pages and tables", MemoryKind::Allocator, "freed pages that the allocator keeps, and its tables"),
    (
        "libraries and mapped files",
        MemoryKind::Files,
        "code and data of mapped files, which the kernel drops when memory is short",
    ),
];

/// The kind of memory that the line with this name counts. A name that the viewer does not know is
/// [`MemoryKind::Other`].
pub fn kind_of(line: &str) -> MemoryKind {
    LINES.iter().find(|known| known.0 == line).map_or(MemoryKind::Other, |known| known.1)
}

/// What the line with this name means, as a clause; `None` for a name that the viewer does not know.
pub fn meaning_of(line: &str) -> Option<&'static str> {
    LINES.iter().find(|known| known.0 == line).map(|known| known.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_once() {
        for (index, line) in LINES.iter().enumerate() {
            assert!(LINES[..index].iter().all(|earlier| earlier.0 != line.0), "{} twice", line.0);
        }
    }

    #[test]
    fn a_name_that_nobody_knows_is_other_memory_without_a_meaning() {
        assert_eq!((kind_of("gremlins"), meaning_of("gremlins")), (MemoryKind::Other, None));
        assert_eq!(kind_of("dirty pages"), MemoryKind::Allocator);
    }
}
