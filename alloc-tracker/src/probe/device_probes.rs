//! All that is asked of GPUs and the like, by a thread that has the program's descriptors: the driver's library and a framework's
//! allocator keep files open in those.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloc_timeline::kept_file::read_text;
use alloc_timeline::{DeviceMemory, OutsideFigure};

use super::device::{DeviceBooks, Driver, Gpu, namespace_pids};
use super::gpu_sensors::GpuSensors;
use super::reading::Readings;
use super::spent;
use crate::errands::Errands;
use crate::sensors::Source;
use crate::{devices, sys};

/// The devices of one recording.
#[derive(Debug)]
pub struct DeviceProbes {
    calls: Arc<Errands>,
    has_driver: bool,
    asked: Arc<Mutex<Asked>>,
}

/// What that thread works with.
#[derive(Debug)]
struct Asked {
    gpu: Gpu,
    sensors: GpuSensors,
    books: DeviceBooks,
}

fn lock(asked: &Mutex<Asked>) -> MutexGuard<'_, Asked> {
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has `calls` do `work`, and counts its processor time with the calling thread's.
fn ask<T: Send + 'static>(calls: &Errands, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let timed = move || {
        let began = sys::thread_cpu_ns();
        (work(), sys::thread_cpu_ns().saturating_sub(began))
    };
    let (result, ns) = calls.run(timed)?;
    spent::took_elsewhere(ns);
    Some(result)
}

impl DeviceProbes {
    /// Opens what the driver has; `calls` is the thread that asks it.
    ///
    /// # Errors
    /// When that thread is gone.
    pub fn open(driver: Driver, calls: Arc<Errands>) -> std::io::Result<Self> {
        let mut own_pids = namespace_pids(&read_text("/proc/self/status").unwrap_or_default());
        own_pids.push(std::process::id());
        own_pids.dedup();
        let has_driver = driver.is_there();
        let open = move || {
            let gpu = Gpu::open(driver, own_pids);
            Asked { sensors: GpuSensors::of(&gpu), gpu, books: DeviceBooks::default() }
        };
        let asked = if has_driver { calls.run(open) } else { Some(open()) };
        let asked = asked.ok_or_else(|| std::io::Error::other("the thread that asks devices has ended"))?;
        Ok(DeviceProbes { calls, has_driver, asked: Arc::new(Mutex::new(asked)) })
    }

    /// The thread that asks them.
    pub fn calls(&self) -> &Errands {
        &self.calls
    }

    /// The bytes and the sensors of all devices.
    pub fn read(&self) -> Readings {
        if !self.has_driver && !devices::in_use() {
            return Readings::new();
        }
        let asked = Arc::clone(&self.asked);
        let read = move || {
            let Asked { gpu, sensors, books } = &mut *lock(&asked);
            let mut readings = books.read(gpu);
            readings.extend(sensors.read());
            readings
        };
        ask(&self.calls, read).unwrap_or_default()
    }

    /// The GPUs as a source of energy.
    ///
    /// # Errors
    /// A sentence on why there is none.
    pub fn power(&self) -> Result<Vec<Source>, String> {
        let asked = Arc::clone(&self.asked);
        let ended = || "nvml: unavailable: the thread that asks devices has ended".to_owned();
        let sources = ask(&self.calls, move || lock(&asked).sensors.power()).ok_or_else(ended)??;
        let about: Vec<_> = sources.iter().flat_map(|source| source.about.iter().cloned()).collect();
        let (calls, count, sources) = (Arc::clone(&self.calls), about.len(), Arc::new(Mutex::new(sources)));
        let read = move || {
            let sources = Arc::clone(&sources);
            let read = move || {
                let mut sources = sources.lock().unwrap_or_else(PoisonError::into_inner);
                sources.iter_mut().flat_map(Source::read).collect()
            };
            ask(&calls, read).unwrap_or_else(|| vec![Err(ended()); count])
        };
        Ok(vec![Source::new(about, read)])
    }

    /// The GPUs' figure for the whole run.
    pub fn figure(&self) -> OutsideFigure {
        lock(&self.asked).gpu.figure()
    }

    /// What frameworks told of devices, with the accounts of their memory; `session_ns` turns the clock's time into the
    /// session's.
    pub fn completed(&self, told: Vec<DeviceMemory>, session_ns: impl Fn(u64) -> u64) -> Vec<DeviceMemory> {
        lock(&self.asked).books.completed(told, session_ns)
    }

    /// The readings that those accounts are made of, as JSON, an object a line.
    pub fn inputs(&self) -> String {
        lock(&self.asked).books.inputs()
    }
}
