//! What became of the blocks: where they were freed, how long they lived, and what stays live from step to step.
//!
//! A recorder follows some blocks one by one, by their addresses, and counts the others only as sums by scope. The flows
//! and the histograms describe the blocks known by address; [`Coverage`] says how many those are. The figures and the
//! growth describe all blocks.
use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::scope::Category;

/// What became of the blocks up to one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// The instant, since the session began.
    pub time_ns: u64,
    /// Which part of all blocks the flows and the histograms describe.
    pub coverage: Coverage,
    /// Peak, retained bytes and largest block of each phase, of each layer, and of each layer in each phase.
    pub figures: Vec<Figures>,
    /// The ownership matrix: how many bytes were allocated in A and freed in B.
    pub flows: Vec<Flow>,
    /// Sizes and lifetimes, by category.
    pub histograms: Vec<Histogram>,
    /// What was live at the end of each step, by owner.
    pub growth: Growth,
}

/// How many of all blocks are known by address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Blocks known by address.
    pub blocks: u64,
    /// Usable bytes allocated for them. A realloc that makes a block larger adds the difference.
    pub bytes: u64,
    /// The part of `bytes` that reallocs gave back. The bytes of the flows, and those of the histograms, sum to `bytes`
    /// less this.
    pub shrunk_bytes: u64,
    /// All blocks that were live when the session began or were allocated since.
    pub all_blocks: u64,
    /// Usable bytes allocated for those.
    pub all_bytes: u64,
}

/// The figures of one owner: a phase (any layer), a layer (any phase), or a layer in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// The phase. Absent: all phases.
    pub phase: Option<String>,
    /// The layer. Absent: all layers.
    pub layer: Option<String>,
    /// The most usable bytes that it owned at once.
    pub peak_bytes: u64,
    /// The requested bytes that it owned at that instant.
    pub peak_requested_bytes: u64,
    /// That instant, since the session began.
    pub peak_ns: u64,
    /// Live bytes of the whole process at that instant.
    pub process_bytes: u64,
    /// The same by phase; the values sum to `process_bytes`.
    pub process_by_phase: BTreeMap<String, u64>,
    /// The same by category, as far as the categories were known then; the values sum to `process_bytes`.
    pub process_by_category: BTreeMap<String, u64>,
    /// The usable bytes that it still owned at the instant that `retained_at` names.
    pub retained_bytes: u64,
    /// The instant of `retained_bytes`.
    pub retained_at: RetainedAt,
    /// Usable bytes of its largest block known by address; 0 when there was none.
    pub largest_block_bytes: u64,
}

impl Figures {
    /// The part of the peak that did not stay: the peak less what was retained.
    pub fn transient_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.retained_bytes)
    }
}

/// The instant at which an owner's bytes count as retained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetainedAt {
    /// When its phase was last left.
    PhaseEnd,
    /// When the last step ended.
    StepEnd,
    /// The instant of the analysis.
    Now,
}

/// Blocks of one category that were allocated in one place and freed in one place, or not freed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Where they were allocated. Absent: the places for which the recorder's table had no room.
    pub from: Option<Place>,
    /// What became of them.
    pub fate: Fate,
    /// The phase and layer that were active on the thread that freed them. Absent when they are live, or the place is not
    /// known.
    pub to: Option<Place>,
    /// What they were for, as known at the end of the run.
    pub category: Category,
    /// Usable bytes, at their last size.
    pub usable_bytes: u64,
    /// Requested bytes, at their last size.
    pub requested_bytes: u64,
    /// Their number.
    pub blocks: u64,
}

/// A layer in a phase. An empty string means that there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The phase.
    pub phase: String,
    /// The layer.
    pub layer: String,
}

/// What became of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Freed in the phase, layer and step in which it was allocated.
    Temporary,
    /// Freed in another place or in a later step.
    Freed,
    /// Still live.
    Held,
}

/// Sizes and lifetimes of the blocks of one category. The sizes count all blocks and the lifetimes those that were freed,
/// so the sizes' sums are the lifetimes' sums and `held` together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The category, as known at the end of the run.
    pub category: Category,
    /// Blocks by their usable bytes, at their last size.
    pub sizes: Vec<Bucket>,
    /// Freed blocks by the nanoseconds from allocation to free.
    pub lifetimes: Vec<Bucket>,
    /// Blocks that are not freed yet.
    pub held: Sums,
}

/// Blocks whose size or lifetime is at least `from` and less than twice that; in the bucket from 0, less than 2. Buckets
/// without blocks are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The smallest value: 0 or a power of two.
    pub from: u64,
    /// The blocks in it.
    #[serde(flatten)]
    pub sums: Sums,
}

/// How many blocks there are, and their bytes. Sums of them stay at the largest number instead of overflowing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Their usable bytes.
    pub usable_bytes: u64,
    /// Their requested bytes.
    pub requested_bytes: u64,
    /// Their number.
    pub blocks: u64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Sums) {
        self.usable_bytes = self.usable_bytes.saturating_add(other.usable_bytes);
        self.requested_bytes = self.requested_bytes.saturating_add(other.requested_bytes);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }
}

impl Sum for Sums {
    fn sum<I: Iterator<Item = Sums>>(all: I) -> Sums {
        all.fold(Sums::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

impl FromIterator<Sums> for Sums {
    fn from_iter<I: IntoIterator<Item = Sums>>(all: I) -> Sums {
        all.into_iter().sum()
    }
}

impl Flow {
    /// Its bytes and blocks.
    pub fn sums(&self) -> Sums {
        Sums { usable_bytes: self.usable_bytes, requested_bytes: self.requested_bytes, blocks: self.blocks }
    }
}

/// What was live at the end of each step, by owner. Each column has one entry per step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Which steps: all, or when there were many, evenly spaced ones and the latest.
    pub steps: Vec<u64>,
    /// All live bytes.
    pub live_bytes: Vec<u64>,
    /// The owners whose bytes changed the most from step to step.
    pub owners: Vec<GrowthOwner>,
    /// All other owners together. With those of `owners` they sum to `live_bytes`.
    pub other_bytes: Vec<u64>,
}

/// The live bytes of one owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowthOwner {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scope: u32,
    /// What the blocks are for.
    pub category: Category,
    /// Its live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
}
