//! The GPUs as their driver sees them, through NVML: which there are, how much of each is used, and by which processes
//! (what nvidia-smi shows).
//!
//! The library keeps files open, for the program as well if that uses it: so it is loaded and asked by threads that have the
//! program's descriptors, and by no others.
use std::path::Path;
use std::sync::Arc;

use alloc_timeline::OutsideFigure;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};

use super::inputs::{DriverInputs, GpuProcess};
use super::place::{Listed, Place};

/// The driver's library, or the reason why there is none.
#[derive(Clone)]
pub struct Driver(Result<Arc<Nvml>, String>);

impl Driver {
    /// Loads it, if the machine has one. It opens files that it keeps, which only threads with the same descriptors can use.
    pub fn load() -> Self {
        Driver(Nvml::init().map(Arc::new).map_err(|error| unavailable(&error)))
    }

    /// Whether it was loaded.
    pub fn is_there(&self) -> bool {
        self.0.is_ok()
    }
}

/// The GPUs as their driver sees them, read on ticks.
pub struct Gpu {
    /// The driver's library, or the reason why there is none.
    nvml: Result<Arc<Nvml>, String>,
    /// The GPUs of the machine.
    listed: Result<Vec<Listed>, String>,
    /// This process's numbers in its PID namespaces.
    own_pids: Vec<u32>,
    /// The largest reading so far, in bytes.
    most: Option<u64>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu").field("nvml", &self.nvml.as_ref().err()).field("most", &self.most).finish()
    }
}

impl Gpu {
    /// The GPUs that the driver has. `own_pids` are the numbers of this process, see [`namespace_pids`](super::namespace_pids).
    pub fn open(driver: Driver, own_pids: Vec<u32>) -> Self {
        let listed = driver.0.clone().and_then(|nvml| list(&nvml).map_err(|error| unavailable(&error)));
        Gpu { nvml: driver.0, listed, own_pids, most: None }
    }

    /// The driver, or the reason why there is none.
    pub fn driver(&self) -> Result<Arc<Nvml>, String> {
        self.nvml.clone()
    }

    /// The GPUs of the machine, by NVML's numbers.
    ///
    /// # Errors
    /// The reason why there are none.
    pub fn listed(&self) -> Result<&[Listed], String> {
        self.listed.as_deref().map_err(Clone::clone)
    }

    /// What the driver says of one device now.
    ///
    /// # Errors
    /// The reason why it says nothing.
    pub fn inputs(&self, place: &Place, doubt: String) -> Result<DriverInputs, String> {
        let nvml = self.nvml.as_ref().map_err(Clone::clone)?;
        let device = match place {
            Place::Index(index) => nvml.device_by_index(*index),
            Place::Instance(uuid) => nvml.device_by_uuid(uuid.as_str()),
        };
        let device = device.map_err(|error| unavailable(&error))?;
        let memory = device.memory_info().map_err(|error| memory_problem(&error));
        Ok(DriverInputs {
            product: device.name().unwrap_or_default(),
            index: if let Place::Index(index) = place { Some(*index) } else { None },
            doubt,
            used: memory.as_ref().map(|memory| memory.used).map_err(Clone::clone),
            reserved: memory.map(|memory| memory.reserved),
            processes: processes(&device).map_err(|error| memory_problem(&error)),
            own_pids: self.own_pids.clone(),
        })
    }

    /// Takes a reading of this process's bytes on all GPUs into the figure for the whole run.
    pub fn note(&mut self, bytes: Option<u64>) {
        self.most = self.most.max(bytes);
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

fn unavailable(error: &NvmlError) -> String {
    format!("unavailable: {error}")
}

/// Why the memory of a device, or of its processes, cannot be read.
fn memory_problem(error: &NvmlError) -> String {
    let hint = match error {
        NvmlError::NotSupported => " (as on Jetson, whose GPU uses the memory of the machine)",
        NvmlError::NoPermission => " (as for instances of a divided GPU)",
        NvmlError::FailedToLoadSymbol(_) => " (the driver is older than 510)",
        _ => "",
    };
    format!("unavailable: NVML: {error}{hint}")
}

fn list(nvml: &Nvml) -> Result<Vec<Listed>, NvmlError> {
    let listed = |index| {
        let device = nvml.device_by_index(index)?;
        Ok(Listed {
            uuid: device.uuid()?,
            product: device.name().unwrap_or_default(),
            // Products that cannot be divided have no such mode.
            is_divided: device.mig_mode().is_ok_and(|mode| mode.current == 1),
        })
    };
    (0..nvml.device_count()?).map(listed).collect()
}

/// The processes that compute on the device and those that draw; one that does both is listed twice, with the same bytes.
fn processes(device: &Device<'_>) -> Result<Vec<GpuProcess>, NvmlError> {
    let mut processes: Vec<GpuProcess> = device.running_compute_processes()?.iter().map(process).collect();
    // Data centre products have no list of processes that draw.
    for drawing in device.running_graphics_processes().unwrap_or_default().iter().map(process) {
        match processes.iter_mut().find(|process| process.pid == drawing.pid) {
            Some(both) => both.bytes = both.bytes.max(drawing.bytes),
            None => processes.push(drawing),
        }
    }
    Ok(processes)
}

fn process(info: &ProcessInfo) -> GpuProcess {
    let bytes = match info.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => Some(bytes),
        UsedGpuMemory::Unavailable => None,
    };
    GpuProcess { pid: info.pid, bytes, is_visible: Path::new("/proc").join(info.pid.to_string()).exists() }
}
