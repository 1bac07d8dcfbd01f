//! Keeps the samples of a timeline in bounded memory. Most owners have the same bytes from sample to sample, so each
//! sample is kept as its differences from the one before. In a long run samples come to be far apart, and more owners
//! differ: then fewer samples are kept.
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::packed::Packed;
use crate::record::{Record, Sample};
use crate::scope::Category;

/// The most samples that a timeline holds.
pub const MAX_SAMPLES: usize = 2048;
/// The most bytes that the differences take, while there are more than [`LEAST_SAMPLES`].
const MAX_BYTES: usize = 2 << 20;
/// So many samples are kept however much they take.
const LEAST_SAMPLES: usize = 256;

/// Scope number and category.
pub type Owner = (u32, Category);
type Probe = Cow<'static, str>;

/// A sample, as its differences from the one before. An owner that has nothing any more has 0 bytes.
#[derive(Clone, Debug)]
pub struct Change {
    pub time_ns: u64,
    pub live_bytes: u64,
    pub requested_bytes: u64,
    pub high_bytes: u64,
    /// Bytes by [`owner_number`].
    owners: Packed,
    /// By the probe's place in [`Samples::names`]: 0 for no reading, or else the reading + 1. (No probe reads 2^64 - 1.)
    probes: Packed,
}

/// The number of an owner in [`Change::owners`].
fn owner_number((scope, category): Owner) -> u64 {
    u64::from(scope) * Category::ALL.len() as u64 + category as u64
}

/// The owner with this number.
fn owner(number: u64) -> Owner {
    let categories = Category::ALL.len() as u64;
    ((number / categories) as u32, Category::ALL[(number % categories) as usize])
}

/// The row of a sample that has these bytes for the owner with this number.
fn row(number: u64, bytes: u64) -> (u32, Category, u64) {
    let (scope, category) = owner(number);
    (scope, category, bytes)
}

/// A reading as [`Change::probes`] have it.
fn packed_reading(reading: Option<u64>) -> u64 {
    reading.map_or(0, |reading| reading.saturating_add(1))
}

/// The reading that [`packed_reading`] has packed.
pub fn unpacked_reading(packed: u64) -> Option<u64> {
    packed.checked_sub(1)
}

/// The samples so far, in order.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    changes: Vec<Change>,
    /// How many bytes the differences of all changes take.
    bytes: usize,
    /// The bytes of each owner at the latest sample, as [`Change::owners`] have them.
    owners: BTreeMap<u64, u64>,
    /// The readings of the latest sample, as [`Change::probes`] have them.
    probes: BTreeMap<u64, u64>,
    /// The probes in the order in which they came.
    names: Vec<Probe>,
    /// Where each of them stands there.
    places: BTreeMap<Probe, u64>,
}

impl Samples {
    /// Takes in a sample that has all owners and probes.
    pub fn whole(&mut self, sample: Sample) {
        let gone = self.owners.keys().map(|&number| row(number, 0));
        let silent = self.names.iter().map(|name| (name.clone(), None));
        // Rows of one owner are summed, and of several readings of one probe the last counts.
        let rows = gone.chain(sample.rows).collect();
        let probes = silent.chain(sample.probes).collect();
        self.changed(Sample { rows, probes, ..sample });
    }

    /// Takes in a sample that has only the differences from the one before.
    pub fn changed(&mut self, sample: Sample) {
        let mut owners: BTreeMap<u64, u64> = BTreeMap::new();
        for (scope, category, bytes) in sample.rows {
            let sum = owners.entry(owner_number((scope, category))).or_default();
            // A damaged log can hold any numbers.
            *sum = sum.saturating_add(bytes);
        }
        let Sample { time_ns, live_bytes, requested_bytes, high_bytes, .. } = sample;
        let owners = update(&mut self.owners, owners);
        let probes =
            sample.probes.into_iter().map(|(name, reading)| (self.place(name), packed_reading(reading))).collect();
        let probes = update(&mut self.probes, probes);
        let change = Change { time_ns, live_bytes, requested_bytes, high_bytes, owners, probes };
        self.bytes += change.bytes();
        self.changes.push(change);
        let samples = self.changes.len();
        if samples > MAX_SAMPLES || samples > LEAST_SAMPLES && self.bytes > MAX_BYTES {
            self.changes = merge_pairs(std::mem::take(&mut self.changes));
            self.bytes = self.changes.iter().map(Change::bytes).sum();
        }
    }

