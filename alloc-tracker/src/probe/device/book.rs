//! The book of a device: from what the program asked for to what is used of the device, line by line.
//!
//! ```text
//! requested                                  allocator's statistics
//!   rounding                                 allocated - requested
//! allocated                                  allocator
//!   cached by the allocator: ...             freed and waiting; parts of segments; whole segments
//! reserved                                   allocator
//!   context and libraries                    NVML before the first segment, and growth while reserved stood still
//!   unexplained
//! NVML process                               NVML, this process
//!   other processes                          NVML, the others
//!   driver and firmware                      NVML, nvmlMemory_v2_t
//!   unexplained
//! device used                                NVML, nvmlMemory_v2_t
//! ```
//!
//! A line whose figure is missing has no bytes and says why; the next `unexplained` then contains it, and says so.
use alloc_timeline::BeyondLine;

use super::inputs::{AllocatorInputs, ContextInputs, DeviceInputs, DriverInputs};
use super::process;

const STATISTICS: &str = "the caching allocator's statistics";
const UNTOLD: &str = "only the allocator's statistics have it, and nobody gave a function that asks for them";

/// The lines for these readings.
pub fn lines(inputs: &DeviceInputs) -> Vec<BeyondLine> {
    let mut account = Account::default();
    account.of_allocator(inputs.allocator.as_ref());
    account.of_driver(inputs);
    account.lines
}

/// The lines so far.
#[derive(Default)]
struct Account {
    lines: Vec<BeyondLine>,
    /// The last total that is known and the steps after it that are; `None` before the first.
    sum: Option<i64>,
    /// The lines since then whose bytes are not known.
    missing: Vec<String>,
}

impl Account {
    fn step<R: AsRef<str>>(&mut self, name: &str, bytes: Result<i64, R>, source: &str) {
        match &bytes {
            Ok(bytes) => self.sum = self.sum.map(|sum| sum.saturating_add(*bytes)),
            Err(_) => self.missing.push(name.to_owned()),
        }
        self.line(name, bytes, source, false);
    }

    fn total<R: AsRef<str>>(&mut self, name: &str, bytes: Result<u64, R>, source: &str) {
        let bytes = bytes.map(|bytes| bytes as i64);
        match &bytes {
            Ok(bytes) => (self.sum, self.missing) = (Some(*bytes), Vec::new()),
            Err(_) => self.missing.push(name.to_owned()),
        }
        self.line(name, bytes, source, true);
    }

    /// A total after steps: what these leave is unexplained.
    fn closed<R: AsRef<str>>(&mut self, name: &str, bytes: Result<u64, R>, source: &str) {
        let rest = match (&bytes, self.sum) {
            (Ok(total), Some(sum)) => Ok(*total as i64 - sum),
            (Ok(_), None) => Err("no total above is known"),
            (Err(_), _) => Err("the total below is not known"),
        };
        let left = match self.missing.as_slice() {
            [] => "what is left".to_owned(),
            missing => format!("what is left, with what is not known: {}", missing.join(", ")),
        };
        self.line("unexplained", rest, &left, false);
        self.total(name, bytes, source);
    }

    fn line<R: AsRef<str>>(&mut self, name: &str, bytes: Result<i64, R>, source: &str, total: bool) {
        let source = match &bytes {
            Ok(_) => source.to_owned(),
            Err(reason) => format!("unavailable: {}", reason.as_ref().trim_start_matches("unavailable: ")),
        };
        self.lines.push(BeyondLine { name: name.to_owned(), bytes: bytes.ok(), total, source });
    }

    fn of_allocator(&mut self, allocator: Result<&AllocatorInputs, &String>) {
        let requested = allocator.map_or_else(|reason| Err(reason.as_str()), |one| one.requested.ok_or(UNTOLD));
        self.total("requested", requested, STATISTICS);
        let allocated = allocator.map(|one| one.allocated);
        let rounding = requested.and_then(|requested| Ok(allocated.map_err(String::as_str)? as i64 - requested as i64));
        self.step("rounding", rounding, "allocated - requested");
        let from_events = allocator.is_ok_and(|one| one.active.is_none());
        let source = if from_events { "the caching allocator's last event" } else { STATISTICS };
        self.total("allocated", allocated, source);
        self.cached(allocator);
        self.total("reserved", allocator.map(|one| one.reserved), source);
    }

