//! Who allocates, by stack and by thread: what samples say of each pair of a stack and a scope, a *site*, and of each
//! thread.
//!
//! Each sample stands for a number of bytes. The free of its block takes those away from what is live, and a realloc that
//! makes the block smaller takes away the same part of them. What a realloc adds is a sample of its own, of the same
//! block. Peaks are remembered as for accounts.
use alloc_timeline::SampleCounts;
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::event::Event;
use crate::growth::StepHistory;
use crate::high_water::HighWaterMarks;
use crate::sampled::Sampled;
use crate::sampled_threads::SampledThreads;
use crate::scope::ScopeId;
use crate::site::Site;
use crate::site_table::{SiteRow, SiteTable, ThreadTable};

/// The number of a stack whose calls could not be found.
const NO_STACK: u32 = 0;
/// Sites that are kept apart; the stacks of later ones are not.
const MOST_SITES: usize = 64 * 1024;

/// The samples of a block that lives, of one site and thread.
#[derive(Clone, Copy, Debug)]
struct LiveSample {
    site: u32,
    /// Its index among the threads.
    thread: usize,
    /// What they stand for by now.
    bytes: i64,
    /// How many there are: a block that grows again and again may have any number.
    samples: i64,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Sites {
    sites: Vec<Site>,
    index: FxHashMap<(u32, ScopeId), u32>,
    /// The samples of each block that lives, by its address.
    blocks: FxHashMap<u64, Vec<LiveSample>>,
    /// Those of blocks that are being resized, by token.
    resizing: FxHashMap<u64, Vec<LiveSample>>,
    threads: SampledThreads,
    growth: StepHistory,
    counts: SampleCounts,
}

impl Sites {
    /// Takes in one event; those that are not about samples change nothing.
    pub fn apply(&mut self, event: &Event, marks: &HighWaterMarks) {
        match *event {
            Event::Sampled { scope, address, bytes, weight, stack, cut, fresh, followed, thread } => {
                if fresh {
                    // The free of a block that was here before has no event.
                    let unfreed = self.blocks.remove(&address);
                    self.release(unfreed, marks);
                }
                self.counts.taken += 1;
                self.counts.without_calls += u64::from(stack == NO_STACK);
                self.counts.cut += u64::from(cut);
                let (site, thread) = (self.site(stack, scope), self.threads.index(thread));
                let sample = LiveSample { site, thread, bytes: weight as i64, samples: 1 };
                self.of_both(sample, |sampled| sampled.add(bytes, weight, fresh));
                if followed {
                    let amount = Amount { usable: sample.bytes, requested: 0, blocks: 1 };
                    self.of_both(sample, |sampled| sampled.change(amount, marks));
                    let of_block = self.blocks.entry(address).or_default();
                    match of_block.iter_mut().find(|other| (other.site, other.thread) == (site, thread)) {
                        Some(other) => {
                            other.bytes += sample.bytes;
                            other.samples += 1;
                        }
                        None => of_block.push(sample),
                    }
                } else {
                    self.counts.not_followed += 1;
                }
            }
            Event::ThreadEnded { thread, name } => self.threads.ended(thread, name),
            Event::SampleFreed { address } => {
                let freed = self.blocks.remove(&address);
                self.release(freed, marks);
            }
            Event::SampleResizeBegan { address, token } => {
                if let Some(samples) = self.blocks.remove(&address) {
                    self.resizing.insert(token, samples);
                }
            }
            Event::SampleResizeEnded { address, before, after, token } => {
                if let Some(samples) = self.resizing.remove(&token) {
                    self.resized(samples, address, [before, after], marks);
                }
            }
            _ => {}
        }
    }

