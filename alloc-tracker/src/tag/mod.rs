//! Tags: what a block carries with it from its birth, outside of the block.
//!
//! - [`class`]: from a requested size to the size that jemalloc sets aside, by table;
//! - [`chunks`]: tables with an entry for every granule of the address space;
//! - [`shadow`]: the one that maps an address to the block's tag;
//! - [`tiny`]: tags for blocks that are too small for two shadow entries;
//! - [`block`]: a block's tag, wherever it stands;
//! - [`scope`]: scope numbers and what they stand for.
pub(crate) mod block;
pub(crate) mod chunks;
pub(crate) mod class;
pub(crate) mod scope;
pub(crate) mod shadow;
pub(crate) mod tiny;
