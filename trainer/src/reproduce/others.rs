//! What other programs used of the processors while a measurement ran. Times of a busy machine say nothing of a program.
use std::time::Instant;

use procfs::process::Process;
use procfs::{CurrentSI, KernelStats};

/// From its start on it watches what this program and its children use, and what all others do.
pub(super) struct Watch {
    began: Instant,
    all: f64,
    own: f64,
}

impl Watch {
    /// `None` where the kernel does not tell.
    pub(super) fn start() -> Option<Watch> {
        Some(Watch { began: Instant::now(), all: all_seconds()?, own: own_seconds()? })
    }

    /// Processors that others used since, on average: other programs, the kernel's own work, and, in a virtual machine, the time
    /// that other machines took. Children count from when they have ended and somebody has waited for them.
    pub(super) fn others(&self) -> Option<f64> {
        let seconds = self.began.elapsed().as_secs_f64();
        Some(others(all_seconds()? - self.all, own_seconds()? - self.own, seconds))
    }
}

/// Processors that others used in so many seconds. The kernel counts in ticks, so small differences may be below 0.
fn others(all: f64, own: f64, seconds: f64) -> f64 {
    ((all - own) / seconds).max(0.0)
}

/// Seconds in which any processor was busy since the machine started, summed over processors.
fn all_seconds() -> Option<f64> {
    let total = KernelStats::current().ok()?.total;
    let ticks = total.user + total.nice + total.system;
    let more = [total.irq, total.softirq, total.steal].into_iter().flatten().sum::<u64>();
    Some((ticks + more) as f64 / procfs::ticks_per_second() as f64)
}

/// Seconds that this process used, and all that it has waited for.
fn own_seconds() -> Option<f64> {
    let stat = Process::myself().ok()?.stat().ok()?;
    let children = u64::try_from(stat.cutime + stat.cstime).ok()?;
    Some((stat.utime + stat.stime + children) as f64 / procfs::ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In ten seconds the processors worked for 14, of which 10 were ours: others used 0.4 of a processor.
    #[test]
    fn what_is_not_ours_is_others() {
        assert_eq!(others(14.0, 10.0, 10.0), 0.4);
        assert_eq!(others(9.99, 10.0, 10.0), 0.0, "a tick that was counted here and not yet there");
    }

    #[test]
    fn this_kernel_tells() {
        let watch = Watch::start().expect("the kernel tells");
        assert!(watch.others().expect("still") >= 0.0);
    }
}
