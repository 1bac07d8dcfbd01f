//! Processor time and what else the kernel counts of this process and its threads.
use alloc_timeline::ProcessUsage;

use super::clock::read;

/// What the process has used since it began (getrusage(2)); `None` when the kernel does not answer.
pub fn process_usage() -> Option<ProcessUsage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing for the duration of the call.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: an rusage is made of integers, for which zeroes are values, and the kernel has filled it.
    let usage = unsafe { usage.assume_init() };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    Some(ProcessUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    })
}

/// What came since `earlier`.
pub fn usage_since(now: &ProcessUsage, earlier: &ProcessUsage) -> ProcessUsage {
    ProcessUsage {
        user_ns: now.user_ns.saturating_sub(earlier.user_ns),
        system_ns: now.system_ns.saturating_sub(earlier.system_ns),
        minor_faults: now.minor_faults.saturating_sub(earlier.minor_faults),
        major_faults: now.major_faults.saturating_sub(earlier.major_faults),
        voluntary_switches: now.voluntary_switches.saturating_sub(earlier.voluntary_switches),
        involuntary_switches: now.involuntary_switches.saturating_sub(earlier.involuntary_switches),
    }
}

/// Processor time of the calling thread, in nanoseconds. Async-signal-safe; a system call.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time of all threads of the process, those that have ended included, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// How many of the kernel's ticks are a second, in the files that count in ticks.
pub fn ticks_per_second() -> u64 {
    // SAFETY: sysconf only reads.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|&ticks| ticks > 0).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time_and_touches_pages() {
        let (before, thread) = (process_usage().expect("getrusage"), thread_cpu_ns());
        while thread_cpu_ns() < thread + 20_000_000 {
            std::hint::black_box(vec![1u8; 1 << 20]);
        }
        let used = usage_since(&process_usage().expect("getrusage"), &before);
        // The kernel counts whole ticks for some clocks.
        assert!(used.user_ns + used.system_ns >= 10_000_000, "{used:?}");
        assert!(process_cpu_ns() >= thread_cpu_ns());
        assert!(ticks_per_second() > 0);
    }
}
