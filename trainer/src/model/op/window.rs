//! A window that slides along the sides of a map.

/// A square window that slides over a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its side.
    pub kernel: u64,
    /// How far it moves at a time.
    pub stride: u64,
    /// Border around the map.
    pub padding: u64,
    /// Whether a last window that lies partly beyond the border counts.
    pub ceil: bool,
}

impl Window {
    /// A window that stays within the border.
    pub const fn new(kernel: u64, stride: u64, padding: u64) -> Window {
        Window { kernel, stride, padding, ceil: false }
    }

    /// A window that may reach beyond the border at the end.
    pub const fn ceil(kernel: u64, stride: u64, padding: u64) -> Window {
        Window { kernel, stride, padding, ceil: true }
    }

    /// Windows along a side of `side` pixels, or `None` when not even one fits. With `ceil`, the last one has to begin
    /// within the map or its left border (`pooling_output_shape` of ATen/native/Pool.h).
    pub fn positions(self, side: u64) -> Option<u64> {
        let room = (side + 2 * self.padding).checked_sub(self.kernel)?;
        if !self.ceil {
            return Some(room / self.stride + 1);
        }
        let positions = room.div_ceil(self.stride) + 1;
        let begins_beyond = (positions - 1) * self.stride >= side + self.padding;
        Some(if begins_beyond { positions - 1 } else { positions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// floor((h + 2p - k) / s) + 1, worked by hand.
    #[test]
    fn windows_along_a_side() {
        let stem = Window::new(7, 2, 3);
        assert_eq!(stem.positions(224), Some(112), "(224 + 6 - 7) / 2 = 111 rest 1");
        assert_eq!(stem.positions(97), Some(49), "(97 + 6 - 7) / 2 = 48");
        assert_eq!(stem.positions(1), Some(1), "(1 + 6 - 7) / 2 = 0");
        assert_eq!(stem.positions(0), None, "a window of 7 does not fit into 6 pixels of border");
    }

    /// ceil((h + 2p - k) / s) + 1, unless the last window would begin beyond the map.
    #[test]
    fn windows_that_reach_beyond_the_border() {
        assert_eq!(Window::ceil(3, 2, 0).positions(112), Some(56), "109 / 2 = 54 rest 1: one more than 55");
        assert_eq!(Window::new(3, 2, 0).positions(112), Some(55));
        assert_eq!(Window::ceil(3, 2, 0).positions(111), Some(55), "108 / 2 = 54 without rest");
        assert_eq!(Window::ceil(2, 2, 1).positions(3), Some(2), "the third would begin at 4, beyond 3 + 1 - 1");
    }
}
