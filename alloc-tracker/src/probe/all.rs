//! The probes of one recording, opened once and read on its ticks.
use alloc_timeline::{OutsideFigure, Utilisation};

use super::allocator;
use super::cgroup::Cgroup;
use super::coarse::Coarse;
use super::gpu::Gpu;
use super::gpu_sensors::GpuSensors;
use super::limits;
use super::reading::Readings;
use super::status::{self, Statm};
use super::survey::Survey;
use super::utilisation::UtilisationProbe;
use crate::sensors::Source;
use crate::sys;

/// The probes that take longer than one read of a file are read once in so many ticks ...
const SLOW_TICKS: u64 = 10;
/// ... and take at most one part in this of the time.
const SLOW_SHARE: u64 = 1_000;

/// The opened probes.
#[derive(Debug)]
pub struct Probes {
    statm: Statm,
    cgroup: Cgroup,
    gpu: Gpu,
    coarse: Coarse,
    /// Whether the machine had swap when the session began.
    has_swap: bool,
    gpu_sensors: GpuSensors,
    utilisation: UtilisationProbe,
    next_slow_ns: u64,
}

impl Probes {
    /// Opens the probes that this machine has.
    pub fn open() -> Self {
        let gpu = Gpu::open();
        Probes {
            gpu_sensors: GpuSensors::of(&gpu),
            gpu,
            statm: Statm::open(),
            cgroup: Cgroup::find(),
            coarse: Coarse::new(sys::now_ns()),
            has_swap: limits::has_swap(),
            utilisation: UtilisationProbe::open(),
            next_slow_ns: 0,
        }
    }

    /// The GPUs as sources of energy.
    ///
    /// # Errors
    /// A sentence on why there is none.
    pub fn gpu_power(&self) -> Result<Vec<Source>, String> {
        self.gpu_sensors.power()
    }

    /// Reads the resident set on every tick, and the slower probes on some. The resident set is the first reading.
    /// `survey` is the latest one.
    pub fn read(&mut self, tick: u64, survey: Option<&Survey>) -> Readings {
        let resident = self.statm.read();
        let mut readings = vec![("rss".into(), resident.map(|resident| resident.rss))];
        let began = sys::now_ns();
        if tick.is_multiple_of(SLOW_TICKS) && began >= self.next_slow_ns {
            readings.extend(allocator::read());
            readings.extend(self.cgroup.read());
            readings.extend(self.gpu.read());
            if self.has_swap {
                readings.push(("swap".into(), limits::swapped()));
            }
            readings.extend(self.gpu_sensors.read());
            readings.extend(self.utilisation.read());
            self.next_slow_ns = began + SLOW_SHARE * sys::now_ns().saturating_sub(began);
        }
        self.coarse.read(sys::now_ns(), resident, survey);
        readings
    }

    /// The columns of the coarse book of the latest reading, when `live` bytes are live.
    pub fn coarse_book(&self, live: u64) -> Readings {
        self.coarse.columns(live)
    }

    /// The probes' figures for the whole run. `rss_at_peak` is the reading (in bytes) nearest to the peak of the live
    /// bytes.
    pub fn figures(&mut self, rss_at_peak: Option<u64>) -> Vec<OutsideFigure> {
        vec![status::figure(rss_at_peak), self.cgroup.figure(), self.gpu.figure()]
    }

    /// What was used of the processors so far.
    pub fn utilisation(&mut self) -> Utilisation {
        self.utilisation.figures()
    }
}
