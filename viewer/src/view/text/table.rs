//! Tables in a terminal: all of them look the same.
use alloc_timeline::Category;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::model::{ScopeNames, shortened};
use crate::view::words::names::name_or_dash;

/// Lines below the head and at the end, and none between rows or columns.
const STYLE: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill(RULE).junction(RULE))
    .bottom_border(LineStyle::none().fill(RULE).junction(RULE));

/// What those lines are drawn with.
pub(super) const RULE: char = '\u{2500}';

/// The longest name that a table displays in full.
const LONGEST_NAME: usize = 30;

/// A table with these column heads. A head that begins with `>` belongs to a column of numbers, aligned to the right.
pub(super) fn table<S: AsRef<str>>(heads: &[S]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.iter().map(|head| Cell::new(head.as_ref().trim_start_matches('>'))));
    for (index, head) in heads.iter().enumerate() {
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 2));
            if head.as_ref().starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

/// The text of a table, without blanks at the ends of its lines.
pub(super) fn render(table: &Table) -> String {
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
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
    [format!("rest ({owners} owners)"), "-".to_owned(), "-".to_owned(), "-".to_owned()]
}
