//! Long names cut to the width of a column.

/// `name` without its middle when it is longer than `most` characters. The ends stay, because they tell the most about a
/// layer path.
pub fn shortened(name: &str, most: usize) -> String {
    let count = name.chars().count();
    if count <= most || most < 3 {
        return name.to_owned();
    }
    let tail = (most - 1) * 3 / 5;
    let head = most - 1 - tail;
    let (start, end): (String, String) = (name.chars().take(head).collect(), name.chars().skip(count - tail).collect());
    format!("{start}\u{2026}{end}")
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(shortened("layer1.0.conv1", 20), "layer1.0.conv1");
        assert_eq!(shortened("encoder.layers.11.attention.out", 15), "encode\u{2026}tion.out");
        assert_eq!(shortened("encoder.layers.11.attention.out", 15).chars().count(), 15);
        assert_eq!(shortened("conv1", 3), "c\u{2026}1");
    }
}
