//! Time, processor time and energy by scope, for sessions that ask for times.
//!
//! ```text
//! stopwatches of the threads ---> time by scope since the last tick --+
//! processor time of the process -------------------------------------+--> split --> rows
//! power sensors (less often, where reading them is slow) ------------+
//! ```
use std::iter;
use std::mem;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::sensors::{About, Meter, NO_SCOPE, Source, find, split};
use alloc_replay::{OTHER_SCOPES, ScopeId};
use alloc_timeline::{Energy, EnergyMeter, Record, ScopeEnergy, ScopeTime, Utilisation};

use super::step_clock::StepClock;
use crate::ledger::{self, stopwatch};
use crate::probe::Readings;
use crate::probe::spent::{Probe, Stopwatch};
use crate::settings::times;
use crate::{scope, sys};

/// Reading the power sensors takes at most one part in this of the time: those on a board's slow bus take a millisecond.
const POWER_SHARE: u64 = 200;

/// What is measured by scope while a session records.
#[derive(Debug)]
pub struct Metering {
    /// Times of the scopes when measuring began: those of sessions before.
    base: Vec<stopwatch::Times>,
    with_cpu: bool,
    /// Time by scope at the last tick, and at the last reading of the power sensors.
    at_tick: Instant,
    at_power: Instant,
    /// Room for the next tick's.
    room: Vec<u64>,
    /// Room for what each scope got on a tick.
    passed: Vec<(u32, u64)>,
    process_cpu_ns: u64,
    next_power_ns: u64,
    intervals: u64,
    rows: Vec<Row>,
    sources: Vec<Source>,
    meters: Vec<(About, Meter)>,
    unavailable: Vec<String>,
    steps: Arc<Mutex<StepClock>>,
}

/// An instant, and by scope number what the stopwatches said then: see [`active_ns`].
#[derive(Debug)]
struct Instant {
    time_ns: u64,
    active_ns: Vec<u64>,
}

/// What was split or sampled, of one scope.
#[derive(Clone, Debug, Default)]
struct Row {
    process_cpu_ns: f64,
    sampled_ns: u64,
    no_scope_ns: u64,
    energy_uj: Vec<f64>,
}

impl Metering {
    /// Begins to measure; `with_cpu` says whether the processor time of each thread as well. `gpus` are the GPUs as sources
    /// of energy, or a sentence on why there is none.
    pub fn begin(with_cpu: bool, gpus: Result<Vec<Source>, String>) -> Self {
        let mut found = find(Path::new("/"), times::power_file().as_deref());
        match gpus {
            Ok(sources) => found.sources.extend(sources),
            Err(reason) => found.unavailable.push(reason),
        }
        let about = found.sources.iter().flat_map(|source| source.about.iter().cloned());
        let meters = about.map(|about| (about, Meter::default())).collect();
        let base: Vec<stopwatch::Times> = (0..scope::count()).map(|scope| stopwatch::of(scope as ScopeId)).collect();
        let now = sys::now_ns();
        let active_ns: Vec<u64> = base.iter().map(|times| times.active.ns).collect();
        stopwatch::begin(now, with_cpu);
        let mut metering = Metering {
            base,
            with_cpu,
            at_tick: Instant { time_ns: now, active_ns: active_ns.clone() },
            at_power: Instant { time_ns: now, active_ns },
            room: Vec::new(),
            passed: Vec::new(),
            process_cpu_ns: sys::process_cpu_ns(),
            next_power_ns: 0,
            intervals: 0,
            rows: Vec::new(),
            sources: found.sources,
            meters,
            unavailable: found.unavailable,
            steps: Arc::default(),
        };
        metering.read_power(now);
        metering
    }

    /// What the thread that does the steps tells when one begins or ends.
    pub fn step_clock(&self) -> Arc<Mutex<StepClock>> {
        Arc::clone(&self.steps)
    }

    /// Records of the steps that have ended since this was last asked. Their scopes must be recorded before them.
    pub fn ended_steps(&self) -> Vec<Record> {
        let mut steps = self.steps.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        steps.take_ended().into_iter().map(|step| Record::StepTimes(Box::new(step))).collect()
    }

