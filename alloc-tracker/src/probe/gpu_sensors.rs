//! How busy the GPUs are, how much of their memory is used, and their power, through NVML.
use std::sync::Arc;

use crate::sensors::{About, Kind, Reading, Source};
use nvml_wrapper::Nvml;

use super::device::Gpu;
use super::reading::Readings;

/// The sensors of an opened driver, read on slow ticks.
pub struct GpuSensors {
    /// The driver's library, or the reason why there is none.
    nvml: Result<Arc<Nvml>, String>,
}

impl std::fmt::Debug for GpuSensors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GpuSensors").field("nvml", &self.nvml.as_ref().err()).finish()
    }
}

impl GpuSensors {
    /// The sensors of the driver that `gpu` has opened.
    pub fn of(gpu: &Gpu) -> Self {
        GpuSensors { nvml: gpu.driver() }
    }

    /// Of each GPU how busy it is, in percent, and the bytes of its memory that all processes use; nothing where there is
    /// no driver.
    pub fn read(&self) -> Readings {
        let Ok(nvml) = &self.nvml else { return Vec::new() };
        let mut readings = Readings::new();
        for index in 0..nvml.device_count().unwrap_or(0) {
            let device = nvml.device_by_index(index);
            let busy = device.as_ref().ok().and_then(|device| device.utilization_rates().ok());
            let memory = device.as_ref().ok().and_then(|device| device.memory_info().ok());
            readings.push((format!("gpu_{index}_busy_percent").into(), busy.map(|busy| busy.gpu.into())));
            readings.push((format!("gpu_{index}_used_bytes").into(), memory.map(|memory| memory.used)));
        }
        readings
    }

    /// The GPUs as sources of energy.
    ///
    /// # Errors
    /// A sentence on why there is none.
    pub fn power(&self) -> Result<Vec<Source>, String> {
        let nvml = self.nvml.as_ref().map_err(|reason| format!("nvml: {reason}"))?;
        let count = nvml.device_count().map_err(|error| format!("nvml: unavailable: {error}"))?;
        Ok((0..count).map(|index| source(Arc::clone(nvml), index)).collect())
    }
}

fn source(nvml: Arc<Nvml>, index: u32) -> Source {
    let origin = format!("NVML, device {index}");
    let about = About { name: format!("gpu-{index}"), kind: Kind::Nvml, part_of: None, origin };
    Source::new(vec![about], move || vec![reading(&nvml, index).map_err(|error| error.to_string())])
}

/// The counter of energy, in millijoules since the driver was loaded; the power of GPUs before Volta, which have none.
fn reading(nvml: &Nvml, index: u32) -> Result<Reading, nvml_wrapper::error::NvmlError> {
    let device = nvml.device_by_index(index)?;
    match device.total_energy_consumption() {
        Ok(millijoules) => Ok(Reading::EnergyUj { counted: millijoules.saturating_mul(1_000), range: 0 }),
        Err(_) => device.power_usage().map(|milliwatts| Reading::PowerUw(u64::from(milliwatts) * 1_000)),
    }
}
