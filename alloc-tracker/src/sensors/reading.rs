//! What a power sensor says at one instant.

/// One reading of a sensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A counter of energy.
    EnergyUj {
        /// Microjoules since some moment.
        counted: u64,
        /// After so many microjoules the counter begins anew at 0; 0 when it never does.
        range: u64,
    },
    /// Power at this instant, in microwatts.
    PowerUw(u64),
}