    /// Splits what came since the tick before among the scopes that were active. Returns the power since then as columns,
    /// in milliwatts.
    pub fn tick(&mut self) -> Readings {
        let now = sys::now_ns();
        let process_cpu_ns = sys::process_cpu_ns();
        let interval_ns = now.saturating_sub(self.at_tick.time_ns);
        if interval_ns > 0 {
            self.intervals += 1;
            let active_ns = active_ns(now, mem::take(&mut self.room));
            let mut passed = mem::take(&mut self.passed);
            passed.clear();
            passed.extend(since(&active_ns, &self.at_tick.active_ns));
            let cpu_ns = process_cpu_ns.saturating_sub(self.process_cpu_ns) as f64;
            for (scope, share) in split(interval_ns, &passed) {
                let row = self.row(scope);
                row.process_cpu_ns += cpu_ns * share;
                if scope == NO_SCOPE {
                    row.no_scope_ns += (interval_ns as f64 * share) as u64;
                }
            }
            self.passed = passed;
            let mut is_in_none = true;
            for (scope, _) in scopes_of_threads(now) {
                self.row(scope).sampled_ns += interval_ns;
                is_in_none = false;
            }
            if is_in_none {
                self.row(NO_SCOPE).sampled_ns += interval_ns;
            }
            self.room = mem::replace(&mut self.at_tick, Instant { time_ns: now, active_ns }).active_ns;
            self.process_cpu_ns = process_cpu_ns;
        }
        if now >= self.next_power_ns { self.read_power(now) } else { Readings::new() }
    }

    /// Reads the power sensors. `now` is the time of the latest tick, up to which the times by scope are known.
    fn read_power(&mut self, now: u64) -> Readings {
        if self.sources.is_empty() {
            self.next_power_ns = u64::MAX;
            return Readings::new();
        }
        let began = sys::now_ns();
        let mut watch = Stopwatch::start();
        let read: Vec<_> = self.sources.iter_mut().flat_map(Source::read).collect();
        watch.lap(Probe::Power);
        let spent = sys::now_ns().saturating_sub(began);
        self.next_power_ns = began + POWER_SHARE * spent;
        let interval_ns = now.saturating_sub(self.at_power.time_ns);
        let passed: Vec<(u32, u64)> = since(&self.at_tick.active_ns, &self.at_power.active_ns).collect();
        let shares: Vec<(u32, f64)> = split(interval_ns, &passed).collect();
        let mut readings = Readings::new();
        for (index, reading) in read.into_iter().enumerate() {
            let Some((about, meter)) = self.meters.get_mut(index) else { break };
            let energy_uj = meter.take(now, reading);
            let milliwatts = energy_uj.map(|energy_uj| (energy_uj * 1e6 / interval_ns.max(1) as f64).round() as u64);
            readings.push((format!("power_{}_mw", about.name).into(), milliwatts));
            for &(scope, share) in energy_uj.iter().flat_map(|_| &shares) {
                let meters = self.meters.len();
                let energy = &mut self.row(scope).energy_uj;
                energy.resize(meters, 0.0);
                energy[index] += energy_uj.unwrap_or(0.0) * share;
            }
        }
        self.at_power = Instant { time_ns: now, active_ns: self.at_tick.active_ns.clone() };
        readings
    }

    /// What the stopwatches say of a scope since measuring began.
    fn of(&self, scope: ScopeId) -> stopwatch::Times {
        let base = self.base.get(usize::from(scope)).copied().unwrap_or_default();
        let now = stopwatch::of(scope);
        stopwatch::Times { active: now.active.since(base.active), cpu_ns: now.cpu_ns.saturating_sub(base.cpu_ns) }
    }

    /// The row of a scope, or of threads in none.
    fn row(&mut self, scope: u32) -> &mut Row {
        let scope = if scope == NO_SCOPE { ledger::nobody().into() } else { scope };
        let index = scope as usize;
        if self.rows.len() <= index {
            self.rows.resize_with(index + 1, Row::default);
        }
        &mut self.rows[index]
    }

