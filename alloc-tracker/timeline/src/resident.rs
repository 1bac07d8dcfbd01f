//! The resident set of a recording that did not reach its end, from its samples.
use crate::file::{OutsideFigure, Series};

/// The probe of the resident set, and the figure.
const RSS: &str = "rss";

/// The most of the samples, and the one nearest to the peak of the live bytes; `None` where no sample has any. What only the
/// samples between those that were kept have seen is not in it.
pub fn resident_set(series: &Series, peak_ns: u64) -> Option<OutsideFigure> {
    let column = series.probes.get(RSS)?;
    let readings = || series.time_ns.iter().zip(column).filter_map(|(time_ns, bytes)| Some((*time_ns, (*bytes)?)));
    let peak_bytes = readings().map(|(_, bytes)| bytes).max()?;
    let nearest = readings().min_by_key(|(time_ns, _)| time_ns.abs_diff(peak_ns));
    Some(OutsideFigure {
        name: RSS.to_owned(),
        peak_bytes: Some(peak_bytes),
        at_peak_bytes: nearest.map(|(_, bytes)| bytes),
        source: "the samples of the time line, up to the last; the recording did not reach its end".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_of_the_samples_and_the_one_at_the_peak() {
        let series = |rss: &[Option<u64>]| Series {
            time_ns: (0..rss.len() as u64).map(|index| index * 10).collect(),
            probes: [(RSS.to_owned(), rss.to_vec())].into(),
            ..Series::default()
        };
        let figure = resident_set(&series(&[Some(5), Some(7), None, Some(9)]), 21).expect("readings");
        assert_eq!((figure.peak_bytes, figure.at_peak_bytes), (Some(9), Some(9)), "the reading at 20 ns failed");
        let figure = resident_set(&series(&[Some(5), Some(7), None, Some(9)]), 12).expect("readings");
        assert_eq!(figure.at_peak_bytes, Some(7));
        assert!(resident_set(&series(&[None]), 0).is_none());
        assert!(resident_set(&Series::default(), 0).is_none());
    }
}
