//! What a book reads at one instant. The readings take some tenths of a millisecond, and are taken again while the process changes.
use std::collections::BTreeMap;

use alloc_replay::NewBlocks;

use super::allocator;
use super::claims::Claims;
use super::cost::{Cost, Others};
use super::counted::Counted;
use super::listed::Listed;
use super::smaps::Range;
use super::status::{Sizes, Statm};
use super::survey::Survey;
use super::touched::{Found, Touched};
use crate::sys;

/// The readings for a book are taken at most so often.
const MOST_READINGS: u32 = 8;
/// Readings are of one instant when the process's anonymous pages, and its live bytes, change by at most 1 part in this from the first to
/// the last.
const SAME_INSTANT: u64 = 512;

/// What a book reads at one instant.
#[derive(Clone, Debug)]
pub struct BookReadings {
    /// Nanoseconds since the session began.
    pub time_ns: u64,
    /// The ledger's sums.
    pub counted: Counted,
    /// The resident set, in bytes.
    pub rss: u64,
    /// The part of it that is pages of files and shared memory.
    pub files: u64,
    /// The allocator's claims, or why there are none.
    pub claims: Result<Claims, String>,
    /// Resident bytes of the allocator's mappings, or why they are not known.
    pub touched: Result<u64, String>,
    /// The tracker's resident bytes by name.
    pub tracker: BTreeMap<String, u64>,
    /// Which instrument counted its pages.
    pub pages_from: &'static str,
}

/// What the readings are taken with, opened once.
#[derive(Debug)]
pub struct Instruments {
    statm: Statm,
    cost: Cost,
    listed: Option<Listed>,
    /// Where the program has allocated blocks since the count before.
    new: NewBlocks,
    touched: Touched,
    /// Pages of zeroes among the allocator's at the last whole count, in bytes, where the kernel tells them; else the survey does.
    zeroes: Option<u64>,
}

/// The resident bytes of the allocator's mappings.
#[derive(Clone, Copy, Debug)]
pub struct AllocatorPages {
    /// How many they are.
    pub bytes: u64,
    /// The other anonymous pages of the process.
    pub others: Others,
    /// Whether all pages were looked at.
    took_long: bool,
}

impl AllocatorPages {
    /// Whether the process's anonymous pages are about as many as they were when these were counted. An allocator that gives back a large
    /// block is at it for a millisecond.
    fn is_of_the_instant_of(&self, sizes: Sizes) -> bool {
        !self.took_long && sizes.anonymous().abs_diff(self.others.of) <= sizes.anonymous() / SAME_INSTANT
    }
}

impl Instruments {
    /// Opens the files.
    pub fn open() -> Self {
        let (statm, cost, touched) = (Statm::open(), Cost::open(), Touched::default());
        Instruments { statm, cost, listed: None, new: NewBlocks::default(), touched, zeroes: None }
    }

    /// Where the program has allocated blocks since the count before: the next one looks there first.
    pub fn new_blocks(&mut self) -> &mut NewBlocks {
        &mut self.new
    }

    /// Counts the resident bytes of the allocator's mappings now; `whole` says whether all pages are looked at in any case.
    ///
    /// # Errors
    /// A sentence, when the mappings are not known.
    pub fn touched(&mut self, survey: &Survey, whole: bool) -> Result<AllocatorPages, String> {
        let sizes = self.statm.read().ok_or("unavailable: /proc/self/statm cannot be read")?;
        let anonymous = sizes.anonymous();
        let Instruments { cost, listed, new, touched, zeroes, .. } = self;
        let is_useful = |listed: &mut Listed| listed.is_of(survey) && (!whole || listed.is_complete(sizes.mapped));
        let may_stay = listed.as_mut().is_some_and(is_useful);
        let listed = match listed {
            Some(listed) if may_stay => listed,
            _ => listed.insert(Listed::now(survey, sizes.mapped)?),
        };
        let new: Vec<Range> = new.take_places().map(|place| place.start as usize..place.end as usize).collect();
        if allocator::keeps_mappings() {
            listed.add(&new);
        }
        touched.told(new.into_iter());
        let mut found = if whole { Found::Wrong } else { touched.quick(&listed.ranges, anonymous) };
        if matches!(found, Found::Elsewhere(_)) && !listed.is_complete(sizes.mapped) {
            *listed = Listed::now(survey, sizes.mapped)?;
            found = touched.quick(&listed.ranges, anonymous);
        }
        if !whole && !matches!(found, Found::Right(_)) {
            found = touched.wide(&listed.ranges, anonymous);
        }
        let (bytes, took_long) = match found {
            Found::Right(bytes) => (bytes, false),
            Found::Elsewhere(bytes) => {
                touched.is_right(bytes, anonymous);
                (bytes, false)
            }
            Found::Wrong => {
                *zeroes = cost.pagemap().zeroes(&listed.ranges);
                (touched.whole(&listed.ranges, anonymous), true)
            }
        };
        let bytes = bytes.saturating_sub(zeroes.unwrap_or(survey.zeroes));
        let others = Others { bytes: anonymous.saturating_sub(bytes), of: anonymous };
        Ok(AllocatorPages { bytes, others, took_long })
    }

