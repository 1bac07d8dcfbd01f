//! A table whose rows say where their numbers come from. Where the terminal is too narrow for a column of sources, each row
//! has a number instead, and the sources stand below.
use crate::view::text::table::{Table, table};
use crate::view::text::wrapped::wrapped;

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
        let sources: Vec<&str> =
            self.rows.iter().map(|row| row.1.as_str()).filter(|source| !source.is_empty()).collect();
        let head = (!sources.is_empty()).then_some("source");
        let whole = self.with_column(head, str::to_owned);
        if whole.whole_width() <= width {
            return whole.text(width);
        }
        let mut distinct: Vec<&str> = Vec::new();
        for source in sources {
            if !distinct.contains(&source) {
                distinct.push(source);
            }
        }
        let number = |source: &str| distinct.iter().position(|known| *known == source).map_or(0, |index| index + 1);
        let of_row = |source: &str| if source.is_empty() { String::new() } else { format!("[{}]", number(source)) };
        // The numbers need no head.
        let mut text = self.with_column(head.map(|_| ""), of_row).text(width);
        for source in &distinct {
            let label = format!("{:>4} ", of_row(source));
            text.push_str(&wrapped(source, &label, &" ".repeat(5), width));
        }
        text
    }

    /// The table with a last column that `cell` makes of each row's source.
    fn with_column(&self, head: Option<&str>, cell: impl Fn(&str) -> String) -> Table {
        let heads: Vec<&str> = self.heads.iter().copied().chain(head).collect();
        let mut table = table(&heads);
        for (cells, source) in &self.rows {
            table.add_row(cells.iter().cloned().chain(head.map(|_| cell(source))));
        }
        table
    }
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
