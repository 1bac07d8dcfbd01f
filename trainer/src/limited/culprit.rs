//! Who broke the limit: what grew last in a timeline that ends with a kill, and who held most then.
//!
//! The kernel kills a process when it touches a page, and the page belongs to a block that was allocated a little earlier:
//! so what grew last names the block's owner unless the program had allocated much ahead.
use alloc_timeline::{Dimension, NONE, Timeline};
use serde::Serialize;

/// The dimensions that are named, from the outermost to the innermost.
const NAMED: [Dimension; 3] = [Dimension::Phase, Dimension::Layer, Dimension::Op];

/// The end of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Culprit {
    /// Live bytes at the last sample.
    pub(super) live_bytes: u64,
    /// What grew most up to the last sample: phase, layer, operator. Empty if nothing grew.
    pub(super) grew: Vec<Owner>,
    /// The time that it grew in, in nanoseconds: from the last sample with fewer live bytes to the end.
    pub(super) grew_in_ns: u64,
    /// Who held most at the last sample: phase, layer, operator.
    pub(super) holds: Vec<Owner>,
}

/// An owner and its bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Owner {
    pub(super) dimension: Dimension,
    pub(super) name: String,
    pub(super) bytes: u64,
}

/// Reads the end of `timeline`; `None` when it has no sample.
pub(super) fn culprit(timeline: &Timeline) -> Option<Culprit> {
    let series = &timeline.series;
    let last = series.live_bytes.len().checked_sub(1)?;
    let live_bytes = series.live_bytes[last];
    let before = (0..last).rev().find(|&index| series.live_bytes[index] < live_bytes);
    let most = |bytes: &dyn Fn(&[u64]) -> u64| -> Vec<Owner> {
        let of = |dimension: Dimension| {
            let owners = series.by(dimension).iter().filter(|(name, _)| *name != NONE);
            let (bytes, name) = owners.map(|(name, column)| (bytes(column), name)).max()?;
            (bytes > 0).then(|| Owner { dimension, name: name.clone(), bytes })
        };
        NAMED.into_iter().filter_map(of).collect()
    };
    let at = |column: &[u64], index: usize| column.get(index).copied().unwrap_or(0);
    let grew = before.map_or(Vec::new(), |before| most(&|column| at(column, last).saturating_sub(at(column, before))));
    let grew_in_ns = before.map_or(0, |before| series.time_ns[last].saturating_sub(series.time_ns[before]));
    Some(Culprit { live_bytes, grew, grew_in_ns, holds: most(&|column| at(column, last)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc_timeline::{Assembler, Series};

    fn timeline(live: &[u64], layers: &[(&str, &[u64])]) -> Timeline {
        let mut timeline = Assembler::new().timeline();
        timeline.series = Series {
            time_ns: (0..live.len() as u64).map(|index| 10 * index).collect(),
            live_bytes: live.to_vec(),
            by_layer: layers.iter().map(|(name, column)| ((*name).to_owned(), column.to_vec())).collect(),
            ..Series::default()
        };
        timeline
    }

    /// 60 -> 60 -> 100 -> 100: what grew, grew between the second sample and the last, 20 ns. Of that, conv1 grew by 30
    /// and fc by 10, while fc holds most. What belongs to no layer is named nowhere.
    #[test]
    fn what_grew_last_need_not_hold_most() {
        let layers: [(&str, &[u64]); 3] =
            [("conv1", &[0, 0, 30, 30]), ("fc", &[40, 40, 50, 50]), (NONE, &[20, 20, 20, 20])];
        let culprit = culprit(&timeline(&[60, 60, 100, 100], &layers)).expect("samples");
        let owner = |name: &str, bytes| vec![Owner { dimension: Dimension::Layer, name: name.to_owned(), bytes }];
        assert_eq!((culprit.grew, culprit.grew_in_ns), (owner("conv1", 30), 20));
        assert_eq!((culprit.holds, culprit.live_bytes), (owner("fc", 50), 100));
    }

    #[test]
    fn a_timeline_that_only_falls_has_no_growth() {
        let falling = culprit(&timeline(&[9, 5], &[("fc", &[9, 5])])).expect("samples");
        assert_eq!((falling.grew, falling.grew_in_ns), (vec![], 0));
        assert_eq!(culprit(&timeline(&[], &[])), None);
    }
}
