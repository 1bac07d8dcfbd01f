//! The process's share of the GPUs' memory, as the driver counts it (what nvidia-smi shows), through NVML.
use std::sync::Arc;

use alloc_timeline::OutsideFigure;
use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::UsedGpuMemory;

use super::reading::Readings;

/// The GPUs' driver, opened once and read on ticks.
pub struct Gpu {
    /// The driver's library, or the reason why there is none.
    nvml: Result<Arc<Nvml>, String>,
    /// The largest reading so far, in bytes.
    most: Option<u64>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu").field("nvml", &self.nvml.as_ref().err()).field("most", &self.most).finish()
    }
}

impl Gpu {
    /// Loads the driver's library, if the machine has one.
    pub fn open() -> Self {
        let nvml = Nvml::init().map(Arc::new).map_err(|error| format!("unavailable: {error}"));
        Gpu { nvml, most: None }
    }

    /// The driver, or the reason why there is none.
    pub fn driver(&self) -> Result<Arc<Nvml>, String> {
        self.nvml.clone()
    }

    /// Bytes of this process on all GPUs together; nothing where there is no driver.
    pub fn read(&mut self) -> Readings {
        let Ok(nvml) = &self.nvml else { return Vec::new() };
        let bytes = process_bytes(nvml);
        self.most = self.most.max(bytes);
        vec![("gpu_process".into(), bytes)]
    }

    /// The GPUs' figure for the whole run.
    pub fn figure(&self) -> OutsideFigure {
        let source = match &self.nvml {
            Ok(_) => "the most on any tick of NVML's used memory of this process".to_owned(),
            Err(reason) => reason.clone(),
        };
        OutsideFigure { name: "gpu".to_owned(), peak_bytes: self.most, at_peak_bytes: None, source }
    }
}

fn process_bytes(nvml: &Nvml) -> Option<u64> {
    let own = std::process::id();
    let mut sum = 0;
    for index in 0..nvml.device_count().ok()? {
        let processes = nvml.device_by_index(index).ok()?.running_compute_processes().ok()?;
        for process in processes.iter().filter(|process| process.pid == own) {
            if let UsedGpuMemory::Used(bytes) = process.used_gpu_memory {
                sum += bytes;
            }
        }
    }
    Some(sum)
}
