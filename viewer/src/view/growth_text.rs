//! `viewer growth` and `viewer leaks` for people.
use crate::analysis::{FEWEST_STEPS, leaks, step_growth};
use crate::model::{Run, change, exact, shortened, size};
use crate::view::owners_text::NOT_RECORDED;
use crate::view::stacks_text::growing_stacks;
use crate::view::table::{LONGEST_NAME, part, table, text};
use crate::view::trend_text::{growers, owner_name, rate, sparkline, words};

/// Characters of an owner's name, and of the picture of its course.
const NAME: usize = 44;
const COURSE: usize = 24;

/// What survives from step to step: who grows, since when, how fast.
pub fn growth_text(run: &Run, most: usize) -> String {
    let mut out = format!("{}\n\n", run.title());
    let Some(growth) = step_growth(&run.timeline) else { return out + NOT_RECORDED };
    let (Some(first), Some(last)) = (growth.steps.first(), growth.steps.last()) else {
        return out + "Nothing to compare: the program told of no steps (Session::begin_step)\n";
    };
    out.push_str(&format!("What survives from step to step, steps {first} to {last}\n\n"));
    let lines = growers(&growth);
    if lines.is_empty() {
        let few = growth.steps.len() < FEWEST_STEPS;
        let answer = if few { "There are too few steps to tell what grows" } else { "Nothing grows" };
        out.push_str(&format!("  {answer}\n"));
    } else {
        for line in &lines {
            out.push_str(&format!("  {line}\n"));
        }
        out.push_str(&format!("  together {} a step\n", change(growth.bytes_per_step.into())));
    }
    let mut table = table(&["owner", "category", ">held last", ">a step", "what it does", "course"]);
    for owner in growth.owners.iter().take(most) {
        table.add_row([
            shortened(&owner_name(owner), NAME),
            owner.category.to_string(),
            size(owner.last_bytes()),
            rate(&owner.trend),
            words(&owner.trend),
            sparkline(&owner.live_bytes, COURSE),
        ]);
    }
    let count = growth.owners.len().saturating_sub(most);
    if count > 0 {
        let rest = growth.owners[most..].iter().map(|owner| owner.last_bytes()).sum();
        let name = format!("rest ({count} owners)");
        table.add_row([name, String::new(), size(rest), String::new(), String::new(), String::new()]);
    }
    let held = |column: &[u64]| column.last().copied().unwrap_or(0);
    for (name, column, what) in [
        ("those that did not change", &growth.other_bytes, words(&growth.others)),
        ("= live", &growth.live_bytes, String::new()),
    ] {
        let course = sparkline(column, COURSE);
        table.add_row([name.to_owned(), String::new(), size(held(column)), String::new(), what, course]);
    }
    out.push_str(&format!("\n{}", text(&table)));
    let stacks = growing_stacks(run);
    if !stacks.is_empty() {
        out.push_str("\nBy stack, estimated from samples (viewer stacks --of growth)\n");
        stacks.iter().for_each(|line| out.push_str(&format!("  {line}\n")));
    }
    out
}

/// What was live at exit, those that grew with every step first.
pub fn leaks_text(run: &Run, most: usize) -> String {
    let snapshot = &run.timeline.at_exit.snapshot;
    let leaks = leaks(&run.timeline);
    let blocks: u64 = leaks.iter().fold(0, |sum, leak| sum.saturating_add(leak.blocks));
    let mut out = format!(
        "{}\n\nLive at exit: {} bytes ({}) in {} blocks\n\n",
        run.title(),
        exact(snapshot.live_bytes),
        size(snapshot.live_bytes),
        exact(blocks)
    );
    let mut table =
        table(&["layer", "phase", "op", "category", ">blocks", ">requested", ">bytes", "from step to step"]);
    for leak in leaks.iter().take(most) {
        let trend = leak.trend.map_or("-".to_owned(), |trend| match rate(&trend) {
            rate if rate.is_empty() => words(&trend),
            rate => format!("{}, {rate} a step", words(&trend)),
        });
        table.add_row([
            part(&leak.layer, LONGEST_NAME),
            part(&leak.phase, LONGEST_NAME),
            part(&leak.op, LONGEST_NAME),
            leak.category.to_string(),
            exact(leak.blocks),
            exact(leak.requested_bytes),
            exact(leak.usable_bytes),
            trend,
        ]);
    }
    if leaks.len() > most {
        let rest = &leaks[most..];
        let sum = |of: fn(&crate::analysis::Leak) -> u64| exact(rest.iter().map(of).fold(0, u64::saturating_add));
        let dash = || "-".to_owned();
        table.add_row([
            format!("rest ({} owners)", rest.len()),
            dash(),
            dash(),
            dash(),
            sum(|leak| leak.blocks),
            sum(|leak| leak.requested_bytes),
            sum(|leak| leak.usable_bytes),
            dash(),
        ]);
    }
    out.push_str(&text(&table));
    out
}
