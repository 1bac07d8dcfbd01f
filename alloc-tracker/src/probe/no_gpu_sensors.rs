//! In place of NVML's sensors, for programs that are built without the feature `gpu`.
use crate::sensors::Source;

use super::device::Gpu;
use super::reading::Readings;

/// Has nothing to read.
#[derive(Debug)]
pub struct GpuSensors;

impl GpuSensors {
    /// Has nothing to open.
    pub fn of(_gpu: &Gpu) -> Self {
        GpuSensors
    }

    /// No readings.
    pub fn read(&self) -> Readings {
        Vec::new()
    }

    /// No sources.
    ///
    /// # Errors
    /// Always: a sentence on why there is none.
    pub fn power(&self) -> Result<Vec<Source>, String> {
        Err("nvml: unavailable: built without alloc-tracker's feature \"gpu\"".to_owned())
    }
}
