//! Made-up images: a point for each of ten classes, seen through noise. The same seed makes the same batches, in whatever
//! framework they are learned.

/// Rows of an image, and its columns.
pub const SIDE: usize = 28;
/// Values of an image.
pub const PIXELS: usize = SIDE * SIDE;
/// Classes of images.
pub const CLASSES: usize = 10;

/// A source of batches.
#[derive(Debug)]
pub struct Images {
    random: fastrand::Rng,
    /// For each class, the image without noise.
    centres: Vec<Vec<f32>>,
}

impl Images {
    /// Images that `seed` stands for.
    pub fn new(seed: u64) -> Images {
        let mut random = fastrand::Rng::with_seed(seed);
        let centres = (0..CLASSES).map(|_| noise(&mut random).collect()).collect();
        Images { random, centres }
    }

    /// The next `size` images, one behind the other, and the class of each. Both have exactly the room that they need.
    pub fn batch(&mut self, size: usize) -> (Vec<f32>, Vec<u32>) {
        let mut pixels = Vec::with_capacity(size * PIXELS);
        let mut classes = Vec::with_capacity(size);
        for _ in 0..size {
            let class = self.random.usize(..CLASSES);
            pixels.extend(
                self.centres[class].iter().zip(noise(&mut self.random)).map(|(centre, noise)| centre + noise / 2.0),
            );
            classes.push(class as u32);
        }
        (pixels, classes)
    }
}

/// The values of one image between -1 and 1, each as likely as the other.
fn noise(random: &mut fastrand::Rng) -> impl Iterator<Item = f32> {
    (0..PIXELS).map(move |_| 2.0 * random.f32() - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_makes_one_batch() {
        let [first, second] = [Images::new(1).batch(4), Images::new(1).batch(4)];
        assert_eq!(first, second);
        assert_ne!(first, Images::new(2).batch(4));
        assert_eq!((first.0.len(), first.0.capacity()), (4 * 784, 4 * 784), "28 x 28 values each");
        assert!(first.1.iter().all(|class| *class < 10));
    }
}
