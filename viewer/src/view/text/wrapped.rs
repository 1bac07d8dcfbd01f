//! Paragraphs in lines of a width.
use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, fill, wrap};

/// `text` in lines of at most `width` columns: the first begins with `first`, the others with `next`. A word that is longer
/// than a line is broken, so that nothing is wider than the terminal.
pub(super) fn wrapped(text: &str, first: &str, next: &str, width: usize) -> String {
    let options = Options::new(width.max(20))
        .initial_indent(first)
        .subsequent_indent(next)
        .word_splitter(WordSplitter::NoHyphenation);
    fill(text, options) + "\n"
}

/// `text` with each line that is wider than `width` broken into several, which are indented by two columns more than it.
pub fn fitted(text: &str, width: usize) -> String {
    let fit = |line: &str| {
        if display_width(line) <= width {
            return format!("{line}\n");
        }
        let words = line.trim_start_matches(' ');
        let indent = " ".repeat(line.len() - words.len());
        wrapped(words, &indent, &format!("{indent}  "), width)
    };
    text.lines().map(fit).collect()
}

/// `text` in lines of at most `width` columns, broken between words only.
pub(super) fn in_words(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(1)).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    wrap(text, options).into_iter().map(|line| line.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::{fitted, wrapped};

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let text = format!("some words and {}", "x".repeat(50));
        let lines = wrapped(&text, "* ", "  ", 24);
        assert!(lines.lines().all(|line| line.chars().count() <= 24), "{lines}");
        assert!(lines.starts_with("* some words and"), "{lines}");
    }
    #[test]
    fn only_lines_that_are_too_wide_are_broken() {
        let text = "a short line\n\n  an indented line of more words than fit\n";
        let expected = "a short line\n\n  an indented line of\n    more words than fit\n";
        assert_eq!(fitted(text, 24), expected);
    }
}
