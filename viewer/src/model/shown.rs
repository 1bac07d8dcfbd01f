//! Text from files, made fit for terminals, pictures and pages.

/// Whether `character` has no place in text for people: control characters, which move the cursor of a terminal or change its
/// colours; those that turn around all text behind them, numbers too ([UAX 9](https://www.unicode.org/reports/tr9/), embeddings, overrides
/// and isolates); and the two others that [XML](https://www.w3.org/TR/xml/#charsets) forbids.
pub fn is_unfit(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    character.is_control() || turns || matches!(character, '\u{fffe}' | '\u{ffff}')
}

/// [`is_unfit`] in text of several lines, which has line ends and tabs.
pub fn is_unfit_in_lines(character: char) -> bool {
    is_unfit(character) && !matches!(character, '\n' | '\t')
}

/// `text` with a sign in place of each character that [`is_unfit`]. Names come from files, and those may come from anybody.
pub fn shown(text: &str) -> String {
    text.replace(is_unfit, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_clear_the_screen() {
        assert_eq!(shown("conv1"), "conv1");
        assert_eq!(shown("a\u{202e}b\u{2066}c"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(shown("a\u{1b}[2Jb\nc\u{9b}"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }
}
