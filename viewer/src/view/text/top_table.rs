//! The table of the owners of the peak that comes with a chart.
use crate::analysis::owners;
use crate::model::{Run, exact, share, size};
use crate::view::text::table::{is_wide, owner_cells, rest_cells, table};
use crate::view::text::terminal::Terminal;

/// The `most` biggest owners of the peak, and the rest in one row.
pub fn top_table(run: &Run, most: usize, terminal: Terminal) -> String {
    let peak = &run.timeline.peak;
    let owners = owners(peak, run.scopes());
    let wide = is_wide(terminal.width);
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
        row(owner_cells(&owner.scope, owner.category), owner.bytes);
    }
    if owners.len() > most {
        let rest = &owners[most..];
        row(rest_cells(rest.len()), rest.iter().map(|owner| owner.bytes).sum());
    }
    format!("Who owns the peak\n{}", table.text(terminal.width))
}