    /// A block with these samples has a new size, and perhaps a new address.
    fn resized(
        &mut self,
        mut samples: Vec<LiveSample>,
        address: Option<u64>,
        [before, after]: [u64; 2],
        marks: &HighWaterMarks,
    ) {
        let Some(address) = address else {
            self.counts.not_followed += samples.iter().map(|sample| sample.samples as u64).sum::<u64>();
            return self.release(Some(samples), marks);
        };
        if after < before {
            for sample in &mut samples {
                let rest = (sample.bytes as f64 * after as f64 / before as f64).round() as i64;
                let change = Amount { usable: rest - sample.bytes, ..Amount::default() };
                self.of_both(*sample, |sampled| sampled.change(change, marks));
                sample.bytes = rest;
            }
        }
        let unfreed = self.blocks.insert(address, samples);
        self.release(unfreed, marks);
    }

    /// These samples are of a block that is no more, or no longer followed.
    fn release(&mut self, samples: Option<Vec<LiveSample>>, marks: &HighWaterMarks) {
        for sample in samples.into_iter().flatten() {
            let amount = Amount { usable: -sample.bytes, requested: 0, blocks: -sample.samples };
            self.of_both(sample, |sampled| sampled.change(amount, marks));
        }
    }

    /// Runs `work` for the site of the sample, and for its thread.
    fn of_both(&mut self, sample: LiveSample, work: impl Fn(&mut Sampled)) {
        work(&mut self.sites[sample.site as usize].sampled);
        work(self.threads.sampled(sample.thread));
    }

    /// The number of the site of `stack` in `scope`; of the scope's site without a stack when there are too many.
    fn site(&mut self, stack: u32, scope: ScopeId) -> u32 {
        if let Some(&site) = self.index.get(&(stack, scope)) {
            return site;
        }
        if stack != NO_STACK && self.sites.len() >= MOST_SITES {
            return self.site(NO_STACK, scope);
        }
        let number = self.sites.len() as u32;
        self.sites.push(Site::new(stack, scope));
        self.index.insert((stack, scope), number);
        number
    }

    /// Step number `step` ended.
    pub fn step_ended(&mut self, step: u64) {
        self.growth.step_ended(step, self.sites.iter().map(|site| site.sampled.live_bytes()));
    }

    /// The sites that reach the file.
    pub fn table(&self, marks: &HighWaterMarks) -> SiteTable {
        let all: Vec<SiteRow> = self.sites.iter().map(|site| site.row(marks)).collect();
        let threads = ThreadTable::choose(&self.threads.rows(marks), self.threads.later(marks));
        SiteTable { threads, ..SiteTable::choose(&all, self.growth.table(), self.counts) }
    }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::SiteSums;

    use super::*;
    use crate::high_water::Moment;

    fn sampled(address: u64, weight: u64, stack: u32, bytes: u64) -> Event {
        let (cut, fresh, followed, thread) = (false, true, true, 1);
        Event::Sampled { scope: 3, address, bytes, weight, stack, cut, fresh, followed, thread }
    }

    fn grown(address: u64, weight: u64, stack: u32, bytes: u64) -> Event {
        let (cut, fresh, followed, thread) = (false, false, true, 2);
        Event::Sampled { scope: 3, address, bytes, weight, stack, cut, fresh, followed, thread }
    }

    /// The live bytes of each thread, by its number.
    fn live_by_thread(sites: &Sites) -> Vec<(u32, u64)> {
        let table = sites.table(&HighWaterMarks::default());
        table.threads.threads.iter().map(|row| (row.number, row.sums.exit_bytes)).collect()
    }

    fn resized(from: u64, to: Option<u64>, [before, after]: [u64; 2]) -> [Event; 2] {
        let began = Event::SampleResizeBegan { address: from, token: 1 };
        [began, Event::SampleResizeEnded { address: to, before, after, token: 1 }]
    }

    fn numbers(sites: &Sites) -> Vec<(u32, SiteSums)> {
        let table = sites.table(&HighWaterMarks::default());
        assert_eq!(table.others, SiteSums::default());
        table.sites.iter().map(|site| (site.stack, site.sums)).collect()
    }

