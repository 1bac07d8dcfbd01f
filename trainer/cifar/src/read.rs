//! Reading a file. Memory grows with the bytes that are really there, up to the longest file that a set can have.
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::CifarError;
use crate::set::{PIXELS, Set};

/// The content of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Images {
    /// The class of each image.
    pub labels: Vec<u8>,
    /// [`PIXELS`] bytes for each image: [channel, row, column].
    pub pixels: Vec<u8>,
}

/// Reads the file at `path`.
///
/// # Errors
/// When the file cannot be read, or does not consist of whole images with labels of the set.
pub fn read(path: impl AsRef<Path>, set: Set) -> Result<Images, CifarError> {
    Images::decode(File::open(path)?, set)
}

impl Images {
    /// Reads all of `from`.
    ///
    /// # Errors
    /// When `from` fails, or does not consist of whole images with labels of the set.
    pub fn decode(from: impl Read, set: Set) -> Result<Images, CifarError> {
        let longest = (set.most_images() * set.record_bytes()) as u64;
        let mut file = Vec::new();
        from.take(longest + 1).read_to_end(&mut file)?;
        if file.len() as u64 > longest {
            return Err(CifarError::TooLong { longest });
        }
        let records = file.chunks_exact(set.record_bytes());
        if let rest @ 1.. = records.remainder().len() {
            let offset = (file.len() - rest) as u64;
            return Err(CifarError::Truncated { image: records.len(), offset, needed: set.record_bytes(), got: rest });
        }
        if file.is_empty() {
            return Err(CifarError::Empty);
        }
        let mut images = Images { labels: Vec::new(), pixels: Vec::with_capacity(records.len() * PIXELS) };
        let mut labels = Labels { set, group_of: [None; 256] };
        for (image, record) in records.enumerate() {
            let (before, pixels) = record.split_at(set.label_bytes());
            images.labels.push(labels.checked(image, before)?);
            images.pixels.extend(pixels);
        }
        Ok(images)
    }
}

/// Checks the labels of one file.
struct Labels {
    set: Set,
    /// The group in which each class was met first.
    group_of: [Option<u8>; 256],
}

impl Labels {
    /// The class of an image, from the bytes before its pixels.
    fn checked(&mut self, image: usize, bytes: &[u8]) -> Result<u8, CifarError> {
        let offset = (image * self.set.record_bytes()) as u64;
        let in_range = |what, offset, found, count| {
            if found < count { Ok(()) } else { Err(CifarError::OutOfRange { offset, what, found, image, count }) }
        };
        let class = bytes[bytes.len() - 1];
        let Some(groups) = self.set.groups() else {
            in_range("class", offset, class, self.set.classes())?;
            return Ok(class);
        };
        let found = bytes[0];
        in_range("group", offset, found, groups)?;
        in_range("class", offset + 1, class, self.set.classes())?;
        let before = *self.group_of[usize::from(class)].get_or_insert(found);
        if before != found {
            return Err(CifarError::TwoGroups { offset, image, class, found, before });
        }
        Ok(class)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Images with these bytes before the pixels; all pixels of image n are n.
    fn file(labels: &[&[u8]]) -> Vec<u8> {
        let record = |(n, labels): (usize, &&[u8])| [labels.to_vec(), vec![n as u8; PIXELS]].concat();
        labels.iter().enumerate().flat_map(record).collect()
    }

    fn refused(file: &[u8], set: Set) -> String {
        Images::decode(file, set).expect_err("it is not whole").to_string()
    }

    #[test]
    fn images_and_labels_of_cifar_10() {
        let images = Images::decode(&file(&[&[7], &[0], &[9]])[..], Set::Cifar10).expect("whole");
        assert_eq!(images.labels, [7, 0, 9]);
        assert_eq!(images.pixels.len(), 3 * PIXELS);
        assert_eq!((images.pixels[PIXELS - 1], images.pixels[PIXELS], images.pixels[3 * PIXELS - 1]), (0, 1, 2));
    }

    /// The second byte is the class; the first only groups the classes.
    #[test]
    fn classes_of_cifar_100_are_the_fine_ones() {
        let images = Images::decode(&file(&[&[19, 99], &[4, 0]])[..], Set::Cifar100).expect("whole");
        assert_eq!(images.labels, [99, 0]);
        assert_eq!(images.pixels[PIXELS], 1);
    }

    #[test]
    fn a_file_is_read_from_disk() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("test_batch.bin");
        std::fs::write(&path, file(&[&[3]])).expect("written");
        assert_eq!(read(&path, Set::Cifar10).expect("whole").labels, [3]);
        assert!(matches!(read(folder.path().join("none"), Set::Cifar10), Err(CifarError::Io(_))));
    }