    /// Where a probe stands in the list of names, at the end of which it is put when it is new.
    fn place(&mut self, name: Probe) -> u64 {
        *self.places.entry(name.clone()).or_insert_with(|| {
            self.names.push(name);
            self.names.len() as u64 - 1
        })
    }

    /// The probes' readings in a change, as [`unpacked_reading`] takes them.
    pub fn readings(&self, change: &Change) -> impl Iterator<Item = (&Probe, u64)> {
        change.probes.iter().map(|(place, reading)| (&self.names[place as usize], reading))
    }

    /// Records that make the same samples.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.changes.iter().map(|change| {
            let &Change { time_ns, live_bytes, requested_bytes, high_bytes, .. } = change;
            let rows = change.owners.iter().map(|(number, bytes)| row(number, bytes)).collect();
            let reading = |(name, reading): (&Probe, u64)| (name.clone(), unpacked_reading(reading));
            let probes = self.readings(change).map(reading).collect();
            Record::Changes(Sample { time_ns, live_bytes, requested_bytes, high_bytes, rows, probes })
        })
    }

    /// The samples, each as its differences from the one before.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }
}

impl Change {
    /// The bytes of the owners that differ.
    pub fn owners(&self) -> impl Iterator<Item = (Owner, u64)> {
        self.owners.iter().map(|(number, bytes)| (owner(number), bytes))
    }

    /// How many bytes its differences take.
    fn bytes(&self) -> usize {
        self.owners.bytes() + self.probes.bytes()
    }
}

/// Puts `news` into `known`, and returns those that made a difference.
fn update(known: &mut BTreeMap<u64, u64>, news: BTreeMap<u64, u64>) -> Packed {
    news.into_iter().filter(|&(number, value)| known.insert(number, value) != Some(value)).collect()
}

