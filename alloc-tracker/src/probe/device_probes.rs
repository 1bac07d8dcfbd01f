//! All that is asked of GPUs and the like, by a thread that has the program's descriptors: the driver's library and a framework's
//! allocator keep files open in those.
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloc_timeline::kept_file::read_text;
use alloc_timeline::{DeviceMemory, OutsideFigure};

use super::device::{DeviceBooks, Driver, Gpu, namespace_pids};
use super::gpu_sensors::GpuSensors;
use super::reading::Readings;
use super::spent::{self, Probe};
use crate::errands::Errands;
use crate::sensors::Source;
use crate::{devices, sys};

/// After a reading, a process that uses a device waits for so many times what the reading took: readings take half a percent of a core
/// then. On an H200 one takes 2 ms.
const PAUSE: u64 = 200;
/// The same while its bytes on devices are higher by a quarter than at any reading before: such heights are few.
const PAUSE_AT_A_HEIGHT: u64 = 20;
/// The same of a process that uses none.
const PAUSE_UNUSED: u64 = 1_000;

/// The devices of one recording.
#[derive(Debug)]
pub struct DeviceProbes {
    calls: Arc<Errands>,
    has_driver: bool,
    asked: Arc<Mutex<Asked>>,
    pace: Pace,
}

/// When the devices are read again.
#[derive(Debug, Default)]
struct Pace {
    /// The clock's time of the latest reading; 0 before the first.
    read_ns: u64,
    /// The most bytes that allocators had handed out at a reading.
    highest: u64,
    /// Whether the process uses a device.
    is_used: bool,
}

impl Pace {
    /// Whether to read at the clock's time `now_ns`, when the latest reading took `took_ns` and allocators have handed out `allocated` bytes.
    fn is_due(&self, now_ns: u64, took_ns: u64, allocated: u64) -> bool {
        let is_higher = allocated > self.highest + self.highest / 4;
        let pause = match (is_higher, self.is_used) {
            (true, _) => PAUSE_AT_A_HEIGHT,
            (false, true) => PAUSE,
            (false, false) => PAUSE_UNUSED,
        };
        self.read_ns == 0 || now_ns.saturating_sub(self.read_ns) >= took_ns.saturating_mul(pause)
    }
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
        Ok(DeviceProbes { calls, has_driver, asked: Arc::new(Mutex::new(asked)), pace: Pace::default() })
    }

    /// The thread that asks them.
    pub fn calls(&self) -> &Errands {
        &self.calls
    }

    /// Whether there is something to read, and it is time for that; `now_ns` is the clock's time.
    pub fn is_due(&self, now_ns: u64) -> bool {
        let took_ns = spent::latest_ns(Probe::Devices);
        (self.has_driver || devices::in_use()) && self.pace.is_due(now_ns, took_ns, DeviceBooks::allocated())
    }

    /// Whether the process used a device at the latest reading, or has used one since.
    pub fn is_used(&self) -> bool {
        self.pace.is_used || DeviceBooks::allocated() > 0
    }

    /// The bytes and the sensors of all devices.
    pub fn read(&mut self) -> Readings {
        let allocated = DeviceBooks::allocated();
        let asked = Arc::clone(&self.asked);
        let read = move || {
            let Asked { gpu, sensors, books } = &mut *lock(&asked);
            let mut readings = books.read(gpu);
            readings.extend(sensors.read());
            readings
        };
        let readings = ask(&self.calls, read).unwrap_or_default();
        let own = readings.iter().find(|(name, _)| name == "gpu_process").and_then(|(_, bytes)| *bytes);
        self.pace = Pace {
            read_ns: sys::now_ns(),
            highest: self.pace.highest.max(allocated),
            is_used: allocated > 0 || own.unwrap_or(0) > 0,
        };
        readings
    }

    /// Reads the process's bytes on all devices once more for their figure. No allocator is asked: at the end of a process a framework's may be
    /// gone.
    pub fn read_at_end(&self) {
        let asked = Arc::clone(&self.asked);
        let read = move || {
            let Asked { gpu, .. } = &mut *lock(&asked);
            DeviceBooks::read_at_end(gpu);
        };
        // Without that thread there is no last reading.
        let _ = ask(&self.calls, read);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_often_only_while_their_bytes_rise() {
        const MS: u64 = 1_000_000;
        assert!(Pace::default().is_due(5, 0, 0), "the first reading");
        let used = Pace { read_ns: 1_000 * MS, highest: 100, is_used: true };
        let unused = Pace { read_ns: 1_000 * MS, highest: 0, is_used: false };
        // A reading took 2 ms.
        let due_after = |pace: &Pace, allocated| {
            [40, 400, 2_000].map(|ms| pace.is_due((1_000 + ms) * MS, 2 * MS, allocated)).map(u8::from)
        };
        assert_eq!(due_after(&used, 126), [1, 1, 1]);
        assert_eq!(due_after(&used, 125), [0, 1, 1]);
        assert_eq!(due_after(&unused, 0), [0, 0, 1]);
        assert_eq!(due_after(&unused, 1), [1, 1, 1], "the first block of a device");
    }
}