    #[test]
    fn a_cut_is_told_with_the_image_that_is_not_whole() {
        let whole = file(&[&[7], &[0], &[9]]);
        assert_eq!(
            refused(&whole[..2 * 3073 + 100], Set::Cifar10),
            "truncated: image 2 begins at byte 6146 and needs 3073 bytes, of which 100 are there"
        );
        assert_eq!(refused(&[], Set::Cifar10), "empty: it has no bytes");
        // A file of the one set read as the other: three records are two of 3074 bytes and a rest.
        assert!(refused(&whole, Set::Cifar100).contains("begins at byte 6148"));
    }

    #[test]
    fn labels_out_of_range_are_told_with_their_byte() {
        assert_eq!(
            refused(&file(&[&[7], &[10]]), Set::Cifar10),
            "byte 3073: class 10 of image 1, and the set has 10 (0 to 9)"
        );
        assert!(refused(&file(&[&[20, 0]]), Set::Cifar100).starts_with("byte 0: group 20 of image 0"));
        assert!(refused(&file(&[&[0, 1], &[0, 100]]), Set::Cifar100).starts_with("byte 3075: class 100 of image 1"));
    }

    #[test]
    fn a_class_is_in_one_group() {
        assert_eq!(
            refused(&file(&[&[5, 42], &[6, 43], &[6, 42]]), Set::Cifar100),
            "byte 6148: image 2 has class 42 in group 6, and an image before it in group 5"
        );
    }

    /// An endless source ends the reading one byte behind the longest file.
    #[test]
    fn no_file_is_longer_than_the_longest() {
        let error = Images::decode(std::io::repeat(0), Set::Cifar10).expect_err("endless").to_string();
        assert_eq!(error, "longer than the 30730000 bytes of the longest file of this set");
    }

    /// Every cut of a file of one image, of either set.
    #[test]
    fn every_truncation_is_refused() {
        for (set, labels) in [(Set::Cifar10, &[7][..]), (Set::Cifar100, &[3, 7])] {
            let whole = file(&[labels]);
            assert!(Images::decode(&whole[..], set).is_ok());
            for kept in 0..whole.len() {
                assert!(Images::decode(&whole[..kept], set).is_err(), "{kept} bytes of {set:?}");
            }
        }
    }

    proptest! {
        /// Of several images, a cut between two of them is the only one that leaves a file.
        #[test]
        fn a_cut_leaves_whole_images_or_nothing(count in 1usize..5, cut in 0usize..5 * 3073) {
            let whole = file(&vec![&[1][..]; count]);
            let kept = &whole[..cut.min(whole.len())];
            let read = Images::decode(kept, Set::Cifar10);
            match read {
                Ok(images) => prop_assert_eq!(images.labels.len() * 3073, kept.len()),
                Err(_) => prop_assert!(kept.is_empty() || !kept.len().is_multiple_of(3073)),
            }
        }

        /// Whatever the bytes are: no panic, and what is read holds together.
        #[test]
        fn damage_never_panics(bytes in vec(any::<u8>(), 0..64), set in prop_oneof![Just(Set::Cifar10), Just(Set::Cifar100)], places in vec(0usize..3 * 3074, 0..64)) {
            let mut damaged = file(&[&[1, 2][..set.label_bytes()]; 3]);
            for (place, byte) in places.into_iter().zip(&bytes) {
                let place = place % damaged.len();
                damaged[place] = *byte;
            }
            for source in [&damaged[..], &bytes] {
                if let Ok(images) = Images::decode(source, set) {
                    prop_assert_eq!(images.pixels.len(), images.labels.len() * PIXELS);
                    prop_assert!(images.labels.iter().all(|&label| label < set.classes()));
                }
            }
        }
    }
}
