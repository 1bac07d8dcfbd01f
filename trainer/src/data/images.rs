//! Images as a reader leaves them, and the spread of their values.
use std::path::PathBuf;

/// Images with a label each.
#[derive(Debug)]
pub(super) struct Images {
    /// What the images consist of.
    pub pixels: Pixels,
    /// One for each image.
    pub labels: Vec<u32>,
    /// One for each channel: 1 if grey, 3 if red, green and blue.
    pub spread: &'static [Spread],
}

/// What images consist of.
#[derive(Debug)]
pub(super) enum Pixels {
    /// Images of one size, whole in memory: one byte a value, [image, channel, row, column].
    InMemory {
        /// All of them, one behind the other.
        bytes: Vec<u8>,
        /// In pixels.
        height: usize,
        /// In pixels.
        width: usize,
    },
    /// Images of any size in a file each, which is decoded when a batch needs it.
    Files(Vec<PathBuf>),
}

/// How the values of one channel are spread, as shares of 255. Networks take values with mean 0 and deviation 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    /// Their mean.
    pub mean: f32,
    /// Their standard deviation.
    pub deviation: f32,
}

/// The spread in which black is -1 and white 1, for each channel.
pub(super) const BETWEEN_MINUS_ONE_AND_ONE: [Spread; 3] = [Spread { mean: 0.5, deviation: 0.5 }; 3];

/// How much red, green and blue add to grey: ITU-R BT.601, as in torchvision's `Grayscale`.
const GREY: [f32; 3] = [0.299, 0.587, 0.114];

impl Images {
    /// Appends to `values` those of one image, [channel, row, column], with mean 0 and deviation 1. A colour image becomes grey
    /// for a network that takes one channel. A grey one stays grey: whoever needs three channels repeats it.
    pub fn append(&self, pixels: &[u8], channels: usize, values: &mut Vec<f32>) {
        let area = pixels.len() / self.spread.len();
        match (self.spread, channels) {
            (&[red, green, blue], 1) => {
                let spread = Spread {
                    mean: grey([red, green, blue].map(|spread| spread.mean)),
                    // The three channels of a picture go up and down together, so their deviations add.
                    deviation: grey([red, green, blue].map(|spread| spread.deviation)),
                };
                let mixed = |at: usize| grey([0, 1, 2].map(|plane| f32::from(pixels[plane * area + at])));
                values.extend((0..area).map(|at| spread.normalised(mixed(at))));
            }
            (spreads, _) => {
                for (spread, plane) in spreads.iter().zip(pixels.chunks_exact(area)) {
                    values.extend(plane.iter().map(|&value| spread.normalised(f32::from(value))));
                }
            }
        }
    }
}

/// Grey of red, green and blue.
fn grey(colours: [f32; 3]) -> f32 {
    colours.iter().zip(GREY).map(|(value, part)| value * part).sum()
}

impl Spread {
    /// A value of 0 to 255, with mean 0 and deviation 1.
    fn normalised(self, value: f32) -> f32 {
        (value / 255.0 - self.mean) / self.deviation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOUR: [Spread; 3] = [
        Spread { mean: 0.0, deviation: 1.0 },
        Spread { mean: 0.2, deviation: 0.5 },
        Spread { mean: 1.0, deviation: 0.25 },
    ];

    fn values(spread: &'static [Spread], pixels: &[u8], channels: usize) -> Vec<f32> {
        let images = Images { pixels: Pixels::Files(Vec::new()), labels: Vec::new(), spread };
        let mut values = Vec::new();
        images.append(pixels, channels, &mut values);
        values
    }

    /// Two pixels: (0, 51, 255) and (255, 51, 0). 51 of 255 is 0.2.
    #[test]
    fn each_channel_has_its_own_spread() {
        let found = values(&COLOUR, &[0, 255, 51, 51, 255, 0], 3);
        let expected = [0.0, 1.0, 0.0, 0.0, 0.0, -4.0];
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found:?}");
        assert_eq!(found.len(), 6);
    }

    /// White: 1, less the mean 0.587 x 0.2 + 0.114, over the deviation 0.299 + 0.587 x 0.5 + 0.114 x 0.25 = 0.621.
    #[test]
    fn colour_becomes_grey_for_a_grey_network() {
        let found = values(&COLOUR, &[255; 3], 1);
        assert_eq!(found.len(), 1);
        assert!((found[0] - (1.0 - 0.2314) / 0.621).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn black_can_be_minus_one_and_white_one() {
        assert_eq!(values(&BETWEEN_MINUS_ONE_AND_ONE, &[0, 255, 51], 3), [-1.0, 1.0, -0.6]);
    }

    #[test]
    fn grey_stays_grey() {
        assert_eq!(values(&COLOUR[..1], &[0, 255], 3), [0.0, 1.0]);
    }
}
