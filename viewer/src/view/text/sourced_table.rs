//! A table whose rows say where their numbers come from. Where the terminal is too narrow for a column of sources, each row
//! has a number instead, and the sources stand below.
use crate::model::shortened;
use crate::view::text::table::{RULE, render, table};
use crate::view::text::wrapped::wrapped;

/// Names are not cut below this, whatever the width.
const SHORTEST_NAME: usize = 12;

/// The rows of a table, each with its source, which may be empty.
pub(super) struct SourcedTable {
    heads: Vec<&'static str>,
    rows: Vec<(Vec<String>, String)>,
}

impl SourcedTable {
    /// A table with these column heads; see [`table`].
    pub(super) fn new(heads: &[&'static str]) -> SourcedTable {
        SourcedTable { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>, source: &str) {
        self.rows.push((cells.into_iter().collect(), source.to_owned()));
    }

    /// The text, in lines of at most `width` columns. Where the numbers alone leave too little room, names are cut.
    pub(super) fn text(&self, width: usize) -> String {
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let sources: Vec<&str> =
            self.rows.iter().map(|row| row.1.as_str()).filter(|source| !source.is_empty()).collect();
        let head = (!sources.is_empty()).then_some("source");
        let whole = self.with_column(head, usize::MAX, str::to_owned);
        if widest(&whole) <= width {
            return whole;
        }
        let mut distinct: Vec<&str> = Vec::new();
        for source in sources {
            if !distinct.contains(&source) {
                distinct.push(source);
            }
        }
        let number = |source: &str| distinct.iter().position(|known| *known == source).map_or(0, |index| index + 1);
        let of_row = |source: &str| if source.is_empty() { String::new() } else { format!("[{}]", number(source)) };
        // The numbers need no head. The line below the heads reaches beyond the last column, and may be shorter.
        let head = head.map(|_| "");
        let numbered = |longest: usize| cut_rules(&self.with_column(head, longest, of_row), width);
        let mut text = numbered(usize::MAX);
        if widest(&text) > width {
            let names = self.rows.iter().filter_map(|row| row.0.first()).map(|name| name.chars().count());
            let longest = names.max().unwrap_or(0);
            text = numbered(longest.saturating_sub(widest(&text) - width).max(SHORTEST_NAME));
        }
        for source in &distinct {
            let label = format!("{:>4} ", of_row(source));
            text.push_str(&wrapped(source, &label, &" ".repeat(5), width));
        }
        text
    }

    /// The table with names of at most `longest` characters, and a last column that `cell` makes of each row's source.
    fn with_column(&self, head: Option<&str>, longest: usize, cell: impl Fn(&str) -> String) -> String {
        let heads: Vec<&str> = self.heads.iter().copied().chain(head).collect();
        let mut table = table(&heads);
        for (cells, source) in &self.rows {
            let cut =
                |(index, cell): (usize, &String)| if index == 0 { shortened(cell, longest) } else { cell.clone() };
            table.add_row(cells.iter().enumerate().map(cut).chain(head.map(|_| cell(source))));
        }
        render(&table)
    }
}

/// The text with its horizontal rules cut to `width`.
fn cut_rules(text: &str, width: usize) -> String {
    let cut = |line: &str| if line.starts_with(RULE) { line.chars().take(width).collect() } else { line.to_owned() };
    text.lines().map(|line| cut(line) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SourcedTable {
        let mut table = SourcedTable::new(&["", ">bytes"]);
        table.row(["a".to_owned(), "1".to_owned()], "a file that is called by a long name");
        table.row(["b".to_owned(), "20".to_owned()], "");
        table.row(["c".to_owned(), "300".to_owned()], "a file that is called by a long name");
        table
    }

    #[test]
    fn sources_stand_beside_the_numbers_where_there_is_room() {
        assert!(
            example().text(80).contains("c     300   a file that is called by a long name\n"),
            "{}",
            example().text(80)
        );
    }

    #[test]
    fn in_a_narrow_terminal_each_source_stands_once_below() {
        let text = example().text(30);
        assert!(text.lines().all(|line| line.chars().count() <= 30), "{text}");
        assert!(text.contains("c     300   [1]\n") && text.contains("b      20\n"), "{text}");
        assert!(text.ends_with(" [1] a file that is called by\n     a long name\n"), "{text}");
    }

    #[test]
    fn names_are_cut_where_the_numbers_leave_no_room() {
        let mut table = SourcedTable::new(&["", ">bytes"]);
        table.row(["a name of thirty-five characters...".to_owned(), "1,000,000,000".to_owned()], "here");
        let text = table.text(40);
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.contains('\u{2026}') && text.contains("1,000,000,000"), "{text}");
    }
}
