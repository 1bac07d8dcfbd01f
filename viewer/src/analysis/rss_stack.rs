//! The resident set over time as a stack: live bytes by owner, and on top of them the other lines of the coarse books.
//!
//! ```text
//!  unexplained              |
//!  files, other, stacks ... |  lines above zero
//!  allocator                |
//!  live bytes, by owner     |
//!  ----------- 0 -----------
//!  claimed but never touched   lines below zero: the resident set is the stack less these
//! ```
use alloc_timeline::{Book, Dimension, Timeline};

use crate::analysis::coarse::CoarseBooks;
use crate::analysis::curve::{Band, Curve, bands_of_samples};
use crate::model::{MemoryKind, kind_of};

/// The resident set over time. At each instant, the bands above zero less those below it are the resident set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RssStack {
    /// First the bands of live bytes, then the lines above zero from the bottom up, then those below zero. `total` is the
    /// height of the stack above zero, and `at_peak` of a band are its bytes at the sample `at`.
    pub curve: Curve,
    /// Number of bands of live bytes.
    pub live: usize,
    /// Number of bands above zero, those of live bytes included.
    pub above: usize,
    /// The sample with the most live bytes: when it was, since the session began, and its resident set.
    pub at: (u64, u64),
}

impl RssStack {
    /// The same stack with fewer instants; see [`Curve::thinned`].
    pub fn thinned(&self, columns: usize) -> RssStack {
        RssStack { curve: self.curve.thinned(columns), ..self.clone() }
    }
}

/// The stack of a run, its live bytes split by one dimension into the `most` biggest bands and the rest. `None` where no
/// sample has a coarse book.
pub fn rss_stack(timeline: &Timeline, dimension: Dimension, most: usize) -> Option<RssStack> {
    let coarse = CoarseBooks::new(timeline)?;
    let read = (0..timeline.series.time_ns.len()).filter_map(|index| Some((index, coarse.at(index)?)));
    let (samples, books): (Vec<usize>, Vec<Book>) = read.unzip();
    // Not the sample with the highest resident set: where the allocator keeps its pages that is the last one, with hardly
    // anything live. Of equal ones the latest counts, as it does for the recorded peak.
    let peak = (0..books.len()).max_by_key(|&index| books[index].live_bytes)?;
    let mut bands = bands_of_samples(timeline, dimension, &samples, samples[peak], most);
    let live = bands.len();
    let above = lines_with_sign(&books, peak, 1);
    let below = lines_with_sign(&books, peak, -1);
    bands.extend(above);
    let above = bands.len();
    let height = |index: usize| bands.iter().fold(0u64, |sum, band| sum.saturating_add(band.bytes[index]));
    let total: Vec<u64> = (0..books.len()).map(height).collect();
    bands.extend(below);
    let time_ns: Vec<u64> = books.iter().map(|book| book.time_ns).collect();
    let rss = books.iter().map(|book| (book.time_ns, book.rss_bytes)).collect();
    let curve = Curve { dimension, time_ns, bands, high: total.clone(), total, rss };
    Some(RssStack { curve, live, above, at: (books[peak].time_ns, books[peak].rss_bytes) })
}

/// One band for each line but the live bytes: its bytes where they have this sign, and 0 where they have the other. Bands
/// that are always 0 are left out.
fn lines_with_sign(books: &[Book], peak: usize, sign: i64) -> Vec<Band> {
    // A line may be missing in some books: its readings begin later.
    let mut names: Vec<&str> = Vec::new();
    for line in books.iter().max_by_key(|book| book.lines.len()).iter().flat_map(|book| &book.lines) {
        names.push(&line.name);
    }
    let bytes = |book: &Book, name: &str| {
        let line = book.lines.iter().find(|line| line.name == name);
        line.map_or(0, |line| u64::try_from(line.bytes.saturating_mul(sign)).unwrap_or(0))
    };
    let bands = names.into_iter().filter(|name| kind_of(name) != MemoryKind::Live).map(|name| Band {
        name: name.to_owned(),
        bytes: books.iter().map(|book| bytes(book, name)).collect(),
        at_peak: bytes(&books[peak], name),
    });
    bands.filter(|band| band.bytes.iter().any(|&bytes| bytes > 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_coarse_columns};

    #[test]
    fn the_stack_less_what_lies_below_zero_is_the_resident_set() {
        let timeline = with_coarse_columns(tiny());
        let stack = rss_stack(&timeline, Dimension::Category, 3).unwrap();
        let bands = &stack.curve.bands;
        for (index, (_, rss)) in stack.curve.rss.iter().enumerate() {
            let below: u64 = bands[stack.above..].iter().map(|band| band.bytes[index]).sum();
            assert_eq!(stack.curve.total[index] - below, *rss);
        }
        let names: Vec<&str> = bands.iter().map(|band| band.name.as_str()).collect();
        let live = ["activation", "parameter", "runtime", "rest"];
        let above = ["allocator", "tracker", "stacks", "other memory", "files"];
        // The fixture's lines sum to 4 bytes more than the resident set.
        assert_eq!(names, [&live[..], &above[..], &["claimed but never touched", "unexplained"]].concat());
        assert_eq!((stack.live, stack.above), (4, 9));
        assert_eq!(stack.at, (3_500_000, 14_976 + 4096));
        assert_eq!(bands[0].at_peak, 10_240);
    }

    #[test]
    fn thinning_keeps_the_bands_together() {
        let timeline = with_coarse_columns(tiny());
        let stack = rss_stack(&timeline, Dimension::Phase, 9).unwrap().thinned(1);
        assert_eq!(stack.curve.time_ns.len(), 3, "the ends, of which one is the lowest, and the highest");
        for index in 0..stack.curve.time_ns.len() {
            let above: u64 = stack.curve.bands[..stack.above].iter().map(|band| band.bytes[index]).sum();
            assert_eq!(above, stack.curve.total[index]);
        }
    }

    #[test]
    fn a_sample_without_a_reading_is_left_out() {
        let mut timeline = with_coarse_columns(tiny());
        timeline.series.probes.get_mut("rss").unwrap()[3] = None;
        let stack = rss_stack(&timeline, Dimension::Category, 3).unwrap();
        assert_eq!(stack.curve.time_ns.len(), 5);
        assert_eq!(stack.at.0, 4_500_000);
        assert!(rss_stack(&tiny(), Dimension::Category, 3).is_none());
    }
}
