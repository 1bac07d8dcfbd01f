//! Tables in a terminal: all of them look the same, and none is wider than the terminal.
use alloc_timeline::Category;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};
use textwrap::core::display_width;

use crate::model::{ScopeNames, shortened, shown};
use crate::view::text::wrapped::{in_words, wrapped};
use crate::view::words::names::name_or_dash;

/// Lines below the head and at the end, and none between rows or columns.
const STYLE: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill(RULE).junction(RULE))
    .bottom_border(LineStyle::none().fill(RULE).junction(RULE));

/// What those lines are drawn with.
const RULE: char = '\u{2500}';

/// The longest name that a table displays in full.
const LONGEST_NAME: usize = 30;
/// Names are not cut below this, whatever the width.
pub(super) const SHORTEST_NAME: usize = 8;
/// Names are not cut below this as long as there are columns that the table can do without.
const READABLE_NAME: usize = 24;
/// Blanks behind each column, beside the one that always stands between two of them; and where the terminal is too narrow for
/// that.
const PADDING: u16 = 2;
const NARROW_PADDING: u16 = 1;

/// Columns of a terminal that has room for tables of many columns. In a narrower one, an owner is one name instead of
/// three, and sentences stand below a row instead of beside it.
const WIDE: usize = 120;

/// Whether a terminal of `width` columns has room for tables of many columns.
pub(super) fn is_wide(width: usize) -> bool {
    width >= WIDE
}

/// Rows below column heads.
#[derive(Clone)]
pub(super) struct Table {
    heads: Vec<String>,
    /// For each column, whether the table can do without it.
    optional: Vec<bool>,
    rows: Vec<Vec<String>>,
    /// A text below each row; empty where there is none.
    notes: Vec<String>,
}

/// A table with these column heads. A head that begins with `>` belongs to a column of numbers: they are aligned to the right,
/// and never cut. A head that begins with `?` belongs to a column that the table can do without: it is left out where names would
/// have to be cut too short for it.
pub(super) fn table<S: AsRef<str>>(heads: &[S]) -> Table {
    let heads = heads.iter().map(AsRef::as_ref);
    Table {
        optional: heads.clone().map(|head| head.starts_with('?')).collect(),
        heads: heads.map(|head| head.trim_start_matches('?').to_owned()).collect(),
        rows: Vec::new(),
        notes: Vec::new(),
    }
}

impl Table {
    /// Adds a row.
    pub(super) fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.add_row_with_note(cells, String::new());
    }

    /// Adds a row with a text that stands below it, indented.
    pub(super) fn add_row_with_note(&mut self, cells: impl IntoIterator<Item = String>, note: String) {
        self.rows.push(cells.into_iter().map(|cell| shown(&cell)).collect());
        self.notes.push(shown(&note));
    }

    /// The columns that the table needs when nothing is cut.
    pub(super) fn whole_width(&self) -> usize {
        self.width(&Fit::whole(self))
    }

    /// The columns that the table needs when its names are cut as much as they may be.
    pub(super) fn least_width(&self) -> usize {
        self.width(&self.fit(0, SHORTEST_NAME))
    }

    /// The text, without blanks at the ends of its lines, in lines of at most `width` columns. Where that is not enough, columns
    /// that the table can do without are left out, the last first, columns stand nearer to each other, then heads are broken into
    /// lines, and then names are cut, the longest first.
    pub(super) fn text(&self, width: usize) -> String {
        let mut table = self.clone();
        while table.width(&table.fit(width, READABLE_NAME)) > width
            && let Some(last) = table.optional.iter().rposition(|&optional| optional)
        {
            table.remove_column(last);
        }
        table.whole_text(width)
    }

    fn remove_column(&mut self, column: usize) {
        self.heads.remove(column);
        self.optional.remove(column);
        self.rows.iter_mut().filter(|row| column < row.len()).for_each(|row| drop(row.remove(column)));
    }

    /// The text with all columns.
    fn whole_text(&self, width: usize) -> String {
        let drawn = self.drawn(&self.fit(width, SHORTEST_NAME));
        let head_lines = drawn.lines().position(|line| line.starts_with(RULE)).map_or(0, |rule| rule + 1);
        let mut out = String::new();
        for (index, line) in drawn.lines().enumerate() {
            // The rules reach beyond the last column.
            let line: String =
                if line.starts_with(RULE) { line.chars().take(width).collect() } else { line.to_owned() };
            out.push_str(line.trim_end());
            out.push('\n');
            let note = index.checked_sub(head_lines).and_then(|row| self.notes.get(row));
            if let Some(note) = note.filter(|note| !note.is_empty()) {
                out.push_str(&wrapped(note, "    ", "      ", width));
            }
        }
        out
    }

    /// How to draw the table in `width` columns, with names cut to at least `shortest` characters.
    fn fit(&self, width: usize, shortest: usize) -> Fit {
        let mut fit = Fit::whole(self);
        if self.width(&fit) <= width {
            return fit;
        }
        fit.padding = NARROW_PADDING;
        while self.width(&fit) > width {
            // The head that is wider than its column by most.
            let excess = |column: &usize| head_width(&fit.heads[*column]).saturating_sub(fit.least_head(*column));
            let columns = 0..self.heads.len();
            let Some(column) = columns.max_by_key(excess).filter(|column| excess(column) > 0) else { break };
            fit.heads[column] = in_words(&fit.heads[column], fit.least_head(column)).join("\n");
        }
        while self.width(&fit) > width {
            let names = (0..self.heads.len()).filter(|&column| !self.is_number(column));
            let longest = names.max_by_key(|&column| fit.cells[column]);
            let Some(longest) = longest.filter(|&column| fit.cells[column] > shortest) else { break };
            fit.cells[longest] -= 1;
            fit.heads[longest] = in_words(&fit.heads[longest], fit.least_head(longest)).join("\n");
        }
        fit
    }

    /// The columns of the widest line.
    fn width(&self, fit: &Fit) -> usize {
        let columns = fit.heads.iter().zip(&fit.cells).map(|(head, cells)| head_width(head).max(*cells));
        columns.sum::<usize>() + usize::from(fit.padding + 1) * self.heads.len().saturating_sub(1)
    }

    fn is_number(&self, column: usize) -> bool {
        self.heads[column].starts_with('>')
    }

    fn drawn(&self, fit: &Fit) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(fit.heads.iter().map(Cell::new));
        for row in &self.rows {
            let cell = |(column, cell): (usize, &String)| {
                if self.is_number(column) { cell.clone() } else { shortened(cell, fit.cells[column]) }
            };
            table.add_row(row.iter().enumerate().map(cell));
        }
        for index in 0..self.heads.len() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((0, fit.padding));
                if self.is_number(index) {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        table.lines().map(|line| line + "\n").collect()
    }
}

