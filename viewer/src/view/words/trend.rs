//! Trends in words.
use crate::analysis::{StepGrowth, Trend, step_growth};
use crate::model::{Run, change};
use crate::view::words::names::owner_name;

/// The largest number of owners in [`growth_paragraph`].
const MOST_LINES: usize = 5;

/// A trend in a few words.
pub(in crate::view) fn trend_words(trend: &Trend) -> String {
    match trend {
        Trend::TooFewSteps => "too few steps to tell".to_owned(),
        Trend::Steady => "steady".to_owned(),
        Trend::Uneven => "up and down".to_owned(),
        Trend::Shrinks => "shrinks".to_owned(),
        Trend::WarmUp { until_step } => format!("warm-up until step {until_step}"),
        Trend::LevelledOff { until_step } => format!("levelled off at step {until_step}"),
        Trend::Grows { since_step, slowing: false, .. } => format!("grows since step {since_step}"),
        Trend::Grows { since_step, slowing: true, .. } => format!("grows since step {since_step}, slowing"),
        Trend::Doubles { last_step, .. } => format!("doubles, last at step {last_step}"),
    }
}

/// What the owners are called that have no figures of their own, by the trend of all of them together. Only the owners that changed the
/// most have their own, so where there are many these may have changed as well.
pub(in crate::view) fn others_name(trend: &Trend) -> &'static str {
    if matches!(trend, Trend::Steady | Trend::TooFewSteps) { "those that did not change" } else { "all others" }
}

/// The bytes a step of a trend that is growth; empty for others.
pub(in crate::view) fn rate_words(trend: &Trend) -> String {
    if trend.is_growth() { change(trend.bytes_per_step().into()) } else { String::new() }
}

/// A name and its trend: `data: +4.0 MiB a step since step 12`.
pub(in crate::view) fn trend_sentence(name: &str, trend: &Trend) -> String {
    let rate = rate_words(trend);
    match trend {
        Trend::Grows { since_step, slowing: true, .. } => {
            format!("{name}: {rate} a step since step {since_step}, but ever less: it may be a cache that fills")
        }
        Trend::Grows { since_step, .. } => format!("{name}: {rate} a step since step {since_step}"),
        Trend::Doubles { since_step, last_step, .. } => {
            format!("{name}: doubles since step {since_step}, last at step {last_step}; {rate} a step on the whole")
        }
        other => format!("{name}: {}", trend_words(other)),
    }
}

/// One sentence for each owner that grows.
pub(in crate::view) fn growth_sentences(growth: &StepGrowth) -> Vec<String> {
    let owners = growth.owners.iter().filter(|owner| owner.trend.is_growth());
    let named = owners.map(|owner| trend_sentence(&owner_name(&owner.scope), &owner.trend));
    let others = growth.others.is_growth().then(|| trend_sentence(others_name(&growth.others), &growth.others));
    named.chain(others).collect()
}

/// The owners that grow, as a paragraph for another text. It is empty when nothing grows or no growth was recorded.
pub fn growth_paragraph(run: &Run) -> String {
    let lines = step_growth(&run.timeline).map(|growth| growth_sentences(&growth)).unwrap_or_default();
    if lines.is_empty() {
        return String::new();
    }
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut out = String::from("Grows from step to step\n");
    lines.iter().take(MOST_LINES).for_each(|line| out.push_str(&format!("  {line}\n")));
    if more > 0 {
        out.push_str(&format!("  and {more} more: viewer growth\n"));
    }
    out.push('\n');
    out
}
