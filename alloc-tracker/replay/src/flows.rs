//! The ownership matrix: which bytes were allocated in one place and freed in another. A place is a layer in a phase.
use alloc_timeline::{Category, Fate, Flow, Place};
use rustc_hash::FxHashMap;

use crate::amount::Amount;
use crate::group::GroupId;

/// Routes that are kept apart; blocks on further ones are one rest.
const MOST_ROUTES: usize = 16 * 1024;
/// Rows of one fate that reach the file; the others are one rest for each category.
const MOST_ROWS: usize = 256;

/// From where to where blocks of one category went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// Where they were allocated.
    pub from: GroupId,
    /// Where they were freed; `None` when that is not known, or they are live.
    pub to: Option<GroupId>,
    pub fate: Fate,
    pub category: Category,
}

/// The followed blocks that were freed, by route.
#[derive(Debug, Default)]
pub struct Flows {
    routes: FxHashMap<Route, Amount>,
    /// What found no room in `routes`.
    rest: FxHashMap<(Fate, Category), Amount>,
}

impl Flows {
    /// A block went this way.
    pub fn add(&mut self, route: Route, block: Amount) {
        let full = self.routes.len() >= MOST_ROUTES;
        match self.routes.get_mut(&route) {
            Some(sum) => *sum += block,
            None if full => *self.rest.entry((route.fate, route.category)).or_default() += block,
            None => {
                self.routes.insert(route, block);
            }
        }
    }

    /// As the file has them, together with what is `held`: the largest of each fate, and the rest by category.
    pub fn table(
        &self,
        held: impl IntoIterator<Item = (Route, Amount)>,
        place: impl Fn(GroupId) -> Place,
    ) -> Vec<Flow> {
        let mut routes: FxHashMap<Route, Amount> = self.routes.clone();
        for (route, amount) in held {
            *routes.entry(route).or_default() += amount;
        }
        let mut routes: Vec<(Route, Amount)> = routes.into_iter().filter(|(_, amount)| amount.blocks > 0).collect();
        routes.sort_by_key(|(route, amount)| {
            (route.fate, std::cmp::Reverse(amount.usable), route.from, route.to, route.category)
        });
        let mut rest = self.rest.clone();
        let mut flows = Vec::new();
        for fate in routes.chunk_by(|(a, _), (b, _)| a.fate == b.fate) {
            let (largest, others) = fate.split_at(fate.len().min(MOST_ROWS));
            let row = |&(route, amount): &(Route, Amount)| {
                flow(Some(place(route.from)), route.to.map(&place), (route.fate, route.category), amount)
            };
            flows.extend(largest.iter().map(row));
            for &(route, amount) in others {
                *rest.entry((route.fate, route.category)).or_default() += amount;
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
    let (usable_bytes, requested_bytes) = (amount.usable as u64, amount.requested as u64);
    Flow { from, fate, to, category, usable_bytes, requested_bytes, blocks: amount.blocks as u64 }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::Sums;

    use super::*;

    fn route(from: u32, to: u32, fate: Fate) -> Route {
        Route { from, to: Some(to), fate, category: Category::Other }
    }

    fn place(number: u32) -> Place {
        Place { phase: format!("phase {number}"), layer: String::new() }
    }

    /// 40,000 routes of a byte each, and one of 1,000 bytes: the biggest keep their names, and nothing is lost.
    #[test]
    fn what_finds_no_room_is_the_rest() {
        let mut flows = Flows::default();
        let bytes = |usable| Amount { usable, requested: usable, blocks: 1 };
        flows.add(route(7, 8, Fate::Temporary), bytes(1_000));
        for number in 0..40_000 {
            flows.add(route(number, number + 1, Fate::Freed), bytes(1));
        }
        let held = [(Route { to: None, ..route(7, 8, Fate::Held) }, bytes(5))];
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
