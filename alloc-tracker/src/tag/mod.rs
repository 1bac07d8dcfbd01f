//! Tags: what a block carries with it from its birth, outside of the block.
//!
//! - [`class`]: from a requested size to the size that jemalloc sets aside, by table;
//! - [`shadow`]: the table that maps an address to the block's tag;
//! - [`tiny`]: tags for blocks that are too small for two shadow entries;
//! - [`scope`]: scope numbers and what they stand for.
pub(crate) mod class;
pub(crate) mod scope;
pub(crate) mod shadow;
pub(crate) mod tiny;
