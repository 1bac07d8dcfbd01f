//! The books of all devices over a recording: read on slow ticks, and of each device the one is kept that was read when the
//! most was allocated there.
use std::collections::BTreeMap;

use alloc_timeline::{DeviceMemory, SHARED_MEMORY};

use super::book;
use super::context::{ContextReading, ContextWatch};
use super::gpu::Gpu;
use super::inputs::{AllocatorInputs, DeviceInputs, DriverInputs};
use super::place::{Listed, Place, place};
use super::process;
use crate::devices::{self, Device};
use crate::probe::reading::Readings;
use crate::sys;

/// What is known of one device.
#[derive(Debug, Default)]
struct Watched {
    context: ContextWatch,
    /// The reading that the book is made of, and the clock's time of it.
    kept: Option<(u64, DeviceInputs)>,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct DeviceBooks {
    watched: BTreeMap<String, Watched>,
}

/// A device to be read.
struct Wanted {
    name: String,
    device: Option<Device>,
    place: Result<(Place, String), String>,
}

impl DeviceBooks {
    /// What the caching allocators said last, in columns. Costs nothing to speak of.
    pub fn totals() -> Readings {
        let mut readings = Readings::new();
        for device in devices::devices() {
            let (name, totals) = (device.name(), devices::totals(device));
            if name == SHARED_MEMORY {
                readings.push(("shared_memory".into(), totals.map(|totals| totals.allocated)));
                continue;
            }
            readings.push((format!("device_allocated:{name}").into(), totals.map(|totals| totals.allocated)));
            readings.push((format!("device_reserved:{name}").into(), totals.map(|totals| totals.reserved)));
        }
        readings
    }

    /// What the caching allocators have handed out, as they said last, in bytes.
    pub fn allocated() -> u64 {
        of_frameworks().filter_map(devices::totals).map(|totals| totals.allocated).sum()
    }

    /// Reads all devices: the process's bytes on each, what is used of it, and the process's bytes in all. Nothing where
    /// there is no driver. It may wait for an allocator's lock; see [`devices::device_stats`].
    pub fn read(&mut self, gpu: &mut Gpu) -> Readings {
        let listed = gpu.listed().map(<[Listed]>::to_vec);
        let mut readings = Readings::new();
        let mut sum = Some(0);
        for wanted in all_wanted(&listed) {
            let reserved_before = wanted.device.and_then(devices::totals).map_or(0, |totals| totals.reserved);
            let allocator = wanted.device.map_or_else(
                || Err("no framework told of this device's allocator".to_owned()),
                |device| allocator_inputs(device).ok_or_else(|| "no event of a block came yet".to_owned()),
            );
            let driver = wanted.place.and_then(|(place, doubt)| gpu.inputs(&place, doubt));
            let reserved_after = wanted.device.and_then(devices::totals).map_or(0, |totals| totals.reserved);
            let uses_device = allocator.as_ref().is_ok_and(|allocator| allocator.reserved > 0);
            let own = driver.as_ref().ok().and_then(|driver| own_bytes(driver, uses_device));
            if let Ok(driver) = &driver {
                sum = sum.zip(own).map(|(sum, own)| sum + own);
                if let Some(index) = driver.index {
                    readings.push((format!("gpu_process:{index}").into(), own));
                    readings.push((format!("gpu_used:{index}").into(), used(driver)));
                }
            }
            let watched = self.watched.entry(wanted.name.clone()).or_default();
            let reserved = (reserved_before, reserved_after);
            watched.context.observe(own.map(|process| ContextReading { process, reserved }));
            // Of a device that no framework told of, there is a book if the process uses it.
            if wanted.device.is_some() || own.unwrap_or(0) > 0 {
                let context = watched.context.inputs();
                watched.keep(DeviceInputs { device: wanted.name, allocator, context, driver });
            }
        }
        if listed.is_ok() {
            gpu.note(sum);
            readings.push(("gpu_process".into(), sum));
        }
        readings
    }

    /// Takes one more reading of the process's bytes on all devices into the figure for the whole run, and asks nobody but the driver.
    pub fn read_at_end(gpu: &mut Gpu) {
        let listed = gpu.listed().map(<[Listed]>::to_vec);
        let own = |wanted: Wanted| {
            let uses_device = wanted.device.and_then(devices::totals).is_some_and(|totals| totals.reserved > 0);
            let (place, doubt) = wanted.place.ok()?;
            own_bytes(&gpu.inputs(&place, doubt).ok()?, uses_device)
        };
        let bytes = all_wanted(&listed).into_iter().map(own).sum();
        gpu.note(bytes);
    }

    /// What frameworks told of devices, with the books; `session_ns` turns the clock's time into the session's.
    pub fn completed(&self, told: Vec<DeviceMemory>, session_ns: impl Fn(u64) -> u64) -> Vec<DeviceMemory> {
        let mut all = told;
        for (name, watched) in &self.watched {
            let Some((time_ns, inputs)) = &watched.kept else { continue };
            let index = all.iter().position(|memory| memory.device == *name).unwrap_or_else(|| {
                let source = "unavailable: no event of a block ever came".to_owned();
                all.push(DeviceMemory { device: name.clone(), source, ..DeviceMemory::default() });
                all.len() - 1
            });
            let memory = &mut all[index];
            memory.product = inputs.driver.as_ref().map_or_else(|_| String::new(), |driver| driver.product.clone());
            memory.book_ns = Some(session_ns(*time_ns));
            memory.book = book::lines(inputs);
        }
        all
    }

