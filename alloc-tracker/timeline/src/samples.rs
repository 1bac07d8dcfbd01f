//! Keeps the samples of a timeline in bounded memory. Most owners have the same bytes from sample to sample, so each
//! sample is kept as its differences from the one before.
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::file::Series;
use crate::record::{Record, Sample};
use crate::scope::{Category, Dimension, Scope};

/// The most samples that a timeline holds.
pub const MAX_SAMPLES: usize = 2048;

/// Scope number and category.
type Owner = (u32, Category);
type Probe = Cow<'static, str>;

/// A sample, as its differences from the one before. An owner that has nothing any more has 0 bytes, and a probe that
/// gives no reading any more has `None`.
#[derive(Clone, Debug)]
struct Change {
    time_ns: u64,
    live_bytes: u64,
    requested_bytes: u64,
    high_bytes: u64,
    owners: Vec<(Owner, u64)>,
    probes: Vec<(Probe, Option<u64>)>,
}

/// The samples so far, in order.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    changes: Vec<Change>,
    /// The bytes of each owner at the latest sample.
    owners: BTreeMap<Owner, u64>,
    /// The readings of the latest sample.
    probes: BTreeMap<Probe, Option<u64>>,
}

impl Samples {
    /// Takes in a sample that has all owners and probes.
    pub fn whole(&mut self, sample: Sample) {
        let gone = self.owners.keys().map(|&(scope, category)| (scope, category, 0));
        let silent = self.probes.keys().map(|name| (name.clone(), None));
        // Rows of one owner are summed, and of several readings of one probe the last counts.
        let rows = gone.chain(sample.rows).collect();
        let probes = silent.chain(sample.probes).collect();
        self.changed(Sample { rows, probes, ..sample });
    }

    /// Takes in a sample that has only the differences from the one before.
    pub fn changed(&mut self, sample: Sample) {
        let mut owners: BTreeMap<Owner, u64> = BTreeMap::new();
        for (scope, category, bytes) in sample.rows {
            let sum = owners.entry((scope, category)).or_default();
            // A damaged log can hold any numbers.
            *sum = sum.saturating_add(bytes);
        }
        let Sample { time_ns, live_bytes, requested_bytes, high_bytes, .. } = sample;
        let owners = update(&mut self.owners, owners);
        let probes = update(&mut self.probes, sample.probes.into_iter().collect());
        self.changes.push(Change { time_ns, live_bytes, requested_bytes, high_bytes, owners, probes });
        if self.changes.len() > MAX_SAMPLES {
            self.changes = merge_pairs(std::mem::take(&mut self.changes));
        }
    }

    /// Records that make the same samples.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        self.changes.iter().map(|change| {
            let &Change { time_ns, live_bytes, requested_bytes, high_bytes, .. } = change;
            let rows = change.owners.iter().map(|&((scope, category), bytes)| (scope, category, bytes)).collect();
            let probes = change.probes.clone();
            Record::Changes(Sample { time_ns, live_bytes, requested_bytes, high_bytes, rows, probes })
        })
    }

    /// The samples in columns.
    pub fn series(&self, scopes: &[Scope], interval_ns: u64) -> Series {
        let nobody = Scope::default();
        let mut series = Series { interval_ns, ..Series::default() };
        let mut owners: BTreeMap<Owner, u64> = BTreeMap::new();
        let mut names: [BTreeMap<&str, Column<u64, u128>>; 4] = Default::default();
        let mut probes: BTreeMap<&str, Column<Option<u64>, Option<u64>>> = BTreeMap::new();
        for (index, change) in self.changes.iter().enumerate() {
            series.time_ns.push(change.time_ns);
            series.live_bytes.push(change.live_bytes);
            series.requested_bytes.push(change.requested_bytes);
            series.high_bytes.push(change.high_bytes);
            for &(owner, bytes) in &change.owners {
                let before = owners.insert(owner, bytes).unwrap_or_default();
                if bytes == before {
                    continue;
                }
                let scope = scopes.get(owner.0 as usize).unwrap_or(&nobody);
                for (dimension, columns) in Dimension::ALL.into_iter().zip(&mut names) {
                    let column = columns.entry(dimension.of(scope, owner.1)).or_insert_with(|| Column::new(index));
                    column.now = column.now + u128::from(bytes) - u128::from(before);
                }
            }
            let most = u128::from(u64::MAX);
            names.iter_mut().flat_map(BTreeMap::values_mut).for_each(|column| {
                column.values.push(column.now.min(most) as u64);
            });
            for (name, value) in &change.probes {
                probes.entry(name).or_insert_with(|| Column::new(index)).now = *value;
            }
            probes.values_mut().for_each(|column| column.values.push(column.now));
        }
        for (dimension, columns) in Dimension::ALL.into_iter().zip(names) {
            *series.by_mut(dimension) =
                columns.into_iter().map(|(name, column)| (name.to_owned(), column.values)).collect();
        }
        series.probes = probes.into_iter().map(|(name, column)| (name.to_owned(), column.values)).collect();
        series
    }
}

