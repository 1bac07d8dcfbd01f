//! The parts of a line of the book, by name.
use std::collections::BTreeMap;

use alloc_timeline::{BookLine, BookPart};

/// A line has at most so many parts; the smallest ones are summed up.
const MOST_PARTS: usize = 16;

/// Bytes by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts(BTreeMap<String, u64>);

impl Parts {
    /// Adds bytes to the part of this name.
    pub fn add(&mut self, name: &str, bytes: u64) {
        if bytes > 0 {
            *self.0.entry(name.to_owned()).or_default() += bytes;
        }
    }

    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// By how many bytes two lists of parts differ.
    pub fn distance(&self, other: &Parts) -> u64 {
        let of = |parts: &Parts, name: &String| parts.0.get(name).copied().unwrap_or_default();
        let here = self.0.iter().map(|(name, bytes)| bytes.abs_diff(of(other, name)));
        let there = other.0.iter().filter(|(name, _)| !self.0.contains_key(*name)).map(|(_, bytes)| *bytes);
        here.chain(there).sum()
    }

    /// The line of the book, with the largest parts first.
    pub fn line(&self, name: &str, source: &str) -> BookLine {
        let mut parts: Vec<BookPart> =
            self.0.iter().map(|(name, &bytes)| BookPart { name: name.clone(), bytes: bytes as i64 }).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        if parts.len() > MOST_PARTS {
            let others = parts.split_off(MOST_PARTS - 1);
            let name = format!("{} others", others.len());
            parts.push(BookPart { name, bytes: others.iter().map(|part| part.bytes).sum() });
        }
        BookLine { name: name.to_owned(), bytes: self.total() as i64, source: source.to_owned(), parts }
    }
}

impl FromIterator<(String, u64)> for Parts {
    fn from_iter<I: IntoIterator<Item = (String, u64)>>(parts: I) -> Self {
        let mut sum = Parts::default();
        parts.into_iter().for_each(|(name, bytes)| sum.add(&name, bytes));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty parts of 1 to 20 bytes: the largest fifteen stay, and the others are 1 + 2 + 3 + 4 + 5 bytes.
    #[test]
    fn the_smallest_parts_are_summed_up() {
        let parts: Parts = (1..=20).map(|bytes| (format!("part {bytes:02}"), bytes)).collect();
        let line = parts.line("a line", "a test");
        assert_eq!((line.bytes, line.parts.len()), (210, MOST_PARTS));
        assert_eq!(line.parts[0], BookPart { name: "part 20".to_owned(), bytes: 20 });
        assert_eq!(line.parts[15], BookPart { name: "5 others".to_owned(), bytes: 15 });
        assert_eq!(line.parts.iter().map(|part| part.bytes).sum::<i64>(), 210);
    }

    #[test]
    fn the_distance_counts_both_sides() {
        let parts =
            |list: &[(&str, u64)]| list.iter().map(|&(name, bytes)| (name.to_owned(), bytes)).collect::<Parts>();
        assert_eq!(parts(&[("a", 5), ("b", 1)]).distance(&parts(&[("a", 3), ("c", 7)])), 2 + 1 + 7);
    }
}
