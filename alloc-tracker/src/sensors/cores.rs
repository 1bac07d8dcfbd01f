//! Processor time by core, from the text of /proc/stat (proc_stat(5)).
//!
//! procfs reads this file too, but gives the cores without their numbers, and where a core is switched off, as a Jetson
//! does to save power, the numbers have gaps.

/// The most cores that have a column each; with more, [`summary`] stands for them.
pub const MOST_SINGLE_CORES: usize = 16;

/// What a core has done since the machine started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTime {
    /// The core's number, as the kernel counts them.
    pub core: u32,
    /// Ticks in which it worked, for whatever process.
    pub busy: u64,
    /// Ticks in which it had nothing to do, or waited for a disk.
    pub idle: u64,
}

/// How busy the cores of a machine were, in thousandths of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoresBusy {
    /// The least busy core.
    pub min: u64,
    /// The core in the middle.
    pub median: u64,
    /// The busiest core.
    pub max: u64,
    /// How many were busy for more than half of the time.
    pub used: u64,
}

/// The cores that the text of /proc/stat tells of. A line that cannot be read is left out.
pub fn core_times(text: &str) -> Vec<CoreTime> {
    text.lines().filter_map(core_time).collect()
}

fn core_time(line: &str) -> Option<CoreTime> {
    let mut words = line.split_ascii_whitespace();
    let core = words.next()?.strip_prefix("cpu")?.parse().ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal. What follows (guest) is part of user already, and kernels
    // before 2.6.11 have fewer.
    let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
    let idle = *ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
    Some(CoreTime { core, busy: ticks.iter().sum::<u64>() - idle, idle })
}

/// How busy each core was between two readings, in thousandths. A core that was switched on or off in between, and one
/// whose counters went back, is left out.
pub fn busy_permille(before: &[CoreTime], now: &[CoreTime]) -> Vec<(u32, u64)> {
    let busy = |now: &CoreTime| {
        let before = before.iter().find(|before| before.core == now.core)?;
        let busy = now.busy.checked_sub(before.busy)?;
        // Some kernels let the time in which a core waited for a disk go back by a tick.
        let all = busy + now.idle.saturating_sub(before.idle);
        (all > 0).then(|| (now.core, busy * 1000 / all))
    };
    now.iter().filter_map(busy).collect()
}

/// What stands for the cores of a machine with many. `None` without cores.
pub fn summary(busy: &[(u32, u64)]) -> Option<CoresBusy> {
    let mut permille: Vec<u64> = busy.iter().map(|(_, permille)| *permille).collect();
    permille.sort_unstable();
    let used = permille.iter().filter(|&&permille| permille > 500).count() as u64;
    Some(CoresBusy { min: *permille.first()?, median: permille[permille.len() / 2], max: *permille.last()?, used })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  120 5 40 600 30 0 3 2 0 0\ncpu0 60 5 20 300 15 0 2 2 0 0\ncpu3 60 0 20 300 15 0 1 0 0 0\n\
                          intr 24812745 0 0\nctxt 1\n";

    #[test]
    fn cores_keep_their_numbers() {
        let core = |core, busy, idle| CoreTime { core, busy, idle };
        assert_eq!(core_times(BEFORE), [core(0, 89, 315), core(3, 81, 315)]);
        assert_eq!(core_times("cpu0 1 2 3\ncpux 1 2 3 4\ncpu1 1 2 3 4"), [core(1, 6, 4)], "too short, and no number");
    }

    #[test]
    fn a_core_is_busy_for_a_share_of_the_ticks() {
        let now = "cpu0 65 5 20 304 16 0 2 2 0 0\ncpu1 9 9 9 9\ncpu3 50 0 20 300 15 0 1 0 0 0\n";
        // Core 0: 5 of 10 ticks. Core 1 was off before. Core 3 went back.
        assert_eq!(busy_permille(&core_times(BEFORE), &core_times(now)), [(0, 500)]);
        assert_eq!(busy_permille(&core_times(now), &core_times(now)), [], "no tick has passed");
    }

    #[test]
    fn many_cores_are_told_in_four_numbers() {
        let busy: Vec<(u32, u64)> = (0..128).map(|core| (core, if core < 20 { 900 } else { 10 })).collect();
        assert_eq!(summary(&busy), Some(CoresBusy { min: 10, median: 10, max: 900, used: 20 }));
        assert_eq!(summary(&[]), None);
    }
}
