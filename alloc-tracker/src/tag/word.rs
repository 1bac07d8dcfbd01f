//! The packed word in which a thread counts blocks: one addition counts a block's usable bytes, its requested bytes and
//! the block itself.
//!
//! ```text
//!  63      48 47      34 33     24 23                  0
//! +----------+----------+---------+---------------------+
//! |  usable  |  blocks  |  steps  | requested + shifts  |     bytes, count, count, bytes plus the blocks' shifts
//! +----------+----------+---------+---------------------+
//! ```
//!
//! The usable bytes stand at the top, so that the word's sign bit is set when they reach [`WORD_LIMIT`]; the word must
//! then be emptied. A block adds at most [`SMALL_MAX`] usable bytes, and never fewer usable than requested bytes.
//! Because of that, no field runs over into the next one before the sign bit is set. Of the bits for blocks the highest one is not needed
//! for their number: it says that the word is *charged* ([`charge`]).
//!
//! The table of amounts (`class.rs`) serves the hot path for a second purpose: the lowest six bits of an amount, before
//! the requested bytes are added, are a layer's shift: 4 for the fine layer, 6 for the coarse one, 8 for the coarsest. The
//! hot path finds the block's tag in the shadow map with it (`shadow.rs`). So the lowest field of a word holds the sum of
//! all blocks' shifts as well; [`unpack`] subtracts that sum, which follows from the number of blocks and from how many steps of
//! 2 their shifts are above the fine one.

/// The largest request that is counted in a word, in bytes.
pub const SMALL_MAX: usize = 14_336;

/// The shift of the shadow map's fine layer, which holds the tags of most blocks. A layer has one entry for every
/// 2^shift bytes.
pub const FINE: u32 = 4;
/// The shift of the coarse layer, for plain blocks of 128 bytes to 448 whose free tells their size.
pub const COARSE: u32 = 6;
/// The shift of the coarsest layer, for plain blocks of at least 512 bytes whose free tells their size, and for those at
/// multiples of [`ALIGNMENT`] whose free does not.
pub const COARSEST: u32 = 8;
/// Two granules of the coarsest layer, in bytes. Blocks that begin at multiples of it have two entries of their own there,
/// however short they are.
pub const ALIGNMENT: usize = 2 << COARSEST;
/// The largest request that gets a block of less than 128 bytes.
const SHORT_MAX: usize = 112;
/// The largest request that gets a block of less than 512 bytes.
const MIDDLE_MAX: usize = 448;
/// By how much the shifts of two layers differ.
const STEP: u32 = 2;

/// Usable bytes at which a word must be emptied.
pub const WORD_LIMIT: i64 = 1 << (63 - USABLE_SHIFT);
const USABLE_SHIFT: u32 = 48;
const BLOCKS_SHIFT: u32 = 34;
const STEPS_SHIFT: u32 = 24;
/// Set while usable bytes of a charge stand in the word.
const CHARGED: u64 = 1 << (USABLE_SHIFT - 1);
// Each field has room for the most that it can hold. Blocks: as many of 8 bytes as reach the limit, and one more.
// Steps: as many of the smallest blocks in the coarse layer, or in the coarsest one, and one more. Requested: the limit, one
// largest block, and all blocks' shifts.
const _: () = assert!(WORD_LIMIT / 8 + 1 < 1 << (USABLE_SHIFT - 1 - BLOCKS_SHIFT));
const _: () = assert!((WORD_LIMIT / 128 + 1) * (steps(COARSE) as i64) < 1 << (BLOCKS_SHIFT - STEPS_SHIFT));
const _: () = assert!((WORD_LIMIT / 512 + 1) * (steps(COARSEST) as i64) < 1 << (BLOCKS_SHIFT - STEPS_SHIFT));
const _: () = assert!(WORD_LIMIT + SMALL_MAX as i64 + (WORD_LIMIT / 8 + 1) * (COARSEST as i64) < 1 << STEPS_SHIFT);

