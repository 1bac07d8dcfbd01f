//! Who allocates, by stack: what samples say of each pair of a stack and a scope.
//!
//! Each sample stands for a number of bytes ([`crate::stacks`]); its block's free takes those away from what is live, and a
//! realloc that makes the block smaller takes away the same part of them. What a realloc adds is a sample of its own, of the
//! same block. Peaks are remembered as for accounts ([`super::account`]).
use alloc_timeline::{SampleCounts, SiteSums};
use rustc_hash::FxHashMap;

use super::account::{Amount, HighWater, Level, Span};
use super::growth::{self, History};
use crate::event::{Event, Kind};
use crate::stacks::{self, NO_STACK};
use crate::tag::scope::ScopeId;

/// Pairs that are kept apart; the stacks of later ones are not.
const MOST_SITES: usize = 64 * 1024;
/// Of each of the three orders (allocated, at the peak, live) so many sites reach the file.
const MOST_TOLD: usize = 600;

/// A sample of a block that lives.
#[derive(Clone, Copy, Debug)]
struct Held {
    site: u32,
    bytes: i64,
}

/// A stack in a scope.
#[derive(Debug)]
struct Site {
    stack: u32,
    scope: ScopeId,
    samples: u64,
    allocated: u64,
    /// Of `allocated`, in bytes squared.
    variance: f64,
    /// Thousandths of a block.
    blocks: u64,
    /// Bytes, and the samples that they come from.
    level: Level,
}

/// See the module's description.
#[derive(Debug, Default)]
pub struct Sites {
    sites: Vec<Site>,
    index: FxHashMap<(u32, ScopeId), u32>,
    blocks: FxHashMap<u64, Vec<Held>>,
    /// Blocks that are being resized, by token.
    moving: FxHashMap<u64, Vec<Held>>,
    history: History,
    counts: SampleCounts,
}

/// What the file tells, with stacks as numbers.
#[derive(Debug)]
pub struct Told {
    pub counts: SampleCounts,
    /// Stack, scope and numbers of some sites.
    pub sites: Vec<(u32, ScopeId, SiteSums)>,
    /// All others together.
    pub others: SiteSums,
    /// The places in its columns are those of `sites`.
    pub growth: growth::Told,
}

impl Sites {
    /// Takes in one event; the peaks so far are `highs`.
    pub fn apply(&mut self, event: &Event, highs: &[HighWater; 2]) {
        match event.kind {
            Kind::Sampled => self.sampled(event, highs),
            Kind::SampleFreed => {
                let gone = self.blocks.remove(&event.a);
                self.gone(gone, highs);
            }
            Kind::SampleTaken => {
                if let Some(held) = self.blocks.remove(&event.a) {
                    self.moving.insert(event.e, held);
                }
            }
            Kind::SamplePut => self.put(event, highs),
            _ => {}
        }
    }

    fn sampled(&mut self, event: &Event, highs: &[HighWater; 2]) {
        let (fresh, bytes) = (event.d & 2 == 0, event.b as i64);
        if fresh {
            // The free of a block that was here before was not told.
            let ghost = self.blocks.remove(&event.a);
            self.gone(ghost, highs);
        }
        let stack = event.c as u32;
        self.counts.taken += 1;
        self.counts.without_calls += u64::from(stack == NO_STACK);
        self.counts.cut += u64::from(stacks::is_cut(stack));
        let number = self.site(stack, event.scope);
        let site = &mut self.sites[number as usize];
        site.samples += 1;
        site.allocated += event.b;
        if fresh {
            site.blocks += (event.b as f64 / event.e as f64 * 1000.0).round() as u64;
        }
        // An unbiased estimate of the variance: with probability p a block of p w bytes stands for w.
        site.variance += event.b as f64 * event.b.saturating_sub(event.e) as f64;
        if event.d & 1 != 0 {
            site.level.change(Amount { usable: bytes, requested: 0, blocks: 1 }, highs);
            self.blocks.entry(event.a).or_default().push(Held { site: number, bytes });
        } else {
            self.counts.not_followed += 1;
        }
    }

    fn put(&mut self, event: &Event, highs: &[HighWater; 2]) {
        let Some(mut held) = self.moving.remove(&event.e) else { return };
        if event.a == 0 {
            self.counts.not_followed += held.len() as u64;
            return self.gone(Some(held), highs);
        }
        let (after, before) = (event.b, event.c);
        if after < before {
            for held in &mut held {
                let left = (held.bytes as f64 * after as f64 / before as f64).round() as i64;
                let change = Amount { usable: left - held.bytes, ..Amount::default() };
                self.sites[held.site as usize].level.change(change, highs);
                held.bytes = left;
            }
        }
        let ghost = self.blocks.insert(event.a, held);
        self.gone(ghost, highs);
    }

    /// These samples are of a block that is no more.
    fn gone(&mut self, samples: Option<Vec<Held>>, highs: &[HighWater; 2]) {
        for Held { site, bytes } in samples.into_iter().flatten() {
            let amount = Amount { usable: -bytes, requested: 0, blocks: -1 };
            self.sites[site as usize].level.change(amount, highs);
        }
    }

    fn site(&mut self, stack: u32, scope: ScopeId) -> u32 {
        if let Some(&site) = self.index.get(&(stack, scope)) {
            return site;
        }
        if stack != NO_STACK && self.sites.len() >= MOST_SITES {
            return self.site(NO_STACK, scope);
        }
        let number = self.sites.len() as u32;
        self.sites.push(Site {
            stack,
            scope,
            samples: 0,
            allocated: 0,
            variance: 0.0,
            blocks: 0,
            level: Level::default(),
        });
        self.index.insert((stack, scope), number);
        number
    }