    /// The tracker's resident bytes by name at the clock's time `now_ns`; `heap` are its live bytes on the heap, and
    /// `others` the anonymous pages that are not the allocator's, where they are known.
    pub fn tracker(&mut self, heap: u64, others: Option<Others>, now_ns: u64) -> BTreeMap<String, u64> {
        self.cost.overhead(heap, others, now_ns)
    }

    /// What tells whether the process has changed: when it is the same before readings and after them, they are of one instant.
    pub fn state(&self, ledger: impl Fn() -> Counted) -> Option<(Counted, Sizes)> {
        Some((Counted { tracker: 0, blocks: 0, ..ledger() }, self.statm.read()?))
    }
}

impl BookReadings {
    /// Reads everything now, and again while that takes long or the process changes much meanwhile, because all readings should be of
    /// one instant; `survey` knows the allocator's mappings, and `ledger` reads the ledger's sums with the events that are still in the
    /// ring. `None` when the resident set cannot be read.
    pub fn take(
        time_ns: u64,
        survey: &Survey,
        instruments: &mut Instruments,
        ledger: impl Fn() -> Counted,
    ) -> Option<Self> {
        let mut readings_left = MOST_READINGS;
        let (counted, claims, touched, sizes) = loop {
            let (counted, claims) = of_one_instant(&ledger, allocator::claims);
            let touched = instruments.touched(survey, false);
            let sizes = instruments.statm.read()?;
            readings_left -= 1;
            if readings_left == 0 || touched.as_ref().map_or(true, |count| count.is_of_the_instant_of(sizes)) {
                break (counted, claims, touched, sizes);
            }
        };
        let Sizes { rss, files, .. } = sizes;
        let others = touched.as_ref().ok().map(|count| count.others);
        let tracker = instruments.tracker(counted.tracker, others, sys::now_ns());
        let touched = touched.map(|count| count.bytes);
        let pages_from = instruments.cost.source();
        Some(BookReadings { time_ns, counted, rss, files, claims, touched, tracker, pages_from })
    }

    /// Readings when so many bytes were live, for tests.
    #[cfg(test)]
    pub fn with_live(live: u64) -> Self {
        let (counted, tracker) = (Counted { live, ..Counted::default() }, BTreeMap::new());
        let (claims, touched) = (Err(String::new()), Err(String::new()));
        BookReadings { time_ns: 0, counted, rss: live, files: 0, claims, touched, tracker, pages_from: "a test" }
    }

    /// The sum of what the allocator claims; `None` where it has no statistics.
    pub fn claimed(&self) -> Option<u64> {
        self.claims.as_ref().ok().map(|claims| claims.claimed)
    }

    /// Resident bytes of the allocator's mappings; `None` when they are not known.
    pub fn touched(&self) -> Option<u64> {
        self.touched.as_ref().ok().copied()
    }

    /// The tracker's resident bytes.
    pub fn tracker(&self) -> u64 {
        self.tracker.values().sum()
    }
}

/// The ledger's sums, and what `claims` reads of the allocator's beside them: again, while a large block is allocated or freed meanwhile. Such
/// a block would be in one of them and not in the other, and their difference would be in the book.
fn of_one_instant<T>(ledger: impl Fn() -> Counted, claims: impl Fn(&Counted) -> T) -> (Counted, T) {
    let mut counted = ledger();
    for _ in 1..MOST_READINGS {
        let (read, after) = (claims(&counted), ledger());
        if after.live.abs_diff(counted.live) <= counted.live / SAME_INSTANT {
            return (counted, read);
        }
        counted = after;
    }
    (counted, claims(&counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two blocks of 100 bytes come, each while the allocator is asked what it claims. The third time nothing happens meanwhile.
    #[test]
    fn the_ledger_and_the_allocator_are_read_again_while_a_large_block_comes_between() {
        use std::cell::Cell;
        let (live, asked) = (Cell::new(5_120), Cell::new(0));
        let ledger = || Counted { live: live.get(), ..Counted::default() };
        let read = |coming: [u64; 8]| {
            live.set(5_120);
            asked.set(0);
            let claims = |counted: &Counted| {
                let coming = coming[asked.replace(asked.get() + 1)];
                live.set(live.get() + coming);
                (counted.live, live.get())
            };
            let (counted, claims) = of_one_instant(ledger, claims);
            (counted.live, claims, asked.get())
        };
        assert_eq!(read([100, 100, 0, 0, 0, 0, 0, 0]), (5_320, (5_320, 5_320), 3));
        assert_eq!(read([10, 0, 0, 0, 0, 0, 0, 0]), (5_120, (5_120, 5_130), 1), "10 are 5,120 / 512");
        // It is asked eight times, and the latest answer counts.
        assert_eq!(read([100; 8]), (5_820, (5_820, 5_920), 8));
    }
}
