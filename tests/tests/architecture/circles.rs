//! Circles of files: each uses the next, and the last the first.
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::arrows::Arrows;

/// Circles that have no arrow in common, short ones first: without one arrow of each there are none left, or fewer.
/// Each is a line `a -> b -> a: names of the first arrow; of the second`.
pub fn circles(arrows: &Arrows) -> Vec<String> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        left.entry(from).or_default().insert(to);
    }
    let mut circles = Vec::new();
    while let Some(circle) = left.keys().filter_map(|start| shortest(&left, start)).min_by_key(Vec::len) {
        let mut names = Vec::new();
        for pair in circle.windows(2) {
            left.get_mut(pair[0]).expect("it has arrows").remove(pair[1]);
            let used = &arrows[&(pair[0].to_owned(), pair[1].to_owned())];
            names.push(used.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        }
        circles.push(format!("{}: {}", circle.join(" -> "), names.join("; ")));
    }
    circles
}

/// The shortest way from `start` back to itself.
fn shortest<'a>(arrows: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str) -> Option<Vec<&'a str>> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(file) = open.pop_front() {
        for next in arrows.get(file).into_iter().flatten() {
            if *next == start {
                let mut way = vec![file];
                while let Some(before) = came_from.get(way[way.len() - 1]) {
                    way.push(before);
                }
                way.reverse();
                way.push(start);
                return Some(way);
            }
            if !came_from.contains_key(next) {
                came_from.insert(next, file);
                open.push_back(next);
            }
        }
    }
    None
}
