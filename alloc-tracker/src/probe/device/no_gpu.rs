//! In place of NVML, for programs that are built without the feature `gpu`.
use alloc_timeline::OutsideFigure;

use super::inputs::DriverInputs;
use super::place::{Listed, Place};

const REASON: &str = "unavailable: built without alloc-tracker's feature \"gpu\"";

/// Is not there.
#[derive(Clone)]
pub struct Driver;

impl Driver {
    /// Loads nothing.
    pub fn load() -> Self {
        Driver
    }

    /// It is not there.
    pub fn is_there(&self) -> bool {
        false
    }
}

/// Has nothing to read.
#[derive(Debug)]
pub struct Gpu;

impl Gpu {
    /// Opens nothing.
    pub fn open(_driver: Driver, _own_pids: Vec<u32>) -> Self {
        Gpu
    }

    /// No GPUs.
    ///
    /// # Errors
    /// Always: the reason why there are none.
    pub fn listed(&self) -> Result<&[Listed], String> {
        Err(REASON.to_owned())
    }

    /// No readings.
    ///
    /// # Errors
    /// Always: the reason why there are none.
    pub fn inputs(&self, _place: &Place, _doubt: String) -> Result<DriverInputs, String> {
        Err(REASON.to_owned())
    }

    /// Nothing to note.
    pub fn note(&mut self, _bytes: Option<u64>) {}

    /// The figure for the whole run, which only says why there is none.
    pub fn figure(&self) -> OutsideFigure {
        OutsideFigure { name: "gpu".to_owned(), peak_bytes: None, at_peak_bytes: None, source: REASON.to_owned() }
    }
}
