//! `viewer times`: the self time of each phase, layer, operator and operation, forward and backward.
use alloc_timeline::Dimension;

use crate::analysis::{NameTime, SelfTimes};
use crate::model::{Run, share};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::table::{short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::names::name_in;
use crate::view::words::self_time::{basis_words, milliseconds};

/// The tables, each with at most `most` rows and the rest in one more.
pub fn times_text(run: &Run, times: &SelfTimes, most: usize, terminal: Terminal) -> String {
    let width = terminal.width;
    let mut out = format!("{}\n", run.title());
    let meaning = format!(
        "Self time in milliseconds {}. It is the time in the scopes of a name themselves: what passes in a scope inside of one \
         belongs to that. Each table sums to the same.",
        basis_words(&times.basis)
    );
    out.push_str(&wrapped(&meaning, "", "", width));
    let unnamed = |dimension: Dimension| move |name: &str| short_name(&name_in(dimension, name));
    for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op] {
        out.push_str(&format!("\nBy {dimension}\n"));
        let kinds = KindColumn::for_dimension(run, dimension);
        out.push_str(&of_names(times, dimension.name(), &times.by(dimension), kinds, unnamed(dimension), most, width));
    }
    out.push_str("\nBy operation: an operator and its backward pass together\n");
    let none = KindColumn::for_dimension(run, Dimension::Op);
    out.push_str(&of_names(times, "operation", &times.by_operation(), none, unnamed(Dimension::Op), most, width));
    fitted(&out, width)
}

fn of_names(
    times: &SelfTimes,
    head: &str,
    rows: &[NameTime],
    kinds: KindColumn<'_>,
    shown: impl Fn(&str) -> String,
    most: usize,
    width: usize,
) -> String {
    let whole = times.whole_ns();
    let mut heads = vec![head, ">self ms", ">share", ">forward", ">backward", ">other"];
    let has_calls = rows.iter().any(|row| row.calls.is_some());
    if has_calls {
        heads.push(">calls");
    }
    let mut table = table(&kinds.behind(&heads));
    let mut add = |name: String, row: &NameTime, kind: Option<String>| {
        let part = |ns: u64| if ns == 0 { "-".to_owned() } else { milliseconds(&times.basis, ns) };
        let parts = [part(row.forward_ns), part(row.backward_ns), part(row.other_ns())];
        let cells = [name, milliseconds(&times.basis, row.self_ns), share(row.self_ns, whole)].into_iter().chain(parts);
        let calls = row.calls.map(|calls| format!("{:.1}", times.basis.a_step(calls)));
        table.add_row(cells.chain(calls).chain(kind));
    };
    rows.iter().take(most).for_each(|row| add(shown(&row.name), row, kinds.of(&row.name)));
    if let Some(rest) = rows.get(most..).filter(|rest| !rest.is_empty()) {
        let sum = |number: fn(&NameTime) -> u64| rest.iter().map(number).fold(0, u64::saturating_add);
        let row = NameTime {
            name: String::new(),
            self_ns: sum(|row| row.self_ns),
            forward_ns: sum(|row| row.forward_ns),
            backward_ns: sum(|row| row.backward_ns),
            calls: has_calls.then(|| sum(|row| row.calls.unwrap_or(0))),
        };
        add(format!("rest ({})", rest.len()), &row, kinds.blank());
    }
    table.text(width)
}
