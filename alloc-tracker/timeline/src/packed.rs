//! Numbered values in few bytes: a long recording keeps many of them.
use std::cmp::Ordering;

/// In a byte of a variable-length integer: another one follows.
const FOLLOWED: u8 = 0x80;

/// Values by number, in ascending order of the numbers. Each takes two variable-length integers (base 128, the lowest seven bits first,
/// as in <https://protobuf.dev/programming-guides/encoding/#varints>): the distance of its number from the one before, and the value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed(Box<[u8]>);

impl Packed {
    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (mut rest, mut number) = (&self.0[..], 0);
        std::iter::from_fn(move || {
            number += take(&mut rest)?;
            Some((number, take(&mut rest)?))
        })
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// These values and the `later` ones; of two with the same number, the later one.
    pub fn and(&self, later: &Packed) -> Packed {
        let (mut earlier, mut later) = (self.iter().peekable(), later.iter().peekable());
        std::iter::from_fn(|| {
            let order = match (earlier.peek(), later.peek()) {
                (Some((a, _)), Some((b, _))) => a.cmp(b),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            if order == Ordering::Equal {
                earlier.next();
            }
            if order == Ordering::Less { earlier.next() } else { later.next() }
        })
        .collect()
    }
}

/// The numbers must ascend.
impl FromIterator<(u64, u64)> for Packed {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(values: I) -> Self {
        let mut packing = Packing::default();
        values.into_iter().for_each(|(number, value)| packing.push(number, value));
        packing.packed()
    }
}

/// Values that are being packed, one after the other.
#[derive(Debug, Default)]
pub struct Packing {
    bytes: Vec<u8>,
    /// The number of the latest value.
    before: u64,
}

impl Packing {
    /// Adds the next value. Its number must be at least that of the one before.
    pub fn push(&mut self, number: u64, value: u64) {
        debug_assert!(number >= self.before, "{number} after {}", self.before);
        push(&mut self.bytes, number - self.before);
        push(&mut self.bytes, value);
        self.before = number;
    }

    /// All of them.
    pub fn packed(self) -> Packed {
        Packed(self.bytes.into_boxed_slice())
    }
}

/// Adds an integer to the end of `packed`.
fn push(packed: &mut Vec<u8>, mut integer: u64) {
    while integer >= u64::from(FOLLOWED) {
        packed.push(integer as u8 | FOLLOWED);
        integer >>= 7;
    }
    packed.push(integer as u8);
}

/// Takes the first integer off `packed`; `None` when there is none.
fn take(packed: &mut &[u8]) -> Option<u64> {
    let mut integer = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = packed.split_first()?;
        *packed = rest;
        integer |= u64::from(byte & !FOLLOWED) << shift;
        if byte & FOLLOWED == 0 {
            break;
        }
    }
    Some(integer)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn packed(values: &BTreeMap<u64, u64>) -> Packed {
        values.iter().map(|(&number, &value)| (number, value)).collect()
    }

    #[test]
    fn small_numbers_take_few_bytes() {
        let values = BTreeMap::from([(0, 0), (5, 127), (6, 128), (200, u64::MAX)]);
        // 1 + 1, 1 + 1, 1 + 2, and 194 in two bytes with the largest number in ten.
        assert_eq!(packed(&values).bytes(), 2 + 2 + 3 + 12);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(
            earlier in prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..20),
            mut later in prop::collection::btree_map(0..9u64, any::<u64>(), 0..9),
        ) {
            prop_assert!(packed(&earlier).iter().eq(earlier.clone()));
            later.extend(earlier.keys().step_by(2).map(|&number| (number, 7)));
            let both = packed(&earlier).and(&packed(&later));
            prop_assert!(both.iter().eq(earlier.into_iter().chain(later).collect::<BTreeMap<_, _>>()));
        }
    }
}
