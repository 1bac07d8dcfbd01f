//! The table of the owners of the peak that comes with a chart.
use crate::analysis::owners;
use crate::model::{Run, exact, share, size};
use crate::view::text::table::{owner_cells, owner_cells_of_width, render, rest_cells, table};
use crate::view::text::terminal::Terminal;

/// Columns of a terminal that has room for long names and for a column of rounded sizes.
const WIDE: usize = 110;
/// The longest name in a narrower terminal.
const NARROW_NAME: usize = 24;

/// The `most` biggest owners of the peak, and the rest in one row.
pub fn top_table(run: &Run, most: usize, terminal: Terminal) -> String {
    let peak = &run.timeline.peak;
    let owners = owners(peak, run.scopes());
    let wide = terminal.width >= WIDE;
    let mut heads = vec!["layer", "phase", "op", "category", ">bytes", ">share"];
    if wide {
        heads.push(">");
    }
    let mut table = table(&heads);
    let mut row = |cells: [String; 4], bytes: u64| {
        let numbers = [exact(bytes), share(bytes, peak.live_bytes)];
        table.add_row(cells.into_iter().chain(numbers).chain(wide.then(|| size(bytes))));
    };
    for owner in owners.iter().take(most) {
        let cells = if wide {
            owner_cells(&owner.scope, owner.category)
        } else {
            owner_cells_of_width(&owner.scope, owner.category, NARROW_NAME)
        };
        row(cells, owner.bytes);
    }
    if owners.len() > most {
        let rest = &owners[most..];
        row(rest_cells(rest.len()), rest.iter().map(|owner| owner.bytes).sum());
    }
    format!("Who owns the peak\n{}", render(&table))
}