/// Halves the number of samples. Of each pair the one with more live bytes stays. The last sample stays as well, because
/// the next one is told as its differences from that.
fn merge_pairs(changes: Vec<Change>) -> Vec<Change> {
    let mut merged: Vec<Change> = Vec::with_capacity(changes.len() / 2 + 1);
    // The differences of the samples that were dropped since the last that stayed.
    let (mut owners, mut probes) = (Packed::default(), Packed::default());
    let mut rest = changes.into_iter();
    while let Some(mut first) = rest.next() {
        first.owners = std::mem::take(&mut owners).and(&first.owners);
        first.probes = std::mem::take(&mut probes).and(&first.probes);
        let Some(mut second) = rest.next() else {
            merged.push(first);
            break;
        };
        if rest.len() == 0 {
            merged.extend([first, second]);
            break;
        }
        let high_bytes = first.high_bytes.max(second.high_bytes);
        if second.live_bytes >= first.live_bytes {
            second.owners = first.owners.and(&second.owners);
            second.probes = first.probes.and(&second.probes);
            merged.push(Change { high_bytes, ..second });
        } else {
            (owners, probes) = (second.owners, second.probes);
            merged.push(Change { high_bytes, ..first });
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::series;
    use crate::scope::Scope;

    fn sample(time_ns: u64, live_bytes: u64, rows: Vec<(u32, Category, u64)>) -> Sample {
        let probes = vec![("rss".into(), Some(live_bytes * 2))];
        Sample { time_ns, live_bytes, requested_bytes: live_bytes, high_bytes: live_bytes + 1, rows, probes }
    }

    fn scopes(count: usize) -> Vec<Scope> {
        (0..count).map(|number| Scope { phase: format!("phase {number}"), ..Scope::default() }).collect()
    }

    #[test]
    fn merging_bounds_the_samples_and_keeps_the_peak() {
        let mut samples = Samples::default();
        let spike = 7_777_777;
        for time in 0..100_000 {
            let live = if time == 54_321 { spike } else { time % 100 };
            samples.whole(sample(time, live, vec![(0, Category::Other, live)]));
        }
        let series = series(&samples, &scopes(1), 1);
        assert!(series.time_ns.len() <= MAX_SAMPLES);
        assert_eq!(series.live_bytes.iter().max(), Some(&spike));
        assert_eq!(series.high_bytes.iter().max(), Some(&(spike + 1)));
        assert!(series.time_ns.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(series.by_category["other"] == series.live_bytes);
    }

    /// Five owners, each of which changes or disappears at a pace of its own. The samples are the same whether they are told
    /// whole, by differences, or by the records made of them.
    #[test]
    fn changes_tell_the_same_as_wholes() {
        let (mut whole, mut changed) = (Samples::default(), Samples::default());
        let mut before = [0; 5];
        for time in 1..20_000u64 {
            let now: [u64; 5] = std::array::from_fn(|owner| {
                let pace = [1, 2, 3, 50, 7_000][owner];
                (time / pace) * 7 % 11 * u64::from((time / pace) % 3 != 0)
            });
            let rows = |keep: &dyn Fn(usize) -> bool| {
                (0..5).filter(|&owner| keep(owner)).map(|owner| (owner as u32, Category::Other, now[owner])).collect()
            };
            let live = now.iter().sum();
            whole.whole(sample(time, live, rows(&|owner| now[owner] > 0)));
            changed.changed(sample(time, live, rows(&|owner| now[owner] != before[owner])));
            before = now;
        }
        let told = series(&whole, &scopes(5), 1);
        assert_eq!(told, series(&changed, &scopes(5), 1));
        for (index, &time) in told.time_ns.iter().enumerate() {
            let sum: u64 = told.by_phase.values().map(|column| column[index]).sum();
            assert_eq!(sum, told.live_bytes[index], "at {time}");
            assert_eq!(told.by_phase["phase 0"][index], time * 7 % 11 * u64::from(time % 3 != 0));
        }
        let mut again = Samples::default();
        for record in changed.records() {
            let Record::Changes(sample) = record else { panic!("{record:?}") };
            again.changed(sample);
        }
        assert_eq!(series(&again, &scopes(5), 1), told);
        // The next sample is told as differences from the last one, which must have stayed.
        assert_eq!((again.owners, again.probes), (changed.owners, changed.probes));
    }

    /// A long run of many layers, all of whose owners differ from one kept sample to the next. Its samples take what they may, and
    /// are fewer.
    #[test]
    fn differences_of_many_owners_are_bounded() {
        const OWNERS: u32 = 3_000;
        let mut samples = Samples::default();
        for time in 0..3_000u64 {
            let rows =
                (0..OWNERS).map(|owner| (owner, Category::Activation, (time % 7 + u64::from(owner)) << 12)).collect();
            samples.changed(sample(time, 1, rows));
            assert!(samples.bytes <= MAX_BYTES || samples.changes.len() <= LEAST_SAMPLES, "{}", samples.bytes);
        }
        // An owner takes 1 byte for its distance and 3 for its bytes: 175 samples would fit, and the least is kept.
        assert!((LEAST_SAMPLES / 2..=LEAST_SAMPLES).contains(&samples.changes.len()), "{}", samples.changes.len());
        assert_eq!(samples.bytes, samples.changes.iter().map(Change::bytes).sum::<usize>());
    }

    /// As a damaged log may have them. The sum stays at the largest number.
    #[test]
    fn rows_past_the_end_of_the_numbers_do_not_overflow() {
        let mut samples = Samples::default();
        let most = vec![(0, Category::Other, u64::MAX), (0, Category::Other, 2), (9, Category::Other, 3)];
        samples.whole(sample(1, 1, most));
        samples.changed(sample(2, 2, vec![(0, Category::Other, 5), (0, Category::Input, u64::MAX)]));
        let series = series(&samples, &scopes(1), 1);
        assert_eq!(series.by_category["other"], [u64::MAX, 8]);
        assert_eq!(series.by_phase["phase 0"], [u64::MAX, u64::MAX]);
    }
}