    /// Adds the times by scope to the figures of the process.
    pub fn times(&self, mut utilisation: Utilisation) -> Utilisation {
        let mut active_ns = active_ns(sys::now_ns(), Vec::new());
        for (ns, base) in active_ns.iter_mut().zip(&self.base) {
            *ns = ns.saturating_sub(base.active.ns);
        }
        let rows = 0..self.rows.len().max(active_ns.len());
        let row = |index: usize| {
            let row = self.rows.get(index).cloned().unwrap_or_default();
            let is_named = !is_reserved(index as u32);
            ScopeTime {
                scope: index as u32,
                active_ns: if is_named { active_ns.get(index).copied().unwrap_or(0) } else { row.no_scope_ns },
                cpu_ns: (self.with_cpu && is_named).then(|| self.of(index as ScopeId).cpu_ns),
                process_cpu_ns: row.process_cpu_ns.round() as u64,
                sampled_ns: row.sampled_ns,
            }
        };
        let is_empty = |row: &ScopeTime| row.active_ns == 0 && row.process_cpu_ns == 0 && row.sampled_ns == 0;
        utilisation.scopes = rows.map(row).filter(|row| !is_empty(row)).collect();
        utilisation.intervals = self.intervals;
        utilisation
    }

    /// The energy so far. A meter's energy is the sum of its scopes', so that the file adds up.
    pub fn energy(&self) -> Energy {
        let whole = |row: &Row| -> Vec<u64> { row.energy_uj.iter().map(|uj| uj.round() as u64).collect() };
        let scopes: Vec<ScopeEnergy> = (0..)
            .zip(&self.rows)
            .map(|(scope, row)| ScopeEnergy { scope, by_meter_uj: whole(row) })
            .filter(|row| !row.by_meter_uj.is_empty())
            .collect();
        let meter = |(index, (about, meter)): (usize, &(About, Meter))| EnergyMeter {
            name: about.name.clone(),
            kind: about.kind.name().to_owned(),
            part_of: about.part_of.clone(),
            energy_uj: (meter.covered_ns() > 0).then(|| scopes.iter().map(|row| row.by_meter_uj[index]).sum()),
            covered_ns: meter.covered_ns(),
            most_mw: meter.most_uw() / 1_000,
            source: about.origin.clone(),
            problems: meter.problems(),
        };
        let meters = self.meters.iter().enumerate().map(meter).collect();
        Energy { meters, scopes, unavailable: self.unavailable.clone() }
    }
}

impl Drop for Metering {
    fn drop(&mut self) {
        stopwatch::end();
    }
}

/// What the stopwatches say by scope number, with what is still running, written into `room`: this is done a hundred times a second.
fn active_ns(now: u64, mut room: Vec<u64>) -> Vec<u64> {
    room.clear();
    room.extend((0..scope::count()).map(|scope| stopwatch::of(scope as ScopeId).active.ns));
    for (scope, ns) in scopes_of_threads(now) {
        if let Some(sum) = room.get_mut(scope as usize) {
            *sum += ns;
        }
    }
    room
}

/// The scopes that threads are in at this moment, and for how long each of them has been.
fn scopes_of_threads(now: u64) -> impl Iterator<Item = (u32, u64)> {
    let running = ledger::live_slots().filter_map(move |slot| slot.stopwatch.running(now));
    running.map(|(scope, ns)| (u32::from(scope), ns)).filter(|(scope, _)| !is_reserved(*scope))
}

/// Whether a scope is one of those that the tracker made itself: nobody's, the runtime's, its own.
fn is_reserved(scope: u32) -> bool {
    scope < u32::from(OTHER_SCOPES) || scope == u32::from(ledger::nobody())
}

/// What each scope got since an earlier instant. The reserved scopes are left out. A time that the earlier instant had
/// too much of, because a thread changed its scope while it was read, is 0 here.
fn since(now: &[u64], earlier: &[u64]) -> impl Iterator<Item = (u32, u64)> {
    let earlier = earlier.iter().copied().chain(iter::repeat(0));
    let passed = |(scope, (&ns, earlier)): (u32, (&u64, u64))| (scope, ns.saturating_sub(earlier));
    (0..).zip(now.iter().zip(earlier)).map(passed).filter(|(scope, ns)| *ns > 0 && !is_reserved(*scope))
}
