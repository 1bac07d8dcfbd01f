//! The slice of Fashion-MNIST that is committed, so that the demo and the tests need no download.
//!
//! Images are taken in their original order. Every class gets `count / 10` of them; if `count` is no multiple of ten, the
//! classes whose next image comes first get one more.

use std::path::Path;

use anyhow::Result;
use trainer_idx::Idx;

use super::files::{NAMES, SIDE, gz_path, read, write_all_gz};

/// Training images in the slice.
pub const TRAIN: usize = 512;
/// Test images in the slice.
pub const TEST: usize = 128;

const CLASSES: usize = 10;

/// Cuts the slice of the full set in `full` into `out`.
pub fn cut(full: &Path, out: &Path) -> Result<()> {
    let read = |file: usize| read(&gz_path(full, NAMES[file]), NAMES[file]);
    let [train_images, train_labels] = part(&read(0)?, &read(1)?, TRAIN);
    let [test_images, test_labels] = part(&read(2)?, &read(3)?, TEST);
    write_all_gz(out, &[train_images, train_labels, test_images, test_labels])
}

/// `count` images and their labels of one part of the set.
fn part(images: &Idx, labels: &Idx, count: usize) -> [Idx; 2] {
    let chosen = choose(&labels.bytes, count);
    let pixels: Vec<&[u8]> = images.bytes.chunks_exact(SIDE * SIDE).collect();
    let chosen_pixels: Vec<&[u8]> = chosen.iter().map(|&index| pixels[index]).collect();
    let chosen_labels: Vec<u8> = chosen.iter().map(|&index| labels.bytes[index]).collect();
    let (count, side) = (chosen.len() as u32, SIDE as u32);
    [
        Idx { dims: vec![count, side, side], bytes: chosen_pixels.concat() },
        Idx { dims: vec![count], bytes: chosen_labels },
    ]
}

/// The indices of the images that the slice takes, in order.
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
            let content = |file: usize| read(&gz_path(&committed(), NAMES[file]), NAMES[file]).unwrap();
            assert_eq!(content(images).dims, [count as u32, SIDE as u32, SIDE as u32]);
            let labels = content(labels).bytes;
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
            let path = gz_path(&committed(), name);
            let content = read(&path, name).unwrap();
            assert!(trainer_idx::gzip(&content.encode()) == std::fs::read(&path).unwrap(), "{name}");
        }
    }
}
