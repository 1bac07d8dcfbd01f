//! What became of the blocks: who let go of whose bytes, how long they lived, what stays from step to step.
//!
//! A recorder knows some blocks one by one, by their addresses, and the others only as sums by scope. The flows and the
//! histograms are about the former; [`Coverage`] says how many those are. The figures and the growth are about all.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scope::Category;

/// What became of the blocks up to one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analysis {
    /// As of when, since the session began.
    pub time_ns: u64,
    /// Which part of all blocks the flows and the histograms are about.
    pub coverage: Coverage,
    /// Peak, what stayed, and largest block of each phase, of each layer, and of each layer in each phase.
    pub figures: Vec<Figures>,
    /// The ownership matrix: which bytes were allocated in A and freed in B.
    pub flows: Vec<Flow>,
    /// Sizes and lifetimes, one for each category.
    pub histograms: Vec<Histogram>,
    /// What was live at the end of each step, by owner.
    pub growth: Growth,
}

/// Which part of all blocks is known by address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Blocks known by address.
    pub blocks: u64,
    /// Usable bytes allocated for them, growth by realloc included.
    pub bytes: u64,
    /// The part of `bytes` that a realloc gave back; the flows' and the histograms' bytes sum to `bytes` less this.
    pub shrunk_bytes: u64,
    /// All blocks that were live when the session began or were allocated since.
    pub all_blocks: u64,
    /// Usable bytes allocated for them.
    pub all_bytes: u64,
}

/// The figures of one owner: a phase (any layer), a layer (any phase), or a layer in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// The phase; absent: whatever the phase.
    pub phase: Option<String>,
    /// The layer; absent: whatever the layer.
    pub layer: Option<String>,
    /// The most usable bytes that it ever owned.
    pub peak_bytes: u64,
    /// The requested bytes that it owned then.
    pub peak_requested_bytes: u64,
    /// When.
    pub peak_ns: u64,
    /// What the whole process held then.
    pub process_bytes: u64,
    /// The same by phase; sums to `process_bytes`.
    pub process_by_phase: BTreeMap<String, u64>,
    /// The same by category, as far as known at that instant; sums to `process_bytes`.
    pub process_by_category: BTreeMap<String, u64>,
    /// What it owned when it was over for the last time; see `retained_at`.
    pub retained_bytes: u64,
    /// When it was over.
    pub retained_at: Over,
    /// Usable bytes of its largest block known by address; 0 when there was none.
    pub largest_block_bytes: u64,
}

impl Figures {
    /// What came and went: the peak less what stayed.
    pub fn transient_bytes(&self) -> u64 {
        self.peak_bytes.saturating_sub(self.retained_bytes)
    }
}

/// When an owner was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// When its phase was last left.
    PhaseEnd,
    /// When the last step ended.
    StepEnd,
    /// Never: at the instant of the analysis.
    Now,
}

/// Blocks of one category that were allocated in one place and went the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Where they were allocated; absent for the rest of a table that had no more room.
    pub from: Option<Place>,
    /// What became of them.
    pub fate: Fate,
    /// Which phase and layer were active on the thread that freed them; absent when held or not known.
    pub to: Option<Place>,
    /// What they were for, as known in the end.
    pub category: Category,
    /// Usable bytes, at their last size.
    pub usable_bytes: u64,
    /// Requested bytes, at their last size.
    pub requested_bytes: u64,
    /// Their number.
    pub blocks: u64,
}

/// A layer in a phase; empty strings where there was none.
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
    /// Freed while the phase and layer that made it were active, in the step that made it.
    Temporary,
    /// Freed elsewhere, or in a later step.
    Freed,
    /// Still live.
    Held,
}

/// Sizes and lifetimes of the blocks of one category. Sizes count all blocks, lifetimes those that were freed: the
/// sizes' sums are the lifetimes' plus `held`'s.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// The category, as known in the end.
    pub category: Category,
    /// By usable bytes, at the last size.
    pub sizes: Vec<Bucket>,
    /// By nanoseconds from allocation to free.
    pub lifetimes: Vec<Bucket>,
    /// Those not freed yet.
    pub held: Sums,
}

