//! Long names cut to the width of a column.
use textwrap::core::display_width;

/// `name` without its middle when it takes more than `most` columns of a terminal. The ends stay, because they tell the most about a
/// layer path.
pub fn shortened(name: &str, most: usize) -> String {
    if display_width(name) <= most || most < 3 {
        return name.to_owned();
    }
    let tail = (most - 1) * 3 / 5;
    let head = most - 1 - tail;
    let ends: Vec<char> = begin(name.chars().rev(), tail).collect();
    let start: String = begin(name.chars(), head).collect();
    format!("{start}\u{2026}{}", ends.iter().rev().collect::<String>())
}

/// The characters that take no more than `most` columns together.
fn begin(characters: impl Iterator<Item = char>, most: usize) -> impl Iterator<Item = char> {
    let mut taken = 0;
    characters.take_while(move |character| {
        taken += display_width(character.encode_utf8(&mut [0; 4]));
        taken <= most
    })
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
        // Each of these takes two columns.
        assert_eq!(
            shortened("\u{5c64}\u{306e}\u{540d}\u{524d}\u{3067}\u{3059}", 8),
            "\u{5c64}\u{2026}\u{3067}\u{3059}"
        );
    }
}
