//! The probes of one recording, opened once and read on its ticks.
use std::io;
use std::sync::Arc;

use alloc_replay::NewBlocks;
use alloc_timeline::{DeviceMemory, OutsideFigure, Record, Utilisation};

use super::allocator;
use super::book_readings::BookReadings;
use super::cgroup::Cgroup;
use super::coarse::Coarse;
use super::counted::Counted;
use super::device::{DeviceBooks, Driver};
use super::device_probes::DeviceProbes;
use super::limits;
use super::reading::Readings;
use super::spent::{self, Probe, Stopwatch};
use super::status::{self, Sizes, Statm};
use super::survey::Survey;
use super::utilisation::UtilisationProbe;
use crate::errands::Errands;
use crate::sensors::Source;
use crate::sys;

/// The probes that take longer than one read of a file are read once in so many ticks, if that fits into what they may
/// take.
const SLOW_TICKS: u64 = 10;

/// Room for what most samples read.
const MOST_READINGS: usize = 8;

/// The opened probes.
#[derive(Debug)]
pub struct Probes {
    statm: Statm,
    /// What `statm` said when it was last read.
    resident: Option<Sizes>,
    cgroup: Cgroup,
    devices: DeviceProbes,
    coarse: Coarse,
    /// Whether the machine had swap when the session began.
    has_swap: bool,
    utilisation: UtilisationProbe,
}

impl Probes {
    /// Opens the probes that this machine has; `calls` is the thread that asks the GPUs' driver.
    ///
    /// # Errors
    /// When that thread is gone.
    pub fn open(driver: Driver, calls: Arc<Errands>) -> io::Result<Self> {
        Ok(Probes {
            devices: DeviceProbes::open(driver, calls)?,
            statm: Statm::open(),
            resident: None,
            cgroup: Cgroup::find(),
            coarse: Coarse::new(),
            has_swap: limits::has_swap(),
            utilisation: UtilisationProbe::open(),
        })
    }

    /// The thread that has the program's descriptors.
    pub fn calls(&self) -> &Errands {
        self.devices.calls()
    }

    /// The GPUs as sources of energy.
    ///
    /// # Errors
    /// A sentence on why there is none.
    pub fn gpu_power(&self) -> Result<Vec<Source>, String> {
        self.devices.power()
    }

    /// Where the program has allocated blocks since pages were last counted, which looks there first.
    pub fn new_blocks(&mut self) -> &mut NewBlocks {
        self.coarse.new_blocks()
    }

    /// What is read on every tick: the resident set, which is the first reading, and what allocators of devices have told.
    pub fn read(&mut self) -> Readings {
        let mut watch = Stopwatch::start();
        self.resident = self.statm.read();
        let mut readings = Readings::with_capacity(MOST_READINGS);
        readings.push(("rss".into(), self.resident.map(|resident| resident.rss)));
        watch.lap(Probe::Resident);
        readings.extend(DeviceBooks::totals());
        readings
    }

    /// What a sample has besides: on some ticks the slower probes. Counts pages for the coarse book if that is due. `survey` is the
    /// latest one.
    pub fn read_more(&mut self, tick: u64, survey: Option<&Survey>) -> Readings {
        let mut readings = Readings::new();
        let now = sys::now_ns();
        // A stopwatch reads the thread's processor time, which takes a system call.
        if tick.is_multiple_of(SLOW_TICKS) && spent::fits(Probe::Columns, 1, now) {
            let mut watch = Stopwatch::start();
            readings.extend(allocator::read());
            self.coarse.claims(allocator::claimed_as_read());
            readings.extend(self.cgroup.read());
            if self.has_swap {
                readings.push(("swap".into(), limits::swapped()));
            }
            readings.extend(self.utilisation.read());
            watch.lap(Probe::Columns);
        }
        if tick.is_multiple_of(SLOW_TICKS) && self.devices.is_due(now) {
            let mut watch = Stopwatch::start();
            readings.extend(self.devices.read());
            watch.lap(Probe::Devices);
        }
        self.coarse.read(now, self.resident, survey);
        readings
    }

    /// Reads what a book needs now; `session_ns` is the time since the session began, `ledger` reads the ledger's sums. `None` when the
    /// resident set cannot be read.
    pub fn book(&mut self, session_ns: u64, survey: &Survey, ledger: impl Fn() -> Counted) -> Option<BookReadings> {
        self.coarse.book(session_ns, survey, ledger)
    }

    /// The columns of the coarse book of the latest reading, when `live` bytes are live.
    pub fn coarse_book(&self, live: u64) -> Readings {
        self.coarse.columns(live)
    }

    /// The probes' figures for the whole run. `rss_at_peak` is the reading (in bytes) nearest to the peak of the live
    /// bytes.
    pub fn figures(&mut self, rss_at_peak: Option<u64>) -> Vec<OutsideFigure> {
        let mut watch = Stopwatch::start();
        if self.devices.is_used() {
            // What a program adds in its last moments on a device is in the figure too.
            self.devices.read_at_end();
            watch.lap(Probe::Devices);
        }
        let figures = vec![status::figure(rss_at_peak), self.cgroup.figure(), self.devices.figure()];
        watch.lap(Probe::Closing);
        figures
    }

    /// What frameworks told of devices, with the accounts of their memory; `session_ns` turns the clock's time into the
    /// session's.
    pub fn device_memory(&self, told: Vec<DeviceMemory>, session_ns: impl Fn(u64) -> u64) -> Vec<DeviceMemory> {
        self.devices.completed(told, session_ns)
    }

    /// A record of devices with those accounts; any other as it is.
    pub fn completed(&self, record: Record, session_ns: impl Fn(u64) -> u64) -> Record {
        match record {
            Record::Devices(told) => Record::Devices(self.device_memory(told, session_ns)),
            other => other,
        }
    }

    /// The readings that those accounts are made of, as JSON, an object a line.
    pub fn device_inputs(&self) -> String {
        self.devices.inputs()
    }

    /// What was used of the processors so far.
    pub fn utilisation(&mut self) -> Utilisation {
        let mut watch = Stopwatch::start();
        let figures = self.utilisation.figures();
        watch.lap(Probe::Closing);
        figures
    }
}