/// Blocks whose size or lifetime is at least `from` and less than twice that; from 0: less than 2. Buckets without
/// blocks are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The smallest value: 0 or a power of two.
    pub from: u64,
    /// What is in it.
    #[serde(flatten)]
    pub sums: Sums,
}

/// A number of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Their usable bytes.
    pub usable_bytes: u64,
    /// Their requested bytes.
    pub requested_bytes: u64,
    /// Their number.
    pub blocks: u64,
}

impl Sums {
    /// Adds `other`.
    pub fn add(&mut self, other: Sums) {
        self.usable_bytes = self.usable_bytes.saturating_add(other.usable_bytes);
        self.requested_bytes = self.requested_bytes.saturating_add(other.requested_bytes);
        self.blocks = self.blocks.saturating_add(other.blocks);
    }
}

impl FromIterator<Sums> for Sums {
    fn from_iter<I: IntoIterator<Item = Sums>>(all: I) -> Sums {
        all.into_iter().fold(Sums::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

impl Flow {
    /// Its numbers.
    pub fn sums(&self) -> Sums {
        Sums { usable_bytes: self.usable_bytes, requested_bytes: self.requested_bytes, blocks: self.blocks }
    }
}

/// What was live at the end of each step, by owner: columns as long as `steps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// Which steps: all, or evenly spaced ones when there were many, and the latest.
    pub steps: Vec<u64>,
    /// All live bytes.
    pub live_bytes: Vec<u64>,
    /// Those whose bytes changed from step to step, the most telling ones.
    pub owners: Vec<GrowthOwner>,
    /// All others together: with the owners' they sum to `live_bytes`.
    pub other_bytes: Vec<u64>,
}

/// One owner's column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowthOwner {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scope: u32,
    /// What the blocks are for.
    pub category: Category,
    /// Its live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
}

/// The first contradiction among the numbers, if there is one.
pub(crate) fn contradiction(analysis: &Analysis, scopes: usize) -> Option<String> {
    for histogram in &analysis.histograms {
        let sum = |buckets: &[Bucket]| buckets.iter().map(|bucket| bucket.sums).collect::<Sums>();
        let (sizes, mut ends) = (sum(&histogram.sizes), sum(&histogram.lifetimes));
        ends.add(histogram.held);
        if sizes != ends {
            let category = histogram.category;
            return Some(format!(
                "the sizes of \"{category}\" in \"histograms\" are not its lifetimes and what is held"
            ));
        }
    }
    let flows: Sums = analysis.flows.iter().map(Flow::sums).collect();
    let sizes: Sums = analysis.histograms.iter().flat_map(|one| &one.sizes).map(|bucket| bucket.sums).collect();
    if flows != sizes {
        return Some("\"flows\" and \"histograms\" do not sum to the same".to_owned());
    }
    if let Some(figures) = analysis.figures.iter().find(|figures| {
        let sum = |parts: &BTreeMap<String, u64>| parts.values().fold(0u64, |sum, part| sum.saturating_add(*part));
        [&figures.process_by_phase, &figures.process_by_category].map(sum) != [figures.process_bytes; 2]
    }) {
        let names = [&figures.phase, &figures.layer].map(|name| name.as_deref().unwrap_or("*"));
        return Some(format!(
            "\"figures\" of {}: a split of the process's bytes does not sum to them",
            names.join(", ")
        ));
    }
    let growth = &analysis.growth;
    let count = growth.steps.len();
    let columns = growth.owners.iter().map(|owner| &owner.live_bytes).chain([&growth.other_bytes]);
    if growth.live_bytes.len() != count || columns.clone().any(|column| column.len() != count) {
        return Some(format!("the columns of \"growth\" differ in length from its {count} steps"));
    }
    let sum = |index: usize| columns.clone().fold(0u64, |sum, column| sum.saturating_add(column[index]));
    if (0..count).any(|index| sum(index) != growth.live_bytes[index]) {
        return Some("the columns of \"growth\" do not sum to its live_bytes".to_owned());
    }
    growth
        .owners
        .iter()
        .find(|owner| owner.scope as usize >= scopes)
        .map(|owner| format!("\"growth\" names scope {}, which does not exist", owner.scope))
}
