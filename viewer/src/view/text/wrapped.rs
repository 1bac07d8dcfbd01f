//! Paragraphs in lines of a width.
use textwrap::{Options, WordSplitter, fill};

/// `text` in lines of at most `width` columns: the first begins with `first`, the others with `next`. A word that is longer
/// than a line is broken, so that nothing is wider than the terminal.
pub(super) fn wrapped(text: &str, first: &str, next: &str, width: usize) -> String {
    let options = Options::new(width.max(20))
        .initial_indent(first)
        .subsequent_indent(next)
        .word_splitter(WordSplitter::NoHyphenation);
    fill(text, options) + "\n"
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        let text = format!("some words and {}", "x".repeat(50));
        let lines = wrapped(&text, "* ", "  ", 24);
        assert!(lines.lines().all(|line| line.chars().count() <= 24), "{lines}");
        assert!(lines.starts_with("* some words and"), "{lines}");
    }
}