/// A column that is being filled.
struct Column<V, N> {
    values: Vec<V>,
    /// Its next value. For columns of owners it is a sum, in a type that is wide enough for any sum of `u64`.
    now: N,
}

impl<V: Clone + Default, N: Default> Column<V, N> {
    /// A column with nothing in its first `entries`.
    fn new(entries: usize) -> Self {
        Column { values: vec![V::default(); entries], now: N::default() }
    }
}

/// Puts `news` into `known`, and returns those that made a difference, in order.
fn update<K: Ord + Clone, V: Copy + PartialEq>(known: &mut BTreeMap<K, V>, news: BTreeMap<K, V>) -> Vec<(K, V)> {
    news.into_iter().filter(|(key, value)| known.insert(key.clone(), *value) != Some(*value)).collect()
}

/// Halves the number of samples. Of each pair the one with more live bytes stays. The last sample stays as well, because
/// the next one is told as its differences from that.
fn merge_pairs(changes: Vec<Change>) -> Vec<Change> {
    let mut merged: Vec<Change> = Vec::with_capacity(changes.len() / 2 + 1);
    // The differences of the samples that were dropped since the last that stayed.
    let (mut owners, mut probes) = (Vec::new(), Vec::new());
    let mut rest = changes.into_iter();
    while let Some(mut first) = rest.next() {
        first.owners = combined(std::mem::take(&mut owners), first.owners);
        first.probes = combined(std::mem::take(&mut probes), first.probes);
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
            second.owners = combined(first.owners, second.owners);
            second.probes = combined(first.probes, second.probes);
            merged.push(Change { high_bytes, ..second });
        } else {
            (owners, probes) = (second.owners, second.probes);
            merged.push(Change { high_bytes, ..first });
        }
    }
    merged
}

/// The differences that two lists of them make, one after the other. Both lists are in order, and so is the result.
fn combined<K: Ord, V>(earlier: Vec<(K, V)>, later: Vec<(K, V)>) -> Vec<(K, V)> {
    if earlier.is_empty() {
        return later;
    }
    let mut both = Vec::with_capacity(earlier.len() + later.len());
    let (mut earlier, mut later) = (earlier.into_iter().peekable(), later.into_iter().peekable());
    loop {
        let order = match (earlier.peek(), later.peek()) {
            (Some((a, _)), Some((b, _))) => a.cmp(b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => break,
        };
        if order == Ordering::Equal {
            earlier.next();
        }
        both.extend(if order == Ordering::Less { earlier.next() } else { later.next() });
    }
    both.shrink_to_fit();
    both
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let series = samples.series(&scopes(1), 1);
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
        let series = whole.series(&scopes(5), 1);
        assert_eq!(series, changed.series(&scopes(5), 1));
        for (index, &time) in series.time_ns.iter().enumerate() {
            let sum: u64 = series.by_phase.values().map(|column| column[index]).sum();
            assert_eq!(sum, series.live_bytes[index], "at {time}");
            assert_eq!(series.by_phase["phase 0"][index], time * 7 % 11 * u64::from(time % 3 != 0));
        }
        let mut again = Samples::default();
        for record in changed.records() {
            let Record::Changes(sample) = record else { panic!("{record:?}") };
            again.changed(sample);
        }
        assert_eq!(again.series(&scopes(5), 1), series);
        // The next sample is told as differences from the last one, which must have stayed.
        assert_eq!((again.owners, again.probes), (changed.owners, changed.probes));
    }

    /// As a damaged log may have them. The sum stays at the largest number.
    #[test]
    fn rows_past_the_end_of_the_numbers_do_not_overflow() {
        let mut samples = Samples::default();
        let most = vec![(0, Category::Other, u64::MAX), (0, Category::Other, 2), (9, Category::Other, 3)];
        samples.whole(sample(1, 1, most));
        samples.changed(sample(2, 2, vec![(0, Category::Other, 5), (0, Category::Input, u64::MAX)]));
        let series = samples.series(&scopes(1), 1);
        assert_eq!(series.by_category["other"], [u64::MAX, 8]);
        assert_eq!(series.by_phase["phase 0"], [u64::MAX, u64::MAX]);
    }
}
