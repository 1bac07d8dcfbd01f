//! The format massif.out, which ms_print and massif-visualizer read.
//!
//! `mem_heap_B` is the number of requested bytes, and `mem_heap_extra_B` is what the allocator set aside beyond them. The
//! peak and the marks with a snapshot become detailed snapshots. Their tree goes from phase to layer, operator and
//! category, in requested bytes as in massif's own trees. All other snapshots are empty ones, without a tree. Nobody reads
//! thousands of samples, so at most [`MOST_SAMPLES`] are written: the highest one of each span of time.
use std::collections::BTreeMap;
use std::fmt::Write;

use alloc_timeline::{Dimension, NONE, Snapshot, Timeline};

use crate::model::{Run, scope_of};

/// The largest number of samples that are written.
const MOST_SAMPLES: usize = 200;

/// One snapshot of the file.
struct MassifSnapshot<'a> {
    time_ns: u64,
    requested: u64,
    live: u64,
    /// The rows of the tree, when the snapshot has one.
    tree: Option<&'a Snapshot>,
}

/// A node of the tree. Its bytes are the sum of its children's bytes.
#[derive(Default)]
struct Node {
    bytes: u64,
    children: BTreeMap<String, Node>,
}

/// The text of the file.
pub fn massif(run: &Run) -> String {
    let timeline = &run.timeline;
    let mut out = String::new();
    let command = run.fact("command").unwrap_or_else(|| run.title());
    // Writing into a String cannot fail, here and below.
    let _ = write!(out, "desc: {}\ncmd: {}\ntime_unit: ms\n", line(&run.title()), line(&command));
    for (number, snapshot) in snapshots(timeline).iter().enumerate() {
        let extra = snapshot.live.saturating_sub(snapshot.requested);
        let kind = match snapshot.tree {
            None => "empty",
            Some(tree) if std::ptr::eq(tree, &timeline.peak) => "peak",
            Some(_) => "detailed",
        };
        let _ = write!(
            out,
            "#-----------\nsnapshot={number}\n#-----------\ntime={}\nmem_heap_B={}\nmem_heap_extra_B={extra}\n\
             mem_stacks_B=0\nheap_tree={kind}\n",
            snapshot.time_ns / 1_000_000,
            snapshot.requested,
        );
        if let Some(rows) = snapshot.tree {
            write_node(&mut out, "(all blocks by phase, layer, operator and category)", &tree(timeline, rows), 0);
        }
    }
    out
}

/// The samples that are written, and the exactly known snapshots, in the order of time.
fn snapshots(timeline: &Timeline) -> Vec<MassifSnapshot<'_>> {
    let series = &timeline.series;
    let count = series.time_ns.len();
    let group = count.div_ceil(MOST_SAMPLES).max(1);
    let indices: Vec<usize> = (0..count).collect();
    let mut snapshots: Vec<MassifSnapshot<'_>> = indices
        .chunks(group)
        .filter_map(|group| group.iter().copied().max_by_key(|index| series.live_bytes[*index]))
        .map(|index| MassifSnapshot {
            time_ns: series.time_ns[index],
            requested: series.requested_bytes[index],
            live: series.live_bytes[index],
            tree: None,
        })
        .collect();
    let exact = timeline.marks.iter().filter_map(|mark| mark.snapshot.as_ref()).chain([&timeline.peak]);
    snapshots.extend(exact.map(|snapshot| MassifSnapshot {
        time_ns: snapshot.time_ns,
        requested: snapshot.requested_bytes,
        live: snapshot.live_bytes,
        tree: Some(snapshot),
    }));
    snapshots.sort_by_key(|snapshot| snapshot.time_ns);
    snapshots
}

/// The requested bytes of `snapshot` as a tree.
fn tree(timeline: &Timeline, snapshot: &Snapshot) -> Node {
    let mut root = Node::default();
    for row in &snapshot.rows {
        let scope = scope_of(&timeline.scopes, row.scope);
        let mut node = &mut root;
        node.bytes = node.bytes.saturating_add(row.requested_bytes);
        for dimension in Dimension::ALL {
            let name = dimension.of(scope, row.category);
            let name = if name == NONE { format!("(no {dimension})") } else { name.to_owned() };
            node = node.children.entry(name).or_default();
            node.bytes = node.bytes.saturating_add(row.requested_bytes);
        }
    }
    root
}

/// One line for the node, then its children, the biggest first. massif-visualizer needs an address in front of the name.
fn write_node(out: &mut String, name: &str, node: &Node, depth: usize) {
    let address = if depth == 0 { "" } else { "0x0: " };
    let _ = writeln!(out, "{}n{}: {} {address}{}", " ".repeat(depth), node.children.len(), node.bytes, line(name));
    let mut children: Vec<(&String, &Node)> = node.children.iter().collect();
    children.sort_by(|a, b| b.1.bytes.cmp(&a.1.bytes).then_with(|| a.0.cmp(b.0)));
    for (name, child) in children {
        write_node(out, name, child, depth + 1);
    }
}

/// Text for one line. `#` begins a comment anywhere in this format, so a number sign takes its place.
fn line(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c == '#' {
                '\u{2116}'
            } else if c.is_control() {
                ' '
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_peak_is_a_tree_whose_parts_sum_to_it() {
        let text = massif(&Run::new("x", tiny()));
        assert!(text.contains("time=4\nmem_heap_B=15000\nmem_heap_extra_B=1000\nmem_stacks_B=0\nheap_tree=peak\n"));
        // Four phases: (no phase), init, forward, backward. 9,600 = 15/16 of 8,192 + 2,048.
        assert!(text.contains("n4: 15000 (all blocks"), "{text}");
        assert!(text.contains("\n n2: 9600 0x0: forward\n"), "{text}");
        assert_eq!(text.matches("snapshot=").count(), 7);
    }

    #[test]
    fn a_hash_does_not_begin_a_comment() {
        assert_eq!(line("{closure#0}\n"), "{closure\u{2116}0} ");
    }
}
