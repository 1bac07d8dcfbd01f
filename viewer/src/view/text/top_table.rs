//! The table of the owners of the peak that comes with a chart.
use crate::analysis::owners;
use crate::model::{Run, exact, share, size};
use crate::view::text::table::{is_wide, owner_cells, rest_cells, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::wrapped;
use crate::view::words::self_time::SelfColumns;

/// The `most` biggest owners of the peak, and the rest in one row.
pub fn top_table(run: &Run, most: usize, terminal: Terminal) -> String {
    let peak = &run.timeline.peak;
    let owners = owners(peak, run.scopes());
    let wide = is_wide(terminal.width);
    let mut heads = vec!["layer", "phase", "op", "category", ">bytes", ">share"];
    if wide {
        heads.push(">");
    }
    // In a narrow terminal they would leave no room for names.
    let times = if wide { SelfColumns::new(&run.timeline) } else { SelfColumns::none() };
    let mut table = table(&times.behind(&heads));
    let mut row = |cells: [String; 4], bytes: u64, time: Vec<String>| {
        let numbers = [exact(bytes), share(bytes, peak.live_bytes)];
        table.add_row(cells.into_iter().chain(numbers).chain(wide.then(|| size(bytes))).chain(time));
    };
    for (index, owner) in owners.iter().take(most).enumerate() {
        // A scope with several categories has its time in the first of its rows.
        let is_first = owners[..index].iter().all(|before| before.scope != owner.scope);
        let time = if is_first { times.of_scopes(|names| *names == owner.scope) } else { times.blank() };
        row(owner_cells(&owner.scope, owner.category), owner.bytes, time);
    }
    if owners.len() > most {
        let rest = &owners[most..];
        row(rest_cells(rest.len()), rest.iter().map(|owner| owner.bytes).sum(), times.blank());
    }
    let meaning = times.meaning().map_or_else(String::new, |meaning| wrapped(&meaning, "", "  ", terminal.width));
    format!("Who owns the peak\n{}{meaning}", table.text(terminal.width))
}
