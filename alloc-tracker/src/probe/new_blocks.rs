//! Where the program's new blocks lie: in these places pages are touched next.
use super::smaps::Range;

/// So many places are kept: a program that allocates more large blocks within a tick is counted without them.
const MOST: usize = 512;

/// The places of blocks that the program has allocated since somebody last asked; of more than can be kept, the first.
#[derive(Debug, Default)]
pub struct NewBlocks {
    places: Vec<Range>,
}

impl NewBlocks {
    /// None.
    pub const fn new() -> Self {
        NewBlocks { places: Vec::new() }
    }

    /// One more, of so many bytes at `address`.
    pub fn add(&mut self, address: u64, bytes: u64) {
        self.push(address as usize..(address.saturating_add(bytes)) as usize);
    }

    /// And later ones.
    pub fn append(&mut self, later: NewBlocks) {
        later.places.into_iter().for_each(|place| self.push(place));
    }

    fn push(&mut self, place: Range) {
        if self.places.len() < MOST {
            self.places.push(place);
        }
    }

    /// All of them, in the order in which they came.
    pub fn places(self) -> impl Iterator<Item = Range> {
        self.places.into_iter()
    }
}

/// Places in order, without overlaps.
#[derive(Debug)]
pub struct Places(Vec<Range>);

impl Places {
    /// Puts places in order.
    pub fn new(mut places: Vec<Range>) -> Self {
        places.sort_unstable_by_key(|place| place.start);
        places.dedup_by(|next, before| {
            let touches = next.start <= before.end;
            if touches {
                before.end = before.end.max(next.end);
            }
            touches
        });
        Places(places)
    }

    /// Whether one of them has a byte in `range`.
    pub fn meet(&self, range: &Range) -> bool {
        let next = self.0.partition_point(|place| place.end <= range.start);
        self.0.get(next).is_some_and(|place| place.start < range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_meets_what_has_a_byte_of_it() {
        let (mut new, mut later) = (NewBlocks::new(), NewBlocks::new());
        new.add(100, 10);
        new.add(300, 1);
        later.add(105, 20);
        new.append(later);
        let places = Places::new(new.places().collect());
        assert_eq!(places.0, [100..125, 300..301]);
        let meets = [90..100, 90..101, 124..200, 125..300, 125..301, 301..400].map(|range| places.meet(&range));
        assert_eq!(meets, [false, true, true, false, true, false]);
    }

    #[test]
    fn so_many_are_kept() {
        let mut new = NewBlocks::new();
        (0..=MOST as u64).for_each(|place| new.add(place, 1));
        assert_eq!(new.places().last(), Some(MOST - 1..MOST));
    }
}
