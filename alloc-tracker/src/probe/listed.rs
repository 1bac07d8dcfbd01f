//! Where the allocator's mappings are, as they were listed some time ago.
use super::allocator;
use super::cost::in_order;
use super::smaps::Range;
use super::survey::Survey;

/// The allocator's mappings at some time, and where it has handed out blocks since.
#[derive(Debug)]
pub struct Listed {
    /// Whole pages, in order.
    pub ranges: Vec<Range>,
    /// The bytes of all mappings of the process when these were last known to be all of the allocator's.
    mapped: u64,
    /// The bytes of the allocator's mappings at that time, if it tells.
    allocator_mapped: Option<u64>,
    surveyed: Vec<Range>,
}

impl Listed {
    /// Lists the allocator's mappings, which takes as long as all the rest of a reading; `mapped` bytes are mapped.
    ///
    /// # Errors
    /// A sentence, when the mappings are not known.
    pub fn now(survey: &Survey, mapped: u64) -> Result<Self, String> {
        let allocator_mapped = allocator::mapped();
        Ok(Listed { ranges: survey.allocator_now()?, mapped, allocator_mapped, surveyed: survey.allocator.clone() })
    }

    /// Whether they are the allocator's mappings still, as far as `survey` tells.
    pub fn is_of(&self, survey: &Survey) -> bool {
        allocator::keeps_mappings() && self.surveyed == survey.allocator
    }

    /// Whether they are all of the allocator's mappings, now that the process has mapped so many bytes. An allocator that keeps its
    /// mappings has the same as long as it, or the whole process, has mapped as many bytes.
    pub fn is_complete(&mut self, mapped: u64) -> bool {
        let is_complete =
            self.mapped == mapped || (self.allocator_mapped.is_some() && self.allocator_mapped == allocator::mapped());
        if is_complete {
            self.mapped = mapped;
        }
        is_complete
    }

    /// Adds the places of new blocks that are in none of the mappings: the allocator has mapped them since these were listed.
    pub fn add(&mut self, places: &[Range]) {
        let is_listed = |place: &&Range| {
            let mapping = self.ranges.get(self.ranges.partition_point(|range| range.end <= place.start));
            mapping.is_some_and(|range| range.start <= place.start && place.end <= range.end)
        };
        let others: Vec<Range> = places.iter().filter(|place| !is_listed(place)).cloned().collect();
        if !others.is_empty() {
            let all = self.ranges.iter().chain(&others);
            self.ranges = in_order(all.map(|range| (range.start, range.end)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;

    /// A list is complete as long as the process, or jemalloc in it, has mapped as many bytes as before.
    #[test]
    fn only_the_allocators_mappings_count() {
        let before = allocator::mapped().expect("jemalloc");
        let mut listed =
            Listed { ranges: Vec::new(), mapped: 100, allocator_mapped: Some(before - 1), surveyed: Vec::new() };
        assert!(listed.is_complete(100) && !listed.is_complete(101));
        // Tests beside this one may have jemalloc map more.
        let has_kept = (0..10).any(|_| {
            listed.allocator_mapped = allocator::mapped();
            listed.is_complete(101)
        });
        assert!(has_kept && listed.is_complete(101) && listed.mapped == 101);
        listed.allocator_mapped = None;
        assert!(!listed.is_complete(102));
    }

    /// The second block lies in no mapping that is listed, and its pages are 2 and 3 of the allocator's.
    #[test]
    fn a_new_block_may_lie_in_a_new_mapping() {
        let page = sys::page_bytes();
        let mut listed = Listed {
            ranges: vec![0..page, 8 * page..9 * page],
            mapped: 0,
            allocator_mapped: None,
            surveyed: Vec::new(),
        };
        listed.add(&[8 * page + 16..9 * page, 2 * page + 16..4 * page - 16]);
        assert_eq!(listed.ranges, [0..page, 2 * page..4 * page, 8 * page..9 * page]);
        let between = page..page + 1;
        listed.add(std::slice::from_ref(&between));
        assert_eq!(listed.ranges, [0..4 * page, 8 * page..9 * page], "neighbours are one range");
    }
}
