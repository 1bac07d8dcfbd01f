//! Tags: what the tracker notes about each block, outside of the block: who owns it and how much was requested.
//!
//! - [`word`]: the packed word in which blocks are counted, and the layers of the shadow map;
//! - [`class`]: from a requested size to the size of jemalloc's block, by table;
//! - [`chunks`]: tables with an entry for each granule of the address space;
//! - [`entries`]: the entries of one block;
//! - [`shadow`]: the shadow map, which maps a block's address to its tag;
//! - [`wide`]: tags that have room for all that can be said of a block;
//! - [`tiny`]: tags of blocks that are too small for two entries;
//! - [`page_bins`]: which bin a block goes to, by its page;
//! - [`block`]: finding the tag of a block, whichever kind it is.
pub mod block;
mod chunks;
pub mod class;
pub mod entries;
pub mod page_bins;
pub mod shadow;
pub mod tiny;
pub mod wide;
pub mod word;
