//! Where a field stands in an object of libtorch's. No version promises the places of fields. So a field is looked for: objects are copied in
//! which its content is known, and the place at which that stands in each of them is the field's.

/// So many objects have to agree.
const ENOUGH: u32 = 4;

/// The words at which a field may stand, counted from the object's beginning: a bit for each.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    places: u64,
    objects: u32,
}

impl Field {
    /// One of the first `words` words, of which there are less than 64.
    pub const fn among(words: usize) -> Field {
        Field { places: (1 << words) - 1, objects: 0 }
    }

    /// Leaves the places that an object allows: those for which `is_there` says so.
    pub fn narrow(&mut self, is_there: impl Fn(usize) -> bool) {
        self.places &= (0..u64::BITS as usize)
            .filter(|&at| self.places >> at & 1 != 0 && is_there(at))
            .fold(0, |bits, at| bits | 1 << at);
        self.objects += 1;
    }

    /// Where the field stands, if one place is left after enough objects.
    pub fn place(&self) -> Option<usize> {
        (self.objects >= ENOUGH && self.places.is_power_of_two()).then_some(self.places.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of eight words, of which the fourth is known; the sixth is the same in the first objects.
    #[test]
    fn a_field_is_where_its_content_stands_in_every_object() {
        let mut field = Field::among(8);
        let objects: [[u64; 8]; 5] = std::array::from_fn(|number| {
            let known = 100 + number as u64;
            [1, 2, 3, known, 5, if number < 4 { known } else { 0 }, 7, 8]
        });
        for (number, object) in objects.iter().enumerate() {
            assert_eq!(field.place(), None, "after {number} objects");
            field.narrow(|at| object[at] == 100 + number as u64);
        }
        assert_eq!(field.place(), Some(3));
        field.narrow(|_| false);
        assert_eq!(field.place(), None);
    }

    #[test]
    fn few_objects_are_not_believed() {
        let mut field = Field::among(2);
        (0..3).for_each(|_| field.narrow(|at| at == 1));
        assert_eq!(field.place(), None);
        field.narrow(|at| at == 1);
        assert_eq!(field.place(), Some(1));
    }
}