    /// What lies between allocated and reserved: in three lines if the statistics tell them apart, else in one.
    fn cached(&mut self, allocator: Result<&AllocatorInputs, &String>) {
        const CACHED: &str = "cached by the allocator";
        let signed = |a: u64, b: u64| Ok::<i64, &str>(a as i64 - b as i64);
        match allocator {
            Ok(&AllocatorInputs { allocated, active: Some(active), inactive_split: Some(parts), reserved, .. }) => {
                let waiting = format!("{CACHED}: freed, waits for another stream");
                self.step(&waiting, signed(active, allocated), "active - allocated of the statistics");
                let split = format!("{CACHED}: free parts of segments in use");
                self.step(&split, signed(parts, 0), "inactive_split of the statistics");
                let whole = format!("{CACHED}: whole segments");
                let source = "reserved - active - inactive_split of the statistics; free parts of segments that grow are \
                              among them";
                self.step(&whole, signed(reserved, active.saturating_add(parts)), source);
            }
            Ok(one) => self.step(CACHED, signed(one.reserved, one.allocated), "reserved - allocated"),
            Err(reason) => self.step(CACHED, Err::<i64, _>(reason), ""),
        }
    }

    fn of_driver(&mut self, inputs: &DeviceInputs) {
        let driver = inputs.driver.as_ref();
        let uses_device = inputs.allocator.as_ref().map_or(true, |allocator| allocator.reserved > 0);
        let doubt = driver.map_or("", |driver| driver.doubt.as_str());
        let (bytes, source) = context_bytes(&inputs.context, driver, inputs.allocator.is_ok());
        self.step("context and libraries", bytes, &source);
        let share = driver.map_err(Clone::clone).and_then(|driver| process::share(driver, uses_device));
        let remark = share.as_ref().map_or("", |share| share.remark.as_str());
        let own = share.as_ref().map(|share| share.own);
        self.closed("NVML process", own, &format!("NVML's used memory of this process{remark}{doubt}"));
        let others = share.and_then(|share| share.others).map(|bytes| bytes as i64);
        self.step("other processes", others, "NVML's used memory of all other processes, summed");
        let kept = driver.and_then(|driver| driver.reserved.as_ref());
        let kept_bytes = kept.map(|&bytes| bytes as i64);
        self.step("driver and firmware", kept_bytes, "NVML: reserved of nvmlMemory_v2_t");
        let used = driver.and_then(|driver| driver.used.as_ref()).copied();
        // Where the driver does not tell its own part, `used` may have it: then the two are one figure.
        let (used, source) = match kept {
            Ok(kept) => (used.map(|used| used.saturating_add(*kept)), "NVML: used (as nvidia-smi shows it) + reserved"),
            Err(_) => (used, "NVML: used, as nvidia-smi shows it"),
        };
        self.closed("device used", used, source);
    }
}

/// The line between the allocator's bytes and the process's; `knows_segments` says whether the allocator's are known.
fn context_bytes(
    context: &ContextInputs,
    driver: Result<&DriverInputs, &String>,
    knows_segments: bool,
) -> (Result<i64, String>, String) {
    let ContextInputs { before_first_segment, beyond_segments, grown_since, problem } = context;
    let base = beyond_segments.or(before_first_segment.map(|bytes| bytes as i64));
    let bytes = match (driver, problem, base) {
        (Err(reason), ..) => Err(reason.clone()),
        (_, Some(problem), _) => Err(problem.clone()),
        _ if !knows_segments => Err("what the allocator has of the process's bytes is not known".to_owned()),
        (.., None) => {
            let unseen = "no reading fell after the creation of the context at which reserved stood still; what grew since is in \
                          the unexplained bytes";
            Err(unseen.to_owned())
        }
        (.., Some(base)) => Ok(base + grown_since),
    };
    let when = match beyond_segments {
        Some(_) => "beyond the segments at the first reading that found any",
        None => "before the first segment",
    };
    let source = format!(
        "NVML: {} bytes {when}, and {grown_since:+} between readings at which reserved was the same",
        base.unwrap_or(0)
    );
    (bytes, source)
}

#[cfg(test)]
#[path = "book_tests.rs"]
mod tests;