    fn after(events: &[Event]) -> Sites {
        let mut sites = Sites::default();
        events.iter().for_each(|event| sites.apply(event, &HighWaterMarks::default()));
        sites
    }

    /// As often as a buffer that a program fills and empties for days.
    #[test]
    fn a_block_that_grows_and_shrinks_again_and_again_has_one_sum() {
        let mut sites = after(&[sampled(0x10, 1_000, 7, 10)]);
        for _ in 0..10_000 {
            let [began, ended] = resized(0x10, Some(0x10), [2_000, 1_000]);
            [began, ended, grown(0x10, 1_000, 7, 10)]
                .iter()
                .for_each(|event| sites.apply(event, &HighWaterMarks::default()));
        }
        assert_eq!(sites.blocks[&0x10].len(), 2, "one for each thread");
        sites.apply(&Event::SampleFreed { address: 0x10 }, &HighWaterMarks::default());
        let sums = numbers(&sites);
        assert_eq!((sums[0].1.exit_bytes, sums[0].1.exit_samples, sites.blocks.len()), (0, 0, 0));
    }

    #[test]
    fn a_free_takes_away_what_the_sample_stood_for() {
        let sites = after(&[
            sampled(0x10, 1_000, 7, 10),
            sampled(0x20, 1_000, 7, 40),
            Event::SampleFreed { address: 0x10 },
            Event::SampleFreed { address: 0x99 },
        ]);
        // 1,000 bytes in blocks of 10, and in blocks of 40.
        let sums = SiteSums {
            samples: 2,
            allocated_bytes: 2_000,
            // 1,000 * 990 + 1,000 * 960 are 1,396 squared.
            error_bytes: 1_396,
            allocated_blocks: 125,
            peak_bytes: 0,
            exit_bytes: 1_000,
            exit_samples: 1,
        };
        assert_eq!(numbers(&sites), [(7, sums)]);
    }

    /// A block of 100 grows to 200, which is sampled elsewhere for 500 bytes, moves, and shrinks to 50: a quarter.
    #[test]
    fn a_realloc_scales_what_is_live() {
        let mut events = vec![sampled(0x10, 1_000, 7, 100)];
        events.extend(resized(0x10, Some(0x30), [100, 200]));
        events.push(grown(0x30, 500, 8, 100));
        events.extend(resized(0x30, Some(0x30), [200, 50]));
        let sites = after(&events);
        // Thread 1 allocated the block, and thread 2 made it larger.
        assert_eq!(live_by_thread(&sites), [(1, 250), (2, 125)]);
        let rows = numbers(&sites);
        let live: Vec<(u32, u64, u64)> =
            rows.iter().map(|(stack, sums)| (*stack, sums.exit_bytes, sums.allocated_blocks)).collect();
        assert_eq!(live, [(7, 250, 10), (8, 125, 0)]);

        let mut events = vec![sampled(0x10, 1_000, 7, 100)];
        events.extend(resized(0x10, None, [100, 200]));
        let sites = after(&events);
        assert_eq!((numbers(&sites)[0].1.exit_bytes, sites.counts.not_followed), (0, 1));
    }

    #[test]
    fn a_block_at_the_address_of_another_takes_its_place() {
        let sites = after(&[sampled(0x10, 1_000, 7, 10), sampled(0x10, 500, 8, 10)]);
        let live: Vec<u64> = numbers(&sites).iter().map(|(_, sums)| sums.exit_bytes).collect();
        assert_eq!(live, [0, 500]);
    }

    #[test]
    fn the_peak_keeps_what_was_live_then() {
        let mut sites = after(&[sampled(0x10, 1_000, 7, 10)]);
        let mut marks = HighWaterMarks::default();
        marks.raise(1_000, Moment { event: 1, time_ns: 1, step: 0 });
        sites.apply(&Event::SampleFreed { address: 0x10 }, &marks);
        let sums = sites.table(&marks).sites[0].sums;
        assert_eq!((sums.peak_bytes, sums.exit_bytes), (1_000, 0));
    }
}