/// The shift of the layer of a plain block whose free tells its size. (The hot path reads the shift from the table and
/// does not branch on the size, because processors predict such branches badly.)
pub const fn layer_of(requested: usize) -> u32 {
    if requested <= SHORT_MAX {
        FINE
    } else if requested <= MIDDLE_MAX {
        COARSE
    } else {
        COARSEST
    }
}

/// How many steps the shift of a layer is above that of the fine one.
const fn steps(layer: u32) -> u64 {
    ((layer - FINE) / STEP) as u64
}

/// What one block adds to a word. In the bits of the lowest field: its shift and its requested bytes.
#[inline(always)]
pub const fn amount(usable: usize, requested: usize) -> u64 {
    let layer = layer_of(requested);
    ((usable as u64) << USABLE_SHIFT | 1 << BLOCKS_SHIFT | steps(layer) << STEPS_SHIFT | layer as u64)
        + requested as u64
}

/// What charges a word with so many usable bytes, fewer than [`WORD_LIMIT`]: it is full so many bytes earlier.
#[cfg(any(test, feature = "stacks"))]
pub const fn charge(bytes: u16) -> u64 {
    CHARGED | (bytes as u64) << USABLE_SHIFT
}

/// Whether blocks were added to a word.
#[inline(always)]
pub const fn has_blocks(word: u64) -> bool {
    word & (CHARGED - (1 << BLOCKS_SHIFT)) != 0
}

/// The usable bytes of an [`amount`].
pub const fn usable(amount: u64) -> usize {
    (amount >> USABLE_SHIFT) as usize
}

/// The sums over the blocks that were added to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// Usable bytes.
    pub usable: u64,
    /// Requested bytes.
    pub requested: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// The sums in a word, which may have been charged with so many bytes.
#[inline(always)]
pub fn unpack(word: u64, charged: u16) -> Unpacked {
    let field = |shift: u32, end: u32| word >> shift & ((1 << (end - shift)) - 1);
    let (blocks, steps) = (field(BLOCKS_SHIFT, USABLE_SHIFT - 1), field(STEPS_SHIFT, BLOCKS_SHIFT));
    let shifts = blocks * u64::from(FINE) + steps * u64::from(STEP);
    let charged = if word & CHARGED == 0 { 0 } else { u64::from(charged) };
    // Another thread that reads both may have the word of before a new charge.
    let usable = (word >> USABLE_SHIFT).saturating_sub(charged);
    Unpacked { usable, requested: field(0, STEPS_SHIFT) - shifts, blocks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_back_what_was_added_until_it_is_full() {
        for (usable, requested) in [(8, 0), (8, 8), (32, 17), (128, 113), (512, 449), (SMALL_MAX, SMALL_MAX)] {
            let (mut word, mut blocks) = (0u64, 0);
            while (word as i64) >= 0 {
                word += amount(usable, requested);
                blocks += 1;
                assert_eq!((word as i64) < 0, blocks * usable >= WORD_LIMIT as usize);
            }
            let [usable, requested, blocks] = [usable, requested, 1].map(|each| (each * blocks) as u64);
            assert_eq!(unpack(word, 7), Unpacked { usable, requested, blocks });
        }
        assert_eq!(unpack(0, 7), Unpacked { usable: 0, requested: 0, blocks: 0 });
    }

    /// A charge of all but 1,009 bytes leaves room for 9 blocks of 112, which are 1,008. It is no block.
    #[test]
    fn a_charged_word_is_full_earlier() {
        let charged = (WORD_LIMIT - 1009) as u16;
        let mut word = charge(charged);
        assert!(!has_blocks(word) && (word as i64) > 0);
        for block in 1..=9 {
            word += amount(112, 100);
            assert!(has_blocks(word) && (word as i64) > 0, "{block}");
        }
        assert_eq!(unpack(word, charged), Unpacked { usable: 1008, requested: 900, blocks: 9 });
    }
}
