//! Images and their labels, from whichever kind of data set a folder holds.
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::DataError;
use super::images::{BETWEEN_MINUS_ONE_AND_ONE, Images, Pixels};
use super::source::{Source, cifar_title};
use super::split::Split;
use super::{cifar, idx, image_folder};

/// Images, and a label for each.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    source: Source,
    images: Images,
}

impl Dataset {
    /// Reads `split` from `folder`. All labels must be below `classes`.
    pub fn open(folder: &Path, split: Split, classes: u64) -> Result<Dataset, DataError> {
        let source = Source::of(folder)?;
        let images = match source {
            Source::Idx => idx::open(folder, split, classes)?,
            Source::Cifar(set) => cifar::open(set, folder, split, classes)?,
            Source::ImageFolder => image_folder::open(folder, classes)?,
        };
        Ok(Dataset { folder: folder.to_owned(), source, images })
    }

    /// The same with black as -1 and white as 1, and not with mean 0 and deviation 1.
    pub fn between_minus_one_and_one(mut self) -> Dataset {
        self.images.spread = &BETWEEN_MINUS_ONE_AND_ONE[..self.channels()];
        self
    }

    /// What kind of data set the images are from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Which data this is, in one line: `FOLDER: CIFAR-10, 10000 images of 3x32x32`.
    pub fn description(&self) -> String {
        let title = match self.source {
            Source::Idx => "IDX",
            Source::Cifar(set) => cifar_title(set),
            Source::ImageFolder => "a folder for each class",
        };
        let size = match &self.images.pixels {
            Pixels::InMemory { height, width, .. } => format!(" of {}x{height}x{width}", self.channels()),
            Pixels::Files(_) => {
                format!(" of {} classes", self.images.labels.iter().collect::<BTreeSet<_>>().len())
            }
        };
        format!("{}: {title}, {} images{size}", self.folder.display(), self.len())
    }

    /// Number of images; at least one.
    pub fn len(&self) -> usize {
        self.images.labels.len()
    }

    /// 1 if the images are grey, 3 if they have colours.
    pub fn channels(&self) -> usize {
        self.images.spread.len()
    }

    /// The label of image `index`.
    pub fn label(&self, index: usize) -> u32 {
        self.images.labels[index]
    }

    /// Height and width of the images for a network that takes `side` x `side`: what is in memory has the size that its files
    /// have, what is decoded when it is needed gets the network's.
    pub(super) fn size(&self, side: usize) -> (usize, usize) {
        match self.images.pixels {
            Pixels::InMemory { height, width, .. } => (height, width),
            Pixels::Files(_) => (side, side),
        }
    }

    /// Whether the images come in the size of [`Dataset::size`] that their files have, and not in the network's.
    pub(super) fn needs_resizing(&self) -> bool {
        matches!(self.images.pixels, Pixels::InMemory { .. })
    }

    /// Appends to `values` those of image `index`, [channel, row, column] in the size of [`Dataset::size`], with mean 0 and
    /// deviation 1. There is one channel if the images are grey or `channels` is 1, and three otherwise.
    pub(super) fn append(
        &self,
        index: usize,
        side: usize,
        channels: usize,
        values: &mut Vec<f32>,
    ) -> Result<(), DataError> {
        let pixels = match &self.images.pixels {
            Pixels::InMemory { bytes, height, width } => {
                let size = self.channels() * height * width;
                Cow::Borrowed(&bytes[index * size..][..size])
            }
            Pixels::Files(files) => Cow::Owned(trainer_image_folder::decode(&files[index], side as u32)?),
        };
        self.images.append(&pixels, channels, values);
        Ok(())
    }

    /// Checks that the files of these images, where each has a file, are there and whole. Nothing is decoded.
    pub(super) fn check(&self, indices: impl Iterator<Item = usize>) -> Result<(), DataError> {
        let Pixels::Files(files) = &self.images.pixels else { return Ok(()) };
        for index in indices.collect::<BTreeSet<usize>>() {
            trainer_image_folder::check(&files[index])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainer_idx::Idx;

    /// A folder with `images` images of 1 x 2 pixels and the given labels.
    fn folder(images: u8, labels: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let pixels = (0..images).flat_map(|n| [n, n + 100]).collect();
        let images = Idx { dims: vec![u32::from(images), 1, 2], bytes: pixels };
        let labels = Idx { dims: vec![labels.len() as u32], bytes: labels.to_vec() };
        std::fs::write(folder.path().join("train-images-idx3-ubyte"), images.encode()).expect("written");
        std::fs::write(folder.path().join("train-labels-idx1-ubyte"), labels.encode()).expect("written");
        folder
    }

    #[test]
    fn images_and_labels_keep_together() {
        let folder = folder(3, &[5, 6, 7]);
        let data = Dataset::open(folder.path(), Split::Train, 10).expect("whole");
        assert_eq!((data.len(), data.size(64), data.label(2)), (3, (1, 2), 7));
        let mut values = Vec::new();
        data.append(2, 64, 3, &mut values).expect("in memory");
        let back = values.iter().map(|value| ((value * 0.3530 + 0.2860) * 255.0).round() as u8);
        assert_eq!(back.collect::<Vec<u8>>(), [2, 102]);
        assert!(data.description().ends_with(": IDX, 3 images of 1x1x2"), "{}", data.description());
    }

    #[test]
    fn without_a_test_part_the_training_part_serves() {
        let folder = folder(2, &[0, 1]);
        assert_eq!(Dataset::open(folder.path(), Split::Test, 10).expect("whole").len(), 2);
    }

    #[test]
    fn counts_must_agree() {
        let folder = folder(3, &[5, 6]);
        let error = Dataset::open(folder.path(), Split::Train, 10).expect_err("one label is missing").to_string();
        assert!(error.contains("holds 3 images") && error.contains("holds 2 labels"), "{error}");
    }

    /// The first of the largest is told: the label file's header is 8 bytes.
    #[test]
    fn labels_must_have_an_output() {
        let folder = folder(3, &[3, 9, 9]);
        let error = Dataset::open(folder.path(), Split::Train, 5).expect_err("9 is not below 5").to_string();
        assert!(error.contains("byte 9 (unpacked): label 9 found"), "{error}");
        assert!(error.ends_with("give --classes 10 or more"), "{error}");
    }

    #[test]
    fn a_folder_with_labels_alone() {
        let folder = folder(1, &[0]);
        std::fs::remove_file(folder.path().join("train-images-idx3-ubyte")).expect("removed");
        let error = Dataset::open(folder.path(), Split::Train, 10).expect_err("no images");
        assert!(matches!(error, DataError::Missing { name: "train-images-idx3-ubyte", .. }), "{error}");
    }
}
