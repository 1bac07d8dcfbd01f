//! The resident set of a recording that did not reach its end, from its samples.
use crate::file::OutsideFigure;

/// The probe of the resident set, and the figure.
pub const RSS: &str = "rss";

/// The most of the readings (when, and what), and the one nearest to the peak of the live bytes; `None` where there are none. What
/// only the samples between those that were kept have seen is not in it.
pub fn resident_set(readings: &[(u64, u64)], peak_ns: u64) -> Option<OutsideFigure> {
    let peak_bytes = readings.iter().map(|&(_, bytes)| bytes).max()?;
    let nearest = readings.iter().min_by_key(|(time_ns, _)| time_ns.abs_diff(peak_ns));
    Some(OutsideFigure {
        name: RSS.to_owned(),
        peak_bytes: Some(peak_bytes),
        at_peak_bytes: nearest.map(|&(_, bytes)| bytes),
        source: "the samples of the time line, up to the last; the recording did not reach its end".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_of_the_samples_and_the_one_at_the_peak() {
        let readings = [(0, 5), (10, 7), (30, 9)];
        let figure = resident_set(&readings, 21).expect("readings");
        assert_eq!((figure.peak_bytes, figure.at_peak_bytes), (Some(9), Some(9)), "the reading at 20 ns failed");
        let figure = resident_set(&readings, 12).expect("readings");
        assert_eq!(figure.at_peak_bytes, Some(7));
        assert!(resident_set(&[], 0).is_none());
    }
}
