//! Sampled call stacks of allocations.
//!
//! Samples fall on the allocated bytes at random, and each sample stands for so many bytes that the expected sum is the
//! true one. So every number of bytes or blocks here is an estimate. The fewer samples it comes from, the less exact it is.
use std::iter::Sum;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Sampled stacks of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks {
    /// Mean distance between two samples, in allocated bytes.
    pub mean_bytes: u64,
    /// The seed of the random numbers. A program with one thread is sampled at the same bytes whenever the seed is the same.
    pub seed: u64,
    /// Whether the sites are there. They are put together at the end of a run, which a killed process does not reach.
    pub complete: bool,
    /// How many samples were taken, and how good they are.
    pub samples: SampleCounts,
    /// All calls of all stacks, each once.
    pub calls: Vec<Call>,
    /// The sites with the most bytes: allocated, at the peak, at the end, or added from step to step.
    pub sites: Vec<Site>,
    /// All other sites together.
    pub others: SiteSums,
    /// What was live at the end of each step, by site.
    pub growth: SiteGrowth,
    /// The same samples by the thread that took them: the threads with the most bytes, allocated, at the peak or at the end.
    /// Empty in files of older recorders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<SampledThread>,
    /// All other threads together.
    #[serde(default, skip_serializing_if = "SiteSums::is_nothing")]
    pub other_threads: SiteSums,
}

/// How many samples were taken, and how good they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleCounts {
    /// Samples that reached the recorder.
    pub taken: u64,
    /// Samples of which no call could be found. Their sites have no calls.
    pub without_calls: u64,
    /// Samples that have only the innermost calls, because the outer ones could not be found or were too many.
    pub cut: u64,
    /// Samples of blocks whose free cannot be seen. They count as allocated, not as live.
    pub not_followed: u64,
    /// Samples that did not reach the recorder.
    pub lost: u64,
    /// The bytes for which those stood.
    pub lost_bytes: u64,
    /// Calls for which no name could be found, because their file has no symbols.
    pub unnamed_calls: u64,
}

/// A call in a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Call {
    /// The function's name as its language writes it, or `FILE+0xADDRESS` where no name could be found.
    pub function: String,
    /// The source file, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in that file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Whether the compiler put the function into its caller.
    pub inlined: bool,
    /// The name of the file that has the code: the executable or a shared library. Absent in files of older recorders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The language of an interpreted function, such as `Python`; `object` then has its interpreter. Absent for native code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// A place that allocates: a stack of calls in a scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes): what was active when the blocks were allocated.
    pub scope: u32,
    /// Indices into [`Stacks::calls`], the outermost call first. Empty when no call could be found.
    pub calls: Vec<u32>,
    /// Whether outer calls are missing.
    pub cut: bool,
    /// Its numbers.
    #[serde(flatten)]
    pub sums: SiteSums,
}

/// A thread that allocates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledThread {
    /// Its number: threads are counted from 1 on, by their first samples, as long as the process lives. 0: all threads that
    /// were just beginning or ending.
    pub number: u32,
    /// What the kernel called it at its end, or when the file was written. Absent when it had ended by then, and had told
    /// nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its numbers.
    #[serde(flatten)]
    pub sums: SiteSums,
}

/// The numbers of a site or of a thread. Sums of them stay at the largest number instead of overflowing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteSums {
    /// How many samples the numbers come from.
    pub samples: u64,
    /// Usable bytes allocated.
    pub allocated_bytes: u64,
    /// The standard error of `allocated_bytes`.
    pub error_bytes: u64,
    /// Blocks allocated.
    pub allocated_blocks: u64,
    /// Usable bytes that were live at the peak of the process.
    pub peak_bytes: u64,
    /// Usable bytes that were live at the end of the run.
    pub exit_bytes: u64,
    /// How many samples `exit_bytes` comes from.
    pub exit_samples: u64,
}

impl SiteSums {
    /// Whether no sample is in it.
    pub fn is_nothing(&self) -> bool {
        *self == SiteSums::default()
    }
}

impl AddAssign for SiteSums {
    fn add_assign(&mut self, other: SiteSums) {
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
        // Samples are independent of each other: the squares of their errors add up. Not by `hypot`, which would have the
        // preloaded library need glibc 2.35.
        let squares = [self.error_bytes, other.error_bytes].map(|bytes| (bytes as f64).powi(2));
        self.error_bytes = squares.iter().sum::<f64>().sqrt().round() as u64;
    }
}

impl Sum for SiteSums {
    fn sum<I: Iterator<Item = SiteSums>>(all: I) -> SiteSums {
        all.fold(SiteSums::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

impl FromIterator<SiteSums> for SiteSums {
    fn from_iter<I: IntoIterator<Item = SiteSums>>(all: I) -> SiteSums {
        all.into_iter().sum()
    }
}

impl Stacks {
    /// All sites together.
    pub fn sums(&self) -> SiteSums {
        self.sites.iter().map(|site| site.sums).chain([self.others]).sum()
    }
}

/// What was live at the end of each step, by site. Each column has one entry per step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteGrowth {
    /// Which steps: all, or when there were many, evenly spaced ones and the latest.
    pub steps: Vec<u64>,
    /// The live bytes of all sites.
    pub live_bytes: Vec<u64>,
    /// The sites whose bytes changed the most from step to step.
    pub columns: Vec<SiteColumn>,
    /// All other sites together. With those of `columns` they sum to `live_bytes`.
    pub other_bytes: Vec<u64>,
}

/// The live bytes of one site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteColumn {
    /// Index into [`Stacks::sites`].
    pub site: u32,
    /// Its live bytes at the end of each step.
    pub live_bytes: Vec<u64>,
}
