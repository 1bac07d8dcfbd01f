//! Folded lines, the input of flamegraphs: `frame;frame;frame bytes`, the outermost frame first.
//!
//! A missing name is the frame `(none)`. Several such frames in a row become one.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use alloc_timeline::{Call, Dimension, NONE, Timeline};

use crate::analysis::{Measure, measured_bytes, sites};
use crate::model::{Run, is_unfit, scope_of};
use crate::view::words::names::owner_name;
use crate::view::words::stacks::{NO_CALL, location};

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
    let parts = |layer: &str| layer.split('.').map(frame_name).collect();
    folded(&stacks(timeline, order, parts), |_| true)
}

/// The same for a picture, in which a frame stands alone: the frame of a layer has the layer's whole path. A layer that holds
/// nothing but one layer inside of it has no frame of its own.
pub(super) fn folded_peak_with_paths(timeline: &Timeline, order: FlameOrder) -> Vec<String> {
    let stacks = stacks(timeline, order, |layer| paths(layer).map(frame_name).collect());
    let mut inside: BTreeMap<&[Frame], BTreeSet<&Frame>> = BTreeMap::new();
    for stack in stacks.keys() {
        for end in 1..stack.len() {
            inside.entry(&stack[..end]).or_default().insert(&stack[end]);
        }
    }
    let is_one_layer = |frames: &BTreeSet<&Frame>| frames.len() == 1 && frames.iter().all(|frame| frame.is_layer);
    folded(&stacks, |stack| {
        let is_layer = stack.last().is_some_and(|frame| frame.is_layer);
        !(is_layer && inside.get(stack).is_some_and(is_one_layer))
    })
}

/// The path of a layer, and before it those of the layers that it is inside of, the outermost first.
pub(super) fn paths(layer: &str) -> impl Iterator<Item = &str> {
    layer.match_indices('.').map(|(dot, _)| &layer[..dot]).chain([layer])
}

/// A frame on others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    name: String,
    is_layer: bool,
}

/// The owners of the peak as stacks of frames, the outermost frame first, with their bytes; `layer_frames` are the frames of a
/// layer's path.
fn stacks(
    timeline: &Timeline,
    order: FlameOrder,
    layer_frames: impl Fn(&str) -> Vec<String>,
) -> BTreeMap<Vec<Frame>, u64> {
    let mut stacks: BTreeMap<Vec<Frame>, u64> = BTreeMap::new();
    for row in timeline.peak.rows.iter().filter(|row| row.usable_bytes > 0) {
        let scope = scope_of(&timeline.scopes, row.scope);
        let mut frames: Vec<Frame> = Vec::new();
        for dimension in order.dimensions() {
            let name = dimension.of(scope, row.category);
            let is_layer = dimension == Dimension::Layer && name != NONE;
            let names = if is_layer { layer_frames(name) } else { vec![frame_name(name)] };
            frames.extend(names.into_iter().map(|name| Frame { name, is_layer }));
        }
        frames.dedup_by(|a, b| a == b && a.name == NONE);
        frames.push(Frame { name: format!("[{}]", row.category), is_layer: false });
        *stacks.entry(frames).or_default() += row.usable_bytes;
    }
    stacks
}

/// Stacks as folded lines, sorted. A frame stays if the stack up to it `stays`.
fn folded(stacks: &BTreeMap<Vec<Frame>, u64>, stays: impl Fn(&[Frame]) -> bool) -> Vec<String> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, bytes) in stacks {
        let frames = (0..stack.len()).filter(|&end| stays(&stack[..=end])).map(|end| stack[end].name.as_str());
        *lines.entry(frames.collect::<Vec<_>>().join(";")).or_default() += bytes;
    }
    lines.into_iter().map(|(stack, bytes)| format!("{stack} {bytes}")).collect()
}

/// A name as a frame. Characters with a meaning in folded lines are replaced: `;` ends a frame, a control character may end
/// the line, and `#` at the beginning starts a comment.
pub(super) fn frame_name(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if c == ';' {
                ':'
            } else if is_unfit(c) {
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

/// The name of a call. That of an interpreted function comes with its file and line, because such names say less.
fn call_name(call: &Call) -> String {
    let place = if call.language.is_some() { location(call) } else { String::new() };
    call.function.clone() + &place
}

/// The sampled stacks as folded lines, sorted, each with its scope in brackets on top. The bytes sum to all sampled bytes.
pub fn folded_stacks(run: &Run, measure: Measure) -> Vec<String> {
    let Some(stacks) = &run.timeline.stacks else { return Vec::new() };
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for site in sites(&run.timeline, measure) {
        let mut frames: Vec<String> = site.calls.iter().map(|call| frame_name(&call_name(call))).collect();
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
    use alloc_timeline::Scope;

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

    /// In the picture a frame has a whole path. At the peak layer1 holds bytes in layer1.0 alone, and that in its bn1 alone.
    #[test]
    fn a_picture_has_whole_paths_and_no_floors_without_a_choice() {
        let line = |timeline: &Timeline| {
            let lines = folded_peak_with_paths(timeline, FlameOrder::default());
            lines.into_iter().filter(|line| line.starts_with("forward;layer1")).collect::<Vec<_>>()
        };
        let mut timeline = tiny();
        assert_eq!(line(&timeline), ["forward;layer1.0.bn1;aten::batch_norm;[activation] 2048"]);
        let mut other = *timeline.peak.rows.iter().find(|row| row.usable_bytes == 2048).expect("a row");
        other.scope = timeline.scopes.len() as u32;
        timeline.peak.rows.push(other);
        timeline.scopes.push(Scope { phase: "forward".into(), layer: "layer1.0.conv1".into(), op: "op".into() });
        let both = [
            "forward;layer1.0;layer1.0.bn1;aten::batch_norm;[activation] 2048",
            "forward;layer1.0;layer1.0.conv1;op;[activation] 2048",
        ];
        assert_eq!(line(&timeline), both);
        assert_eq!(paths("a.0.b").collect::<Vec<_>>(), ["a", "a.0", "a.0.b"]);
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