    /// Step number `step` ended.
    pub fn step_ended(&mut self, step: u64) {
        self.history.step_ended(step, self.sites.iter().map(|site| site.level.live().usable));
    }

    /// The sites that reach the file; `high` is the peak.
    pub fn told(&self, high: &HighWater) -> Told {
        let all: Vec<SiteSums> = self.sites.iter().map(|site| site.sums(high)).collect();
        let mut growth = self.history.told();
        let mut chosen: Vec<usize> = growth.columns.iter().map(|(site, _)| *site).collect();
        let orders: [fn(&SiteSums) -> u64; 3] =
            [|sums| sums.peak_bytes, |sums| sums.exit_bytes, |sums| sums.allocated_bytes];
        for of in orders {
            let mut order: Vec<usize> = (0..all.len()).filter(|&site| of(&all[site]) > 0).collect();
            order.sort_by_key(|&site| (std::cmp::Reverse(of(&all[site])), site));
            chosen.extend(order.into_iter().take(MOST_TOLD));
        }
        chosen.sort_unstable();
        chosen.dedup();
        let place = |site: usize| chosen.binary_search(&site).ok();
        growth.columns.iter_mut().for_each(|(site, _)| *site = place(*site).unwrap_or(0));
        let rest = (0..all.len()).filter(|&site| place(site).is_none());
        let others = rest.map(|site| all[site]).collect();
        let (lost, lost_bytes) = stacks::lost();
        let told = |&site: &usize| (self.sites[site].stack, self.sites[site].scope, all[site]);
        Told {
            counts: SampleCounts { lost, lost_bytes, ..self.counts },
            sites: chosen.iter().map(told).collect(),
            others,
            growth,
        }
    }
}

impl Site {
    fn sums(&self, high: &HighWater) -> SiteSums {
        let (peak, live) = (self.level.at(Span::Session, high), self.level.live());
        SiteSums {
            samples: self.samples,
            allocated_bytes: self.allocated,
            error_bytes: self.variance.sqrt().round() as u64,
            allocated_blocks: (self.blocks + 500) / 1000,
            peak_bytes: peak.usable.max(0) as u64,
            exit_bytes: live.usable.max(0) as u64,
            exit_samples: live.blocks.max(0) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGHS: [HighWater; 2] = [HighWater { usable: 0, time_ns: 0, event: 0, epoch: 1 }; 2];

    fn sampled(address: u64, stands_for: u64, stack: u64, block: u64) -> Event {
        Event { kind: Kind::Sampled, scope: 3, a: address, b: stands_for, c: stack, d: 1, e: block, ..Event::default() }
    }

    fn event(kind: Kind, a: u64, b: u64, c: u64, e: u64) -> Event {
        Event { kind, a, b, c, e, ..Event::default() }
    }

    fn numbers(sites: &Sites) -> Vec<(u32, SiteSums)> {
        let told = sites.told(&HIGHS[0]);
        assert_eq!(told.others, SiteSums::default());
        told.sites.iter().map(|&(stack, _, sums)| (stack, sums)).collect()
    }

    fn after(events: &[Event]) -> Sites {
        let mut sites = Sites::default();
        events.iter().for_each(|event| sites.apply(event, &HIGHS));
        sites
    }

    #[test]
    fn a_free_takes_away_what_the_sample_stood_for() {
        let sites = after(&[
            sampled(0x10, 1_000, 7, 10),
            sampled(0x20, 1_000, 7, 40),
            event(Kind::SampleFreed, 0x10, 0, 0, 0),
            event(Kind::SampleFreed, 0x99, 0, 0, 0),
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
        let sites = after(&[
            sampled(0x10, 1_000, 7, 100),
            event(Kind::SampleTaken, 0x10, 0, 0, 1),
            event(Kind::SamplePut, 0x30, 200, 100, 1),
            Event { d: 3, ..sampled(0x30, 500, 8, 100) },
            event(Kind::SampleTaken, 0x30, 0, 0, 2),
            event(Kind::SamplePut, 0x30, 50, 200, 2),
        ]);
        let told = numbers(&sites);
        let live: Vec<(u32, u64, u64)> =
            told.iter().map(|(stack, sums)| (*stack, sums.exit_bytes, sums.allocated_blocks)).collect();
        assert_eq!(live, [(7, 250, 10), (8, 125, 0)]);
        let gone = after(&[
            sampled(0x10, 1_000, 7, 100),
            event(Kind::SampleTaken, 0x10, 0, 0, 1),
            event(Kind::SamplePut, 0, 200, 100, 1),
        ]);
        assert_eq!((numbers(&gone)[0].1.exit_bytes, gone.counts.not_followed), (0, 1));
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
        let high = HighWater { epoch: 2, ..HIGHS[0] };
        sites.apply(&event(Kind::SampleFreed, 0x10, 0, 0, 0), &[high; 2]);
        let sums = sites.told(&high).sites[0].2;
        assert_eq!((sums.peak_bytes, sums.exit_bytes), (1_000, 0));
    }

    /// 2,000 sites of which each holds one byte more than the one before: those that are told and the others are all.
    #[test]
    fn the_biggest_are_told_and_the_others_are_summed_up() {
        let events: Vec<Event> = (1..=2_000).map(|stack| sampled(stack * 16, 10_000 + stack, stack, 10)).collect();
        let told = after(&events).told(&HighWater { epoch: 9, ..HIGHS[0] });
        assert_eq!((told.sites.len(), told.sites[0].0), (600, 1_401));
        let sum: SiteSums = told.sites.iter().map(|site| site.2).chain([told.others]).collect();
        assert_eq!((sum.samples, sum.exit_bytes), (2_000, 10_000 * 2_000 + 2_000 * 2_001 / 2));
    }
}
