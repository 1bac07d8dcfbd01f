//! The samples of a timeline in columns. A column is kept as its changes, and a file is written with the columns of one dimension at
//! a time: of a long run with many layers, all columns with all of their entries would take ten times as much as its samples.
use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::file::Series;
use crate::packed::{Packed, Packing};
use crate::samples::{Change, Owner, Samples, unpacked_reading};
use crate::scope::{Dimension, Scope};

/// Columns by name, each as its changes: from which sample on which value. Before the first it is 0.
type Columns<'a> = BTreeMap<&'a str, Packed>;

/// The scope of a number that no scope has.
static NOBODY: Scope = Scope { phase: String::new(), layer: String::new(), op: String::new() };

/// The samples in columns.
pub fn series(samples: &Samples, scopes: &[Scope], interval_ns: u64) -> Series {
    let count = samples.changes().len();
    let column = |of: fn(&Change) -> u64| samples.changes().iter().map(of).collect();
    let mut series = Series {
        interval_ns,
        time_ns: column(|change| change.time_ns),
        live_bytes: column(|change| change.live_bytes),
        requested_bytes: column(|change| change.requested_bytes),
        high_bytes: column(|change| change.high_bytes),
        ..Series::default()
    };
    for dimension in Dimension::ALL {
        let columns = by(dimension, samples, scopes).into_iter();
        *series.by_mut(dimension) =
            columns.map(|(name, column)| (name.to_owned(), entries(&column, count).collect())).collect();
    }
    let readings = |column: &Packed| entries(column, count).map(unpacked_reading).collect();
    series.probes = probes(samples).into_iter().map(|(name, column)| (name.to_owned(), readings(&column))).collect();
    series
}

/// When a probe was read, and what it said; not the samples without a reading.
pub fn readings_of(probe: &str, samples: &Samples) -> Vec<(u64, u64)> {
    let mut columns = probes(samples);
    let column = columns.remove(probe).unwrap_or_default();
    let readings = samples.changes().iter().zip(entries(&column, samples.changes().len()));
    readings.filter_map(|(change, reading)| Some((change.time_ns, unpacked_reading(reading)?))).collect()
}

/// The live bytes by the names of one dimension.
fn by<'a>(dimension: Dimension, samples: &'a Samples, scopes: &'a [Scope]) -> Columns<'a> {
    let mut filling = Filling::default();
    // What each owner has, and the place of its column.
    let mut owners: BTreeMap<Owner, (u64, usize)> = BTreeMap::new();
    for (index, change) in samples.changes().iter().enumerate() {
        for (owner, bytes) in change.owners() {
            let before = owners.get(&owner).map_or(0, |(held, _)| *held);
            if bytes == before {
                continue;
            }
            let scope = || scopes.get(owner.0 as usize).unwrap_or(&NOBODY);
            let new = || (0, filling.place(dimension.of(scope(), owner.1)));
            let (held, place) = owners.entry(owner).or_insert_with(new);
            *held = bytes;
            let now = filling.columns[*place].1.now + u128::from(bytes) - u128::from(before);
            filling.set(*place, now);
        }
        filling.sample_ends(index);
    }
    filling.columns()
}

/// What the probes read, as the samples have it packed.
fn probes(samples: &Samples) -> Columns<'_> {
    let mut filling = Filling::default();
    for (index, change) in samples.changes().iter().enumerate() {
        for (name, reading) in samples.readings(change) {
            let place = filling.place(name);
            filling.set(place, reading.into());
        }
        filling.sample_ends(index);
    }
    filling.columns()
}

/// The entries of a column, one for each of so many samples.
fn entries(column: &Packed, samples: usize) -> impl Iterator<Item = u64> {
    let (mut changes, mut now) = (column.iter().peekable(), 0);
    (0..samples as u64).map(move |index| {
        if let Some((_, value)) = changes.next_if(|(from, _)| *from == index) {
            now = value;
        }
        now
    })
}

/// Columns that are being filled.
#[derive(Default)]
struct Filling<'a> {
    columns: Vec<(&'a str, Column)>,
    places: BTreeMap<&'a str, usize>,
    /// The columns whose next value may differ from the latest.
    touched: Vec<usize>,
}

#[derive(Default)]
struct Column {
    changes: Packing,
    /// Its latest value.
    latest: u64,
    /// Its next value, in a type that is wide enough for any sum of `u64`.
    now: u128,
    is_touched: bool,
}

impl<'a> Filling<'a> {
    /// The place of the column called `name`, which is made when there is none.
    fn place(&mut self, name: &'a str) -> usize {
        *self.places.entry(name).or_insert_with(|| {
            self.columns.push((name, Column::default()));
            self.columns.len() - 1
        })
    }

    /// Makes `now` the next value of a column.
    fn set(&mut self, place: usize, now: u128) {
        let column = &mut self.columns[place].1;
        column.now = now;
        if !std::mem::replace(&mut column.is_touched, true) {
            self.touched.push(place);
        }
    }

    /// The next values are those of sample number `index`.
    fn sample_ends(&mut self, index: usize) {
        for place in self.touched.drain(..) {
            let column = &mut self.columns[place].1;
            column.is_touched = false;
            let now = column.now.min(u64::MAX.into()) as u64;
            if now != column.latest {
                column.latest = now;
                column.changes.push(index as u64, now);
            }
        }
    }

    fn columns(self) -> Columns<'a> {
        self.columns.into_iter().map(|(name, column)| (name, column.changes.packed())).collect()
    }
}

/// The samples, which are written as a [`Series`].
pub struct WrittenSeries<'a> {
    pub samples: &'a Samples,
    pub scopes: &'a [Scope],
    pub interval_ns: u64,
}

impl Serialize for WrittenSeries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Series", 10)?;
        fields.serialize_field("interval_ns", &self.interval_ns)?;
        fields.serialize_field("time_ns", &Numbers(self, |change| change.time_ns))?;
        fields.serialize_field("live_bytes", &Numbers(self, |change| change.live_bytes))?;
        fields.serialize_field("requested_bytes", &Numbers(self, |change| change.requested_bytes))?;
        fields.serialize_field("high_bytes", &Numbers(self, |change| change.high_bytes))?;
        fields.serialize_field("by_phase", &Names(self, Dimension::Phase))?;
        fields.serialize_field("by_layer", &Names(self, Dimension::Layer))?;
        fields.serialize_field("by_op", &Names(self, Dimension::Op))?;
        fields.serialize_field("by_category", &Names(self, Dimension::Category))?;
        fields.serialize_field("probes", &Probes(self))?;
        fields.end()
    }
}

/// One number of each sample.
struct Numbers<'a>(&'a WrittenSeries<'a>, fn(&Change) -> u64);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.samples.changes().iter().map(self.1))
    }
}

/// The columns of one dimension.
struct Names<'a>(&'a WrittenSeries<'a>, Dimension);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let samples = self.0.samples;
        let columns = by(self.1, samples, self.0.scopes);
        serializer.collect_map(columns.iter().map(|(name, column)| (name, Entries(column, samples, |value| value))))
    }
}

/// The columns of the probes.
struct Probes<'a>(&'a WrittenSeries<'a>);

impl Serialize for Probes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let samples = self.0.samples;
        let columns = probes(samples);
        serializer.collect_map(columns.iter().map(|(name, column)| (name, Entries(column, samples, unpacked_reading))))
    }
}

/// The entries of a column, of which each is made from its packed value.
struct Entries<'a, E>(&'a Packed, &'a Samples, fn(u64) -> E);

impl<E: Serialize> Serialize for Entries<'_, E> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(entries(self.0, self.1.changes().len()).map(self.2))
    }
}
