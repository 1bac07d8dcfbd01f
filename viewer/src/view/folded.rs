//! Folded lines, the input of flamegraphs: `frame;frame;frame bytes`, the outermost frame first.
//!
//! A missing name is the frame `(none)`. Several such frames in a row become one.
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use alloc_timeline::{Dimension, NONE, Timeline};

use crate::analysis::{Measure, measured_bytes, sites};
use crate::model::{Run, scope_of};
use crate::view::words::names::owner_name;
use crate::view::words::stacks::NO_CALL;

/// The order in which the frames of phase, layer and operator lie on each other, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameOrder([Dimension; 3]);

/// A text that is no order of phase, layer and operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlameOrderError {
    text: String,
}

impl fmt::Display for FlameOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.text;
        write!(f, "'{text}' is not an order of phase, layer and op: write for example layer,phase,op")
    }
}

impl std::error::Error for FlameOrderError {}

impl FlameOrder {
    /// The three dimensions, the lowest frame first.
    pub fn dimensions(self) -> [Dimension; 3] {
        self.0
    }
}

impl Default for FlameOrder {
    fn default() -> Self {
        FlameOrder([Dimension::Phase, Dimension::Layer, Dimension::Op])
    }
}

impl FromStr for FlameOrder {
    type Err = FlameOrderError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || FlameOrderError { text: text.to_owned() };
        let all = FlameOrder::default().0;
        let named = |name: &str| all.into_iter().find(|dimension| dimension.name() == name.trim());
        let order: Vec<Dimension> = text.split(',').map(named).collect::<Option<_>>().ok_or_else(wrong)?;
        let order: [Dimension; 3] = order.try_into().map_err(|_| wrong())?;
        let repeated = order[0] == order[1] || order[1] == order[2] || order[0] == order[2];
        if repeated { Err(wrong()) } else { Ok(FlameOrder(order)) }
    }
}

/// The owners of the peak as folded lines, sorted. A layer path has one frame for each of its parts. The bytes sum to the
/// live bytes of the peak.
pub fn folded_peak(timeline: &Timeline, order: FlameOrder) -> Vec<String> {
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for row in timeline.peak.rows.iter().filter(|row| row.usable_bytes > 0) {
        let scope = scope_of(&timeline.scopes, row.scope);
        let mut frames: Vec<String> = Vec::new();
        for dimension in order.dimensions() {
            let name = dimension.of(scope, row.category);
            match dimension {
                Dimension::Layer if name != NONE => frames.extend(name.split('.').map(frame_name)),
                _ => frames.push(frame_name(name)),
            }
        }
        frames.dedup_by(|a, b| a == b && a == NONE);
        frames.push(format!("[{}]", row.category));
        *stacks.entry(frames.join(";")).or_default() += row.usable_bytes;
    }
    stacks.into_iter().map(|(stack, bytes)| format!("{stack} {bytes}")).collect()
}

/// A name as a frame. Characters with a meaning in folded lines are replaced: `;` ends a frame, a control character may end
/// the line, and `#` at the beginning starts a comment.
pub(super) fn frame_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if c == ';' {
                ':'
            } else if c.is_control() {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    let name = name.trim();
    match name.strip_prefix('#') {
        _ if name.is_empty() => "?".to_owned(),
        Some(rest) => format!("\u{2116}{rest}"),
        None => name.to_owned(),
    }
}

/// The sampled stacks as folded lines, sorted, each with its scope in brackets on top. The bytes sum to all sampled bytes.
pub fn folded_stacks(run: &Run, measure: Measure) -> Vec<String> {
    let Some(stacks) = &run.timeline.stacks else { return Vec::new() };
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for site in sites(&run.timeline, measure) {
        let mut frames: Vec<String> = site.calls.iter().map(|call| frame_name(&call.function)).collect();
        if site.cut {
            frames.insert(0, "(cut)".to_owned());
        }
        if frames.is_empty() {
            frames.push(NO_CALL.to_owned());
        }
        frames.push(frame_name(&format!("[{}]", owner_name(&site.scope))));
        let sum = lines.entry(frames.join(";")).or_default();
        *sum = sum.saturating_add(site.bytes(measure));
    }
    let others = measured_bytes(&stacks.others, measure);
    if others > 0 {
        lines.insert("(others)".to_owned(), others);
    }
    lines.into_iter().map(|(stack, bytes)| format!("{stack} {bytes}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn stacks_sum_to_the_peak_and_split_layers_at_dots() {
        let lines = folded_peak(&tiny(), FlameOrder::default());
        assert_eq!(
            lines,
            [
                "(none);[other] 128",
                "(none);[runtime] 512",
                "backward;conv1;ConvolutionBackward0;[gradient] 1024",
                "forward;conv1;aten::conv2d;[activation] 8192",
                "forward;layer1;0;bn1;aten::batch_norm;[activation] 2048",
                "init;conv1;aten::empty;[parameter] 4096",
            ]
        );
    }

    #[test]
    fn the_order_can_be_turned() {
        let lines = folded_peak(&tiny(), "layer,phase,op".parse().unwrap());
        assert!(lines.contains(&"conv1;forward;aten::conv2d;[activation] 8192".to_owned()), "{lines:?}");
        for wrong in ["layer", "layer,layer,op", "phase,layer,category", ""] {
            assert!(wrong.parse::<FlameOrder>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_cannot_break_a_stack() {
        assert_eq!(frame_name("a;b"), "a:b");
        assert_eq!(frame_name("# x"), "\u{2116} x");
        assert_eq!(frame_name(" \n"), "\u{fffd}");
        assert_eq!(frame_name(""), "?");
    }
}
