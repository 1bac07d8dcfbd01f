//! Who allocates, by the calls that led to it: sums of samples.
//!
//! Every number of bytes or blocks here is an estimate: samples fall on the allocated bytes at random, and each stands for as
//! many bytes as makes the expected sum the true one. The counts of samples say how much is known.
use serde::{Deserialize, Serialize};

/// Sampled stacks of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Mean distance of two samples in allocated bytes.
    pub mean_bytes: u64,
    /// What the random numbers began with: a program with one thread is sampled alike for the same seed.
    pub seed: u64,
    /// Whether the sites are there: they are put together at the end, which a killed process does not reach.
    pub complete: bool,
    /// How many samples there were, and what became of them.
    pub samples: SampleCounts,
    /// Every call that a stack is made of, once.
    pub calls: Vec<Call>,
    /// Those with the most bytes: allocated, at the peak, at the end, or from step to step.
    pub sites: Vec<Site>,
    /// All other sites together.
    pub others: SiteSums,
    /// What was live at the end of each step, by site.
    pub growth: SiteGrowth,
}

/// How many samples there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleCounts {
    /// All that reached the recorder.
    pub taken: u64,
    /// Without any call that could be found; they are sites without calls.
    pub without_calls: u64,
    /// With the innermost calls only: the outer ones could not be found, or were too many.
    pub cut: u64,
    /// Whose end nobody would be told: they count as allocated, not as live.
    pub not_followed: u64,
    /// That did not reach the recorder.
    pub lost: u64,
    /// The bytes that those stood for.
    pub lost_bytes: u64,
    /// Calls without a name among `calls`: a file without symbols.
    pub unnamed_calls: u64,
}

/// A call in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The function's name as its language writes it; without one `FILE+0xADDRESS`.
    pub function: String,
    /// The source file, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether the compiler put the function into its caller.
    pub inlined: bool,
}

/// A stack in a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes): who was active when the blocks were allocated.
    pub scope: u32,
    /// Indices into [`Stacks::calls`], the outermost first. Empty: no call could be found.
    pub calls: Vec<u32>,
    /// Whether outer calls are missing.
    pub cut: bool,
    /// Its numbers.
    #[serde(flatten)]
    pub sums: SiteSums,
}

/// The numbers of a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteSums {
    /// How many samples they come from.
    pub samples: u64,
    /// Usable bytes allocated.
    pub allocated_bytes: u64,
    /// One standard error of that.
    pub error_bytes: u64,
    /// Blocks allocated.
    pub allocated_blocks: u64,
    /// Usable bytes that were live at the peak of the process.
    pub peak_bytes: u64,
    /// Usable bytes that were live in the end.
    pub exit_bytes: u64,
    /// How many sampled blocks those are of.
    pub exit_samples: u64,
}

impl SiteSums {
    /// Adds `other`.
    pub fn add(&mut self, other: SiteSums) {
        for (sum, part) in [
            (&mut self.samples, other.samples),
            (&mut self.allocated_bytes, other.allocated_bytes),
            (&mut self.allocated_blocks, other.allocated_blocks),
            (&mut self.peak_bytes, other.peak_bytes),
            (&mut self.exit_bytes, other.exit_bytes),
            (&mut self.exit_samples, other.exit_samples),
        ] {
            *sum = sum.saturating_add(part);
        }
        // Samples know nothing of each other.
        self.error_bytes = (self.error_bytes as f64).hypot(other.error_bytes as f64).round() as u64;
    }
}

impl FromIterator<SiteSums> for SiteSums {
    fn from_iter<I: IntoIterator<Item = SiteSums>>(all: I) -> SiteSums {
        all.into_iter().fold(SiteSums::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

impl Stacks {
    /// All sites together.
    pub fn sums(&self) -> SiteSums {
        self.sites.iter().map(|site| site.sums).chain([self.others]).collect()
    }
}

/// What was live at the end of each step, by site: columns as long as `steps`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteGrowth {
    /// Which steps: all, or evenly spaced ones when there were many, and the latest.
    pub steps: Vec<u64>,
    /// What all sites held.
    pub live_bytes: Vec<u64>,
    /// Sites whose bytes changed from step to step, the most telling ones.
    pub columns: Vec<SiteColumn>,
    /// All others together: with the columns they sum to `live_bytes`.
    pub other_bytes: Vec<u64>,
}

/// One site's column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteColumn {
    /// Index into [`Stacks::sites`].
    pub site: u32,
    /// Its live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
}

/// The first contradiction among the numbers, if there is one.
pub(crate) fn contradiction(stacks: &Stacks, scopes: usize) -> Option<String> {
    for site in &stacks.sites {
        if site.scope as usize >= scopes {
            return Some(format!("a site of \"stacks\" names scope {}, which does not exist", site.scope));
        }
        if let Some(call) = site.calls.iter().find(|&&call| call as usize >= stacks.calls.len()) {
            return Some(format!("a site of \"stacks\" names call {call}, which does not exist"));
        }
    }
    if stacks.sums().samples != stacks.samples.taken {
        return Some(format!("the sites of \"stacks\" do not sum to the {} samples taken", stacks.samples.taken));
    }
    let growth = &stacks.growth;
    let count = growth.steps.len();
    let columns = growth.columns.iter().map(|column| &column.live_bytes).chain([&growth.other_bytes]);
    if growth.live_bytes.len() != count || columns.clone().any(|column| column.len() != count) {
        return Some(format!("the columns of \"growth\" in \"stacks\" differ in length from its {count} steps"));
    }
    let sum = |index: usize| columns.clone().fold(0u64, |sum, column| sum.saturating_add(column[index]));
    if (0..count).any(|index| sum(index) != growth.live_bytes[index]) {
        return Some("the columns of \"growth\" in \"stacks\" do not sum to its live_bytes".to_owned());
    }
    let lost = growth.columns.iter().find(|column| column.site as usize >= stacks.sites.len());
    lost.map(|column| format!("\"growth\" in \"stacks\" names site {}, which does not exist", column.site))
}
