//! The slice of Fashion-MNIST that is committed, so that the demo and the tests need no download.
//!
//! Images are taken in their original order while their class has room: every class gets `count / 10` of them, and the
//! classes that are first to want one more share what is left over.

use std::path::Path;

use anyhow::Result;

use super::idx::{self, IMAGES_HEAD, LABELS_HEAD, SIDE};
use super::{NAMES, packed};

/// Training images in the slice.
pub const TRAIN: usize = 512;
/// Test images in the slice.
pub const TEST: usize = 128;

const CLASSES: usize = 10;

/// Cuts the slice of the full set in `full` into `out`.
pub fn cut(full: &Path, out: &Path) -> Result<()> {
    let read = |file: usize| idx::read_packed(&packed(full, NAMES[file]));
    let [train_images, train_labels] = part(&read(0)?, &read(1)?, TRAIN);
    let [test_images, test_labels] = part(&read(2)?, &read(3)?, TEST);
    idx::write_all_packed(out, &[train_images, train_labels, test_images, test_labels])
}

/// `count` images and their labels of one part of the set.
fn part(images: &[u8], labels: &[u8], count: usize) -> [Vec<u8>; 2] {
    let labels = &labels[LABELS_HEAD..];
    let chosen = choose(labels, count);
    let pixels: Vec<&[u8]> = images[IMAGES_HEAD..].chunks_exact(SIDE * SIDE).collect();
    let chosen_pixels: Vec<&[u8]> = chosen.iter().map(|index| pixels[*index]).collect();
    let chosen_labels: Vec<u8> = chosen.iter().map(|index| labels[*index]).collect();
    [idx::images(&chosen_pixels), idx::labels(&chosen_labels)]
}

/// The places of the images in the slice, in order.
fn choose(labels: &[u8], count: usize) -> Vec<usize> {
    let (each, mut left_over) = (count / CLASSES, count % CLASSES);
    let mut taken = [0; CLASSES];
    let mut chosen = Vec::with_capacity(count);
    for (index, label) in labels.iter().enumerate() {
        let taken = &mut taken[usize::from(*label)];
        if *taken < each {
            *taken += 1;
        } else if *taken == each && left_over > 0 {
            *taken += 1;
            left_over -= 1;
        } else {
            continue;
        }
        chosen.push(index);
        if chosen.len() == count {
            break;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn committed() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fashion-mnist")
    }

    #[test]
    fn the_first_images_are_taken_while_their_class_has_room() {
        // Twelve of ten classes: one each, and one more for the first two classes that ask again (3, then 0).
        let labels = [0, 3, 3, 3, 0, 0, 1, 2, 4, 5, 6, 1, 7, 8, 9, 9];
        assert_eq!(choose(&labels, 12), [0, 1, 2, 4, 6, 7, 8, 9, 10, 12, 13, 14]);
    }

    #[test]
    fn the_committed_slice_is_whole_and_balanced() {
        for (images, labels, count) in [(0, 1, TRAIN), (2, 3, TEST)] {
            let content = |file: usize| {
                let content = idx::read_packed(&packed(&committed(), NAMES[file])).unwrap();
                idx::check(NAMES[file], &content).unwrap();
                content
            };
            assert_eq!(content(images).len(), IMAGES_HEAD + count * SIDE * SIDE);
            let labels = content(labels);
            let labels = &labels[LABELS_HEAD..];
            assert_eq!(labels.len(), count);
            for class in 0..CLASSES {
                let found = labels.iter().filter(|label| usize::from(**label) == class).count();
                assert!(found == count / CLASSES || found == count / CLASSES + 1, "class {class}: {found}");
            }
        }
    }

    #[test]
    fn packing_the_committed_slice_again_gives_the_same_bytes() {
        // What `cargo xtask data slice` writes must not depend on the machine or the day.
        for name in NAMES {
            let path = packed(&committed(), name);
            let content = idx::read_packed(&path).unwrap();
            assert!(idx::pack(&content).unwrap() == std::fs::read(&path).unwrap(), "{name}");
        }
    }
}
