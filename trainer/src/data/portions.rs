//! Which images of a data set a run learns from, day by day, and which it is told to hold out to measure its accuracy on.
//!
//! ```text
//! all images in a seeded order:   held out | skipped | day 1 | day 2 | ... | day N | left over
//! ```
//!
//! The order depends on the seed and the number of images alone: two runs with one seed hold out the same images, and a run
//! that skips what another learned from sees none of it again.
use super::order::Order;

/// How a data set is dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dealt {
    /// Images on which accuracy is measured, and from which nothing is learned.
    pub held_out: usize,
    /// Images behind them that are passed over.
    pub skipped: usize,
    /// Portions.
    pub days: usize,
    /// Images of a portion; without, all that are left are dealt out evenly.
    pub a_day: Option<usize>,
}

/// The images of a data set by index, dealt out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portions {
    /// Those held out.
    pub held_out: Vec<usize>,
    /// Those of each day; none is empty.
    pub days: Vec<Vec<usize>>,
}

impl Dealt {
    /// Whether `images` images are enough.
    ///
    /// # Errors
    /// When they are too few; it says how many are needed.
    pub fn check(self, images: usize) -> Result<(), TooFew> {
        let Dealt { held_out, skipped, days, a_day } = self;
        let each_day = days.saturating_mul(a_day.unwrap_or(1));
        let needed = held_out.saturating_add(skipped).saturating_add(each_day);
        if needed > images { Err(TooFew { images, needed }) } else { Ok(()) }
    }

    /// Deals out `images` images.
    ///
    /// # Errors
    /// When there are too few.
    pub fn portions(self, images: usize, seed: u64) -> Result<Portions, TooFew> {
        self.check(images)?;
        let Dealt { held_out, skipped, days, a_day } = self;
        let before = held_out + skipped;
        let order: Vec<usize> = Order::new(images, seed).take(images).collect();
        let a_day = a_day.unwrap_or((images - before) / days.max(1));
        let days = order[before..].chunks(a_day.max(1)).take(days).map(<[usize]>::to_vec).collect();
        Ok(Portions { held_out: order[..held_out].to_vec(), days })
    }
}

/// A data set has fewer images than are dealt out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the data has {images} images, and held-out, skipped and daily ones are {needed}; give fewer, or another --data"
)]
pub struct TooFew {
    /// Those that it has.
    pub images: usize,
    /// Those that are needed.
    pub needed: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_is_dealt_once() {
        let dealt = Dealt { held_out: 10, skipped: 5, days: 3, a_day: Some(20) };
        let Portions { held_out, days } = dealt.portions(100, 1).expect("enough");
        assert_eq!((held_out.len(), days.iter().map(Vec::len).collect::<Vec<_>>()), (10, vec![20, 20, 20]));
        let mut all = [held_out.clone(), days.concat()].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 70);
        let further = Dealt { skipped: 25, days: 1, ..dealt }.portions(100, 1).expect("enough");
        assert_eq!((&further.held_out, &further.days[0]), (&held_out, &days[1]), "20 further on");
    }

    /// 100 - 10 - 5 = 85 images on three days: 28 each, and one left over.
    #[test]
    fn evenly() {
        let dealt = Dealt { held_out: 10, skipped: 5, days: 3, a_day: None };
        let portions = dealt.portions(100, 1).expect("enough");
        assert_eq!(portions.days.iter().map(Vec::len).collect::<Vec<_>>(), [28; 3]);
    }

    #[test]
    fn too_few() {
        let dealt = Dealt { held_out: 10, skipped: 5, days: 3, a_day: Some(30) };
        assert_eq!(dealt.portions(100, 1), Err(TooFew { images: 100, needed: 105 }));
        assert_eq!(dealt.portions(105, 1).expect("enough").days.len(), 3);
        assert!(Dealt { held_out: 100, a_day: None, ..dealt }.portions(105, 1).is_err());
    }
}