    /// The inputs of the books, one JSON object a line.
    pub fn inputs(&self) -> String {
        let kept = self.watched.values().filter_map(|watched| watched.kept.as_ref());
        kept.filter_map(|(_, inputs)| serde_json::to_string(inputs).ok()).map(|line| line + "\n").collect()
    }
}

impl Watched {
    /// Keeps these inputs, unless more was allocated at those that are kept.
    fn keep(&mut self, inputs: DeviceInputs) {
        let allocated = |inputs: &DeviceInputs| inputs.allocator.as_ref().map_or(0, |one| one.allocated);
        if self.kept.as_ref().is_none_or(|(_, kept)| allocated(&inputs) >= allocated(kept)) {
            self.kept = Some((sys::now_ns(), inputs));
        }
    }
}

/// The devices of which frameworks told. Shared memory is told in the same way, and is none.
fn of_frameworks() -> impl Iterator<Item = Device> {
    devices::devices().filter(|device| device.name() != SHARED_MEMORY)
}

/// This process's bytes on a device; `None` where the driver does not tell them.
fn own_bytes(driver: &DriverInputs, uses_device: bool) -> Option<u64> {
    process::share(driver, uses_device).ok().map(|share| share.own)
}

/// The frameworks' devices, and those of the driver's that none of them is.
fn all_wanted(listed: &Result<Vec<Listed>, String>) -> Vec<Wanted> {
    let variable = |name| std::env::var(name).ok();
    let (visible, order) = (variable("CUDA_VISIBLE_DEVICES"), variable("CUDA_DEVICE_ORDER"));
    let placed = |name: &str| {
        let listed = listed.as_ref().map_err(Clone::clone)?;
        place(name, visible.as_deref(), order.as_deref(), listed)
    };
    let named = |device: Device| (device.name().to_owned(), Some(device));
    let told: Vec<(String, Option<Device>)> = of_frameworks().map(named).collect();
    let mut wanted: Vec<Wanted> = Vec::new();
    let others = (0..listed.as_ref().map_or(0, Vec::len)).map(|index| (format!("gpu:{index}"), None));
    for (name, device) in told.into_iter().chain(others) {
        let place = placed(&name);
        let known = |other: &Wanted| matches!((&other.place, &place), (Ok(one), Ok(two)) if one.0 == two.0);
        if device.is_some() || (place.is_ok() && !wanted.iter().any(known)) {
            wanted.push(Wanted { name, device, place });
        }
    }
    wanted
}

/// What is used of a device in all, in bytes.
fn used(driver: &DriverInputs) -> Option<u64> {
    let used = driver.used.as_ref().ok()?;
    Some(used + driver.reserved.as_ref().map_or(0, |kept| *kept))
}

/// The statistics where somebody asks for them; else what the last event said.
fn allocator_inputs(device: Device) -> Option<AllocatorInputs> {
    let stats = devices::device_stats(device).map(|stats| AllocatorInputs {
        requested: Some(stats.requested.now),
        allocated: stats.allocated.now,
        active: Some(stats.active.now),
        inactive_split: Some(stats.inactive_split.now),
        reserved: stats.reserved.now,
    });
    let told = || {
        let totals = devices::totals(device)?;
        let (allocated, reserved) = (totals.allocated, totals.reserved);
        Some(AllocatorInputs { allocated, reserved, ..AllocatorInputs::default() })
    };
    stats.or_else(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A framework told of a device and of no block on it, on a machine without a driver. No line is 0 for that, and each says
    /// why.
    #[test]
    fn a_device_that_told_nothing_has_a_book_without_numbers() {
        let untold = DeviceInputs {
            device: "cuda:7".to_owned(),
            allocator: Err("no event of a block came yet".to_owned()),
            context: Default::default(),
            driver: Err("unavailable: no library".to_owned()),
        };
        let mut books = DeviceBooks::default();
        books.watched.entry(untold.device.clone()).or_default().keep(untold.clone());
        let told = DeviceMemory { device: "cuda:7".to_owned(), source: "a test".to_owned(), ..DeviceMemory::default() };
        for (before, source) in [(vec![told], "a test"), (Vec::new(), "unavailable: no event of a block ever came")] {
            let completed = books.completed(before, |_| 5);
            let [memory] = &completed[..] else { panic!("{completed:?}") };
            assert_eq!((memory.source.as_str(), memory.book_ns), (source, Some(5)));
            assert_eq!(memory.book.last().map(|line| line.name.as_str()), Some("device used"));
            let without =
                |line: &alloc_timeline::BeyondLine| line.bytes.is_none() && line.source.starts_with("unavail");
            assert!(memory.book.iter().all(without), "{:?}", memory.book);
        }
        let inputs: Vec<DeviceInputs> =
            books.inputs().lines().map(|line| serde_json::from_str(line).expect("inputs")).collect();
        assert_eq!(inputs, [untold]);
    }

    /// Of two readings the one with more allocated bytes is kept, of equal ones the later.
    #[test]
    fn the_reading_with_the_most_allocated_bytes_is_kept() {
        let inputs = |allocated, driver: &str| DeviceInputs {
            device: "cuda:0".to_owned(),
            allocator: Ok(AllocatorInputs { allocated, reserved: 50, ..AllocatorInputs::default() }),
            context: Default::default(),
            driver: Err(driver.to_owned()),
        };
        let mut watched = Watched::default();
        [(10, "first"), (40, "second"), (40, "third"), (20, "fourth")]
            .into_iter()
            .for_each(|(allocated, driver)| watched.keep(inputs(allocated, driver)));
        assert_eq!(watched.kept.map(|(_, inputs)| inputs), Some(inputs(40, "third")));
    }
}
