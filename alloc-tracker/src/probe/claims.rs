//! What an allocator says of itself, in the form that the book needs, whichever allocator it is.

/// What the allocator has got from the kernel and uses, and what of it is in no block of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Bytes that it counts as its own, touched or not: blocks, free pages that it keeps, its own tables.
    pub claimed: u64,
    /// Where `claimed` comes from.
    pub source: &'static str,
    /// The lines of the book that are not blocks.
    pub lines: Vec<Claim>,
    /// What of `claimed` is neither in those lines nor a block: what the tracker's own threads have besides their blocks.
    pub of_tracker: u64,
}

/// A line of the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What the bytes are.
    pub name: &'static str,
    /// How many they are.
    pub bytes: u64,
    /// Which statistics they come from.
    pub source: &'static str,
}

/// The blocks that the program has freed and the allocator keeps for the next request of a thread.
pub const CACHED: &str = "blocks cached by the allocator";
/// The allocator's tables.
pub const METADATA: &str = "allocator's metadata";
