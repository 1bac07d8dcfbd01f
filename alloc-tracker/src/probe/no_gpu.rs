//! In place of NVML, for programs that are built without the feature `gpu`.
use alloc_timeline::OutsideFigure;

use super::reading::Readings;

/// Has nothing to read.
#[derive(Debug)]
pub struct Gpu;

impl Gpu {
    /// Opens nothing.
    pub fn open() -> Self {
        Gpu
    }

    /// No readings.
    pub fn read(&mut self) -> Readings {
        Vec::new()
    }

    /// The figure for the whole run, which only says why there is none.
    pub fn figure(&self) -> OutsideFigure {
        let source = "unavailable: built without alloc-tracker's feature \"gpu\"".to_owned();
        OutsideFigure { name: "gpu".to_owned(), peak_bytes: None, at_peak_bytes: None, source }
    }
}
