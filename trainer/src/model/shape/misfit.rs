//! Why an input of some size does not fit a network, in words.
use super::kinds::Shape;

/// Why an input of some size does not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A window is larger than the map it should slide over.
    #[error("the window of `{stage}` does not fit into a map of {side}x{side}")]
    Window {
        /// The stage.
        stage: String,
        /// Side of the map that reaches it.
        side: u64,
    },
    /// A window is longer than the sequence along which it should slide.
    #[error("`{stage}` sees {kernel} places at a time, and {length} reach it")]
    Short {
        /// The stage.
        stage: String,
        /// Places that it sees.
        kernel: u64,
        /// Places that reach it.
        length: u64,
    },
    /// A table has no row for the last places of a sequence.
    #[error("`{stage}` knows {most} places, and {length} reach it")]
    Long {
        /// The stage.
        stage: String,
        /// Rows of the table.
        most: u64,
        /// Places that reach it.
        length: u64,
    },
    /// A sequence that should be halved has an odd length.
    #[error("`{stage}` takes one half of the sequence, and its length, {length}, is odd")]
    Odd {
        /// The stage.
        stage: String,
        /// Places that reach it.
        length: u64,
    },
    /// There is nothing to work on.
    #[error("`{stage}` is reached by nothing")]
    Empty {
        /// The stage.
        stage: String,
    },
    /// A stage cannot work on what reaches it.
    #[error("`{stage}` cannot work on {reach}")]
    Kind {
        /// The stage.
        stage: String,
        /// What reaches it.
        reach: Shape,
    },
    /// A stage was made for another number of channels or features.
    #[error("`{stage}` takes {takes} channels or features, and {reach} reach it")]
    Channels {
        /// The stage.
        stage: String,
        /// How many it takes.
        takes: u64,
        /// How many reach it.
        reach: u64,
    },
    /// Maps that meet in a stage have different sizes.
    #[error("the maps that meet in `{stage}` differ in size: {one} and {other}")]
    Meeting {
        /// The stage.
        stage: String,
        /// The first map.
        one: Shape,
        /// The one that differs.
        other: Shape,
    },
    /// Training normalises over a single value.
    #[error("batch norm `{stage}` would see one value per channel (one image, a map of 1x1) and cannot normalise it")]
    OneValue {
        /// The stage.
        stage: String,
    },
}
