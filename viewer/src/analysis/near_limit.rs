//! What happened when a run came near a limit: which layer grew until the end of what was recorded.
use alloc_timeline::{Dimension, NONE, Timeline};

/// The layer that grew most from the last time the run came near a limit until its last sample. When the run was killed
/// before another sample was taken, nothing grew from then on; then the time before counts, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrewAfter {
    /// The layer, or the phase where no layer has a name.
    pub name: String,
    /// `layer` or `phase`.
    pub dimension: Dimension,
    /// By how many bytes.
    pub bytes: u64,
    /// The time of the last sample, since the session began.
    pub until_ns: u64,
}

/// See [`GrewAfter`]; `None` when the run came near no limit, or nothing grew afterwards.
pub fn grew_after_near_limit(timeline: &Timeline) -> Option<GrewAfter> {
    timeline.near_limits.iter().rev().find_map(|near| grew_after(timeline, near.time_ns))
}

/// What grew most from the time `near_ns` on.
fn grew_after(timeline: &Timeline, near_ns: u64) -> Option<GrewAfter> {
    let series = &timeline.series;
    // The last sample before the limit came near: what grew meanwhile has grown towards the limit.
    let from = series.time_ns.partition_point(|&time| time <= near_ns).checked_sub(1)?;
    let until_ns = *series.time_ns.last()?;
    [Dimension::Layer, Dimension::Phase].into_iter().find_map(|dimension| {
        let columns = series.by(dimension).iter().filter(|(name, _)| name.as_str() != NONE);
        let grown = columns.filter_map(|(name, column)| {
            let bytes = column.last()?.saturating_sub(*column.get(from)?);
            Some(GrewAfter { name: name.clone(), dimension, bytes, until_ns })
        });
        grown.filter(|grown| grown.bytes > 0).max_by_key(|grown| grown.bytes)
    })
}

#[cfg(test)]
mod tests {
    use alloc_timeline::NearLimit;

    use super::*;

    /// Samples at 0, 10, 20 and 30 ns; the limit came near at 15.
    fn timeline(columns: &[(&str, [u64; 4])]) -> Timeline {
        let mut timeline = alloc_timeline::Assembler::new().timeline();
        timeline.series.time_ns = vec![0, 10, 20, 30];
        let columns = columns.iter().map(|(name, column)| ((*name).to_owned(), column.to_vec()));
        timeline.series.by_layer = columns.collect();
        timeline.near_limits = vec![NearLimit { time_ns: 15, ..NearLimit::default() }];
        timeline
    }

    #[test]
    fn the_layer_that_grew_from_then_on() {
        let found = timeline(&[("fc", [0, 90, 95, 99]), ("conv1", [0, 10, 30, 70]), (NONE, [0, 0, 0, 900])]);
        let expected = GrewAfter { name: "conv1".into(), dimension: Dimension::Layer, bytes: 60, until_ns: 30 };
        assert_eq!(grew_after_near_limit(&found), Some(expected));
        let shrinks = timeline(&[("fc", [9, 9, 9, 3])]);
        assert_eq!(grew_after_near_limit(&shrinks), None);
    }

    /// The kernel killed the run while the recorder was busy with what it writes near a limit: no sample came after it.
    #[test]
    fn a_run_that_ends_near_its_limit_grew_before() {
        let mut killed = timeline(&[("fc", [0, 90, 95, 99]), ("conv1", [0, 10, 30, 70])]);
        killed.near_limits.push(NearLimit { time_ns: 31, ..NearLimit::default() });
        let expected = GrewAfter { name: "conv1".into(), dimension: Dimension::Layer, bytes: 60, until_ns: 30 };
        assert_eq!(grew_after_near_limit(&killed), Some(expected));
    }

    #[test]
    fn phases_count_where_no_layer_grew() {
        let mut found = timeline(&[]);
        found.series.by_phase = [("data".to_owned(), vec![1, 1, 4, 5])].into();
        let grown = grew_after_near_limit(&found).expect("growth");
        assert_eq!((grown.name.as_str(), grown.dimension, grown.bytes), ("data", Dimension::Phase, 4));
        found.near_limits.clear();
        assert_eq!(grew_after_near_limit(&found), None);
    }
}
