//! What users write to have blocks sampled with their call stacks: `512KiB`, or `512KiB,7` with a seed.
use crate::size;

/// The largest mean distance between two samples that is accepted, in bytes. It keeps sums of distances far from overflowing.
const MAX_MEAN: u64 = 1 << 40;

/// The mean distance between two samples, in allocated bytes, and the seed of the random numbers that a text such as `512KiB,7`
/// names; a text without a seed names seed 0. `None` for any other text. Allocates nothing.
pub fn parse(text: &str) -> Option<(u64, u64)> {
    let (mean, seed) = text.split_once(',').unwrap_or((text, "0"));
    let mean = size::parse(mean).ok().filter(|mean| (1..=MAX_MEAN).contains(mean))?;
    Some((mean, seed.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_a_mean_and_perhaps_a_seed() {
        for (text, settings) in [("512KiB", (512 << 10, 0)), ("1MiB,7", (1 << 20, 7)), ("1, 18", (1, 18))] {
            assert_eq!(parse(text), Some(settings), "{text}");
        }
        for text in ["", "0", "x", "512KiB,", "512KiB,x", "2048GiB", "1,2,3"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
