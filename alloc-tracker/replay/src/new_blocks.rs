//! Where the program's new blocks lie: in these places pages are touched next.
use std::ops::Range;

use crate::event::Event;

/// So many places are kept: a program that allocates more large blocks between two looks is looked at without them.
const MOST: usize = 512;

/// The addresses of followed blocks that were allocated, or got a new address, since somebody last asked; of more than can be kept, the
/// first.
#[derive(Debug, Default)]
pub struct NewBlocks {
    places: Vec<Range<u64>>,
}

impl NewBlocks {
    /// Takes in an event.
    pub(crate) fn note(&mut self, event: &Event) {
        if let Event::Allocated { address, size, .. }
        | Event::Adopted { address, size, .. }
        | Event::ResizeEnded { address: Some(address), size, .. } = *event
        {
            self.push(address..address.saturating_add(size.usable));
        }
    }

    /// Takes in later ones, which are gone there.
    pub fn append(&mut self, later: &mut NewBlocks) {
        later.places.drain(..).for_each(|place| self.push(place));
    }

    fn push(&mut self, place: Range<u64>) {
        if self.places.len() < MOST {
            self.places.push(place);
        }
    }

    /// Takes all of them, in the order in which they came.
    pub fn take_places(&mut self) -> impl Iterator<Item = Range<u64>> {
        self.places.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::BlockSize;

    fn allocated(address: u64, usable: u64) -> Event {
        let size = BlockSize { usable, requested: usable };
        Event::Allocated { scope: 1, address, size, op_call: 0, category: None }
    }

    #[test]
    fn blocks_are_where_they_were_allocated_or_went() {
        let (mut new, mut later) = (NewBlocks::default(), NewBlocks::default());
        let size = BlockSize { usable: 5, requested: 4 };
        new.note(&allocated(100, 10));
        new.note(&Event::Freed { scope: 1, address: 100, size, op_call: 0, freed_in: None });
        new.note(&Event::ResizeEnded { address: None, size, token: 1 });
        later.note(&Event::ResizeEnded { address: Some(300), size, token: 1 });
        new.append(&mut later);
        assert_eq!(new.take_places().collect::<Vec<_>>(), [100..110, 300..305]);
        assert_eq!((new.take_places().count(), later.take_places().count()), (0, 0));
    }

    #[test]
    fn so_many_are_kept() {
        let mut new = NewBlocks::default();
        (0..=MOST as u64).for_each(|address| new.note(&allocated(address, 1)));
        assert_eq!(new.take_places().last(), Some(MOST as u64 - 1..MOST as u64));
    }
}
