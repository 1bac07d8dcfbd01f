//! What a terminal can display.

/// The abilities of a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Number of columns.
    pub width: usize,
    /// Whether it displays colours.
    pub colours: bool,
}
