//! Places in memory, in order.
use super::smaps::Range;

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
        let places = Places::new(vec![100..110, 300..301, 105..125]);
        assert_eq!(places.0, [100..125, 300..301]);
        let meets = [90..100, 90..101, 124..200, 125..300, 125..301, 301..400].map(|range| places.meet(&range));
        assert_eq!(meets, [false, true, true, false, true, false]);
    }
}
