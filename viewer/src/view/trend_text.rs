//! A trend in words and as a small picture.
use crate::analysis::{OwnerGrowth, StepGrowth, Trend, place_name, step_growth};
use crate::model::{Run, change};
use alloc_timeline::{NONE, Place};

/// The most lines of [`growing_lines`].
const MOST_LINES: usize = 5;

/// What a trend is, in a few words.
pub fn words(trend: &Trend) -> String {
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

/// Bytes a step, for those that grow.
pub fn rate(trend: &Trend) -> String {
    if trend.is_growth() { change(trend.bytes_per_step().into()) } else { String::new() }
}

/// One line for each owner that grows: `data: +4.0 MiB a step since step 12`.
pub fn growers(growth: &StepGrowth) -> Vec<String> {
    let owners = growth.owners.iter().filter(|owner| owner.trend.is_growth());
    owners.map(|owner| sentence(&owner_name(owner), &owner.trend)).collect()
}

/// What grows from step to step, in lines to be put below something else; empty when nothing does, or nobody knows.
pub fn growing_lines(run: &Run) -> String {
    let lines = step_growth(&run.timeline).map(|growth| growers(&growth)).unwrap_or_default();
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

/// An owner and its trend: `data: +4.0 MiB a step since step 12`.
pub(crate) fn sentence(name: &str, trend: &Trend) -> String {
    let rate = rate(trend);
    match trend {
        Trend::Grows { since_step, slowing: true, .. } => {
            format!("{name}: {rate} a step since step {since_step}, but ever less: it may be a cache that fills")
        }
        Trend::Grows { since_step, .. } => format!("{name}: {rate} a step since step {since_step}"),
        Trend::Doubles { since_step, last_step, .. } => {
            format!("{name}: doubles since step {since_step}, last at step {last_step}; {rate} a step on the whole")
        }
        other => format!("{name}: {}", words(other)),
    }
}

/// An owner as one name: `conv1 in forward, aten::conv2d`.
pub fn owner_name(owner: &OwnerGrowth) -> String {
    let named = |name: &str| if name == NONE { String::new() } else { name.to_owned() };
    let place = place_name(&Place { phase: named(&owner.phase), layer: named(&owner.layer) });
    match (place.as_str(), owner.op.as_str()) {
        (_, NONE) => place,
        (NONE, op) => op.to_owned(),
        (place, op) => format!("{place}, {op}"),
    }
}

const LEVELS: [char; 8] =
    ['\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];

/// The course of `values` in `width` characters, from the least to the most of them.
pub fn sparkline(values: &[u64], width: usize) -> String {
    let (Some(&low), Some(&high)) = (values.iter().min(), values.iter().max()) else { return String::new() };
    let width = width.min(values.len());
    let level = |value: u64| match u128::from(high - low) {
        0 => 0,
        range => (u128::from(value - low) * (LEVELS.len() as u128 - 1) / range) as usize,
    };
    let columns = (0..width).map(|column| {
        let (from, to) = (column * values.len() / width, (column + 1) * values.len() / width);
        values[from..to].iter().copied().max().unwrap_or(low)
    });
    columns.map(|value| LEVELS[level(value)]).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn a_sparkline_goes_from_least_to_most() {
        assert_eq!(sparkline(&[5, 6, 7, 12], 4), "\u{2581}\u{2582}\u{2583}\u{2588}");
        assert_eq!(sparkline(&[3; 9], 4), "\u{2581}".repeat(4));
        assert_eq!(sparkline(&[0, u64::MAX], 8), "\u{2581}\u{2588}");
        assert_eq!(sparkline(&[], 8), "");
    }
}
