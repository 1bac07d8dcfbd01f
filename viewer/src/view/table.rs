//! Tables in a terminal: one look for all of them.
use alloc_timeline::NONE;
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use crate::analysis::{REST, owners};
use crate::model::{Run, exact, share, shortened, size};
use crate::view::Terminal;

/// Lines above, below the head and at the end; none between rows, none between columns.
const LOOK: TableStyle = TableStyle::new()
    .header_separator(LineStyle::none().fill('\u{2500}').junction('\u{2500}'))
    .bottom_border(LineStyle::none().fill('\u{2500}').junction('\u{2500}'));

/// The longest layer or operator name that a table shows in full.
pub(crate) const LONGEST_NAME: usize = 30;

/// A table with these column heads; those that begin with `>` hold numbers and are aligned to the right.
pub(crate) fn table<S: AsRef<str>>(heads: &[S]) -> Table {
    let mut table = Table::new();
    table.load_style(LOOK).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(heads.iter().map(|head| Cell::new(head.as_ref().trim_start_matches('>'))));
    for (index, head) in heads.iter().enumerate() {
        if let Some(column) = table.column_mut(index).filter(|_| head.as_ref().starts_with('>')) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        if let Some(column) = table.column_mut(index) {
            column.set_padding((0, 2));
        }
    }
    table
}

/// A table's text, each line without blanks at its end.
pub(crate) fn text(table: &Table) -> String {
    let mut out = String::new();
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// A name for a table's cell, shortened.
pub(crate) fn cell(name: &str) -> String {
    shortened(name, LONGEST_NAME)
}

/// The same where several parts of an owner stand side by side: a part that it does not have is a dash.
pub(crate) fn part(name: &str, most: usize) -> String {
    if name == NONE { "-".to_owned() } else { shortened(name, most) }
}

/// Who owns the peak: the first `most` owners and the rest. In a narrow terminal the rounded sizes are left out.
pub fn top_table(run: &Run, most: usize, terminal: Terminal) -> String {
    let peak = &run.timeline.peak;
    let owners = owners(peak, run.scopes());
    let wide = terminal.width >= 110;
    let name = |name: &str| part(name, if wide { LONGEST_NAME } else { 24 });
    let mut heads = vec!["layer", "phase", "op", "category", ">bytes", ">share"];
    if wide {
        heads.push(">");
    }
    let mut table = table(&heads);
    let mut row = |owner: [String; 4], bytes: u64| {
        let numbers = [exact(bytes), share(bytes, peak.live_bytes)];
        table.add_row(owner.into_iter().chain(numbers).chain(wide.then(|| size(bytes))));
    };
    for owner in owners.iter().take(most) {
        row([name(&owner.layer), name(&owner.phase), name(&owner.op), owner.category.to_string()], owner.bytes);
    }
    if owners.len() > most {
        let bytes = owners[most..].iter().map(|owner| owner.bytes).sum();
        let dash = || "-".to_owned();
        row([format!("{REST} ({} owners)", owners.len() - most), dash(), dash(), dash()], bytes);
    }
    format!("Who owns the peak\n{}", text(&table))
}
