//! The ownership matrix: which bytes were allocated in one place and freed in another. A place is a layer in a phase.
use alloc_timeline::{Category, Fate, Flow, Place, Sums};
use rustc_hash::FxHashMap;

use super::account::Amount;

/// Pairs of places that are told apart; what belongs to further ones is one rest.
const MOST_PAIRS: usize = 16 * 1024;
/// Rows of one fate that reach the file; the others are one rest for each category.
const MOST_ROWS: usize = 256;

/// One way that blocks can go. Places are numbers of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// Where they were allocated.
    pub from: u32,
    /// Where they were freed; `None` when that is not known.
    pub to: Option<u32>,
    pub fate: Fate,
    pub category: Category,
}

/// The blocks known by address that were freed.
#[derive(Debug, Default)]
pub struct Flows {
    ways: FxHashMap<Way, Amount>,
    /// What found no room in `ways`.
    rest: FxHashMap<(Fate, Category), Amount>,
}

impl Flows {
    /// A block went this way.
    pub fn add(&mut self, way: Way, block: Amount) {
        let full = self.ways.len() >= MOST_PAIRS;
        match self.ways.get_mut(&way) {
            Some(sum) => sum.add(block),
            None if full => self.rest.entry((way.fate, way.category)).or_default().add(block),
            None => {
                self.ways.insert(way, block);
            }
        }
    }

    /// As the file has them, together with what is `held`: the biggest of each fate, and the rest by category.
    pub fn table(&self, held: impl IntoIterator<Item = (Way, Amount)>, place: impl Fn(u32) -> Place) -> Vec<Flow> {
        let mut ways: FxHashMap<Way, Amount> = self.ways.clone();
        for (way, amount) in held {
            ways.entry(way).or_default().add(amount);
        }
        let mut ways: Vec<(Way, Amount)> = ways.into_iter().filter(|(_, amount)| amount.blocks > 0).collect();
        ways.sort_by_key(|(way, amount)| (way.fate, std::cmp::Reverse(amount.usable), way.from, way.to, way.category));
        let mut rest = self.rest.clone();
        let mut flows = Vec::new();
        let mut of_fate = (Fate::Temporary, 0);
        for (way, amount) in ways {
            of_fate = if of_fate.0 == way.fate { (way.fate, of_fate.1 + 1) } else { (way.fate, 1) };
            if of_fate.1 > MOST_ROWS {
                rest.entry((way.fate, way.category)).or_default().add(amount);
            } else {
                flows.push(flow(Some(place(way.from)), way.to.map(&place), (way.fate, way.category), amount));
            }
        }
        let mut rest: Vec<_> = rest.into_iter().collect();
        rest.sort_by_key(|(kind, _)| *kind);
        flows.extend(rest.into_iter().map(|(kind, amount)| flow(None, None, kind, amount)));
        flows.sort_by_key(|flow| flow.fate);
        flows
    }
}

fn flow(from: Option<Place>, to: Option<Place>, (fate, category): (Fate, Category), amount: Amount) -> Flow {
    let Sums { usable_bytes, requested_bytes, blocks } = sums(amount);
    Flow { from, fate, to, category, usable_bytes, requested_bytes, blocks }
}

fn sums(amount: Amount) -> Sums {
    Sums { usable_bytes: amount.usable as u64, requested_bytes: amount.requested as u64, blocks: amount.blocks as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(from: u32, to: u32, fate: Fate) -> Way {
        Way { from, to: Some(to), fate, category: Category::Other }
    }

    fn place(number: u32) -> Place {
        Place { phase: format!("phase {number}"), layer: String::new() }
    }

    /// 40,000 pairs of places, a byte each, and one pair of 1,000 bytes: the biggest keep their names, and nothing is lost.
    #[test]
    fn what_finds_no_room_is_the_rest() {
        let mut flows = Flows::default();
        let bytes = |usable| Amount { usable, requested: usable, blocks: 1 };
        flows.add(way(7, 8, Fate::Temporary), bytes(1_000));
        for number in 0..40_000 {
            flows.add(way(number, number + 1, Fate::Freed), bytes(1));
        }
        let held = [(Way { to: None, ..way(7, 8, Fate::Held) }, bytes(5))];
        let table = flows.table(held, place);
        assert_eq!(table.len(), 1 + MOST_ROWS + 1 + 1);
        let sum: Sums = table.iter().map(Flow::sums).collect();
        assert_eq!((sum.usable_bytes, sum.blocks), (41_005, 40_002));
        let rest = table.iter().find(|flow| flow.from.is_none()).expect("a rest");
        assert_eq!((rest.fate, rest.usable_bytes), (Fate::Freed, 40_000 - MOST_ROWS as u64));
        assert_eq!((table[0].fate, table[0].usable_bytes), (Fate::Temporary, 1_000));
        assert_eq!(table[0].to.as_ref().map(|to| to.phase.as_str()), Some("phase 8"));
    }
}