/// How a table is drawn: its heads, the width of each column's longest cell, and the blanks behind each column.
struct Fit {
    heads: Vec<String>,
    cells: Vec<usize>,
    padding: u16,
}

impl Fit {
    /// Nothing is cut.
    fn whole(table: &Table) -> Fit {
        let longest = |column| {
            let cells = table.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell: &String| display_width(cell)).max().unwrap_or(0)
        };
        Fit {
            heads: table.heads.iter().map(|head| head.trim_start_matches('>').to_owned()).collect(),
            cells: (0..table.heads.len()).map(longest).collect(),
            padding: PADDING,
        }
    }

    /// The columns that a head needs when it is broken into lines no narrower than its column.
    fn least_head(&self, column: usize) -> usize {
        let word = self.heads[column].split([' ', '\n']).map(display_width).max().unwrap_or(0);
        word.max(self.cells[column])
    }
}

/// The columns of a head, which may have several lines.
fn head_width(head: &str) -> usize {
    head.lines().map(display_width).max().unwrap_or(0)
}

/// A name for a cell.
pub(super) fn short_name(name: &str) -> String {
    shortened(name, LONGEST_NAME)
}

/// The cells of an owner: layer, phase, operator and category.
pub(super) fn owner_cells(scope: &ScopeNames, category: Category) -> [String; 4] {
    owner_cells_of_width(scope, category, LONGEST_NAME)
}

/// The same for names of at most `most` characters.
pub(super) fn owner_cells_of_width(scope: &ScopeNames, category: Category, most: usize) -> [String; 4] {
    let name = |name: &str| shortened(name_or_dash(name), most);
    [name(&scope.layer), name(&scope.phase), name(&scope.op), category.to_string()]
}

/// The owner's cells in a row that sums up several owners.
pub(super) fn rest_cells(owners: usize) -> [String; 4] {
    [format!("rest ({owners})"), "-".to_owned(), "-".to_owned(), "-".to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = table(&["made by a layer", ">bytes that were freed", "freed in"]);
        let cells = |made: &str, bytes: &str, freed: &str| [made, bytes, freed].map(str::to_owned);
        table.add_row(cells("encoder.layers.11.attention.out", "1,024", "backward"));
        table.add_row_with_note(cells("fc", "12,345", "-"), "a note of a few words below its row".to_owned());
        table
    }

    #[test]
    fn nothing_is_cut_where_there_is_room() {
        let text = example().text(80);
        let expected = "\
made by a layer                   bytes that were freed   freed in
";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("encoder.layers.11.attention.out                   1,024   backward\n"), "{text}");
        assert_eq!(example().whole_width(), 66);
    }

    #[test]
    fn a_column_that_only_adds_is_left_out_where_there_is_no_room() {
        let mut table = table(&["layer", ">bytes", "?>of time", "?note"]);
        table.add_row(["encoder.layers.11.attention", "12,345", "33.0 %", "a word"].map(str::to_owned));
        table.add_row(["fc"].map(str::to_owned));
        assert!(table.text(60).contains("33.0 %   a word"), "{}", table.text(60));
        let narrower = table.text(40);
        assert!(narrower.contains("33.0 %") && !narrower.contains("note"), "{narrower}");
        let narrowest = table.text(26);
        assert!(narrowest.contains("12,345") && !narrowest.contains("33.0 %"), "{narrowest}");
    }

    #[test]
    fn heads_are_broken_and_names_are_cut_where_there_is_none() {
        for width in [26, 30, 40, 56, 60] {
            let text = example().text(width);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
            assert!(text.contains("12,345") && text.contains("1,024"), "{text}");
        }
        let mut wide = example();
        wide.add_row(["\u{5c64}".repeat(30), "7".to_owned(), "-".to_owned()]);
        for width in [40, 80] {
            let text = wide.text(width);
            assert!(text.lines().all(|line| display_width(line) <= width), "{width}\n{text}");
        }
        let text = example().text(40);
        assert!(text.contains('\u{2026}'), "{text}");
        assert!(text.contains("    a note of a few words below its row\n"), "{text}");
    }
}
