//! A chart in one line of text.

/// From the least to the most.
const LEVELS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];

/// A chart of `values` in at most `width` characters. Its height goes from the least value to the most.
pub(super) fn sparkline(values: &[u64], width: usize) -> String {
    let (Some(&low), Some(&high)) = (values.iter().min(), values.iter().max()) else { return String::new() };
    let width = width.min(values.len());
    let level = |value: u64| match u128::from(high - low) {
        0 => 0,
        range => (u128::from(value - low) * (LEVELS.len() as u128 - 1) / range) as usize,
    };
    let columns = (0..width).map(|column| {
        let (from, to) = (column * values.len() / width, (column + 1) * values.len() / width);
        values[from..to].iter().copied().max().unwrap_or(low)
    });
    columns.map(|value| LEVELS[level(value)]).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_sparkline_goes_from_least_to_most() {
        assert_eq!(sparkline(&[5, 6, 7, 12], 4), "\u{2581}\u{2582}\u{2583}\u{2588}");
        assert_eq!(sparkline(&[3; 9], 4), "\u{2581}".repeat(4));
        assert_eq!(sparkline(&[0, u64::MAX], 8), "\u{2581}\u{2588}");
        assert_eq!(sparkline(&[], 8), "");
    }
}
