//! Images and their labels, whole in memory: one byte a pixel.
use std::path::{Path, PathBuf};

use trainer_idx::Idx;

use super::error::DataError;

/// The part of a data set that is kept for training, or for testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// `train-*`.
    Train,
    /// `t10k-*` where the folder has them, `train-*` otherwise.
    Test,
}

/// Grey images of one size, and a label for each.
#[derive(Debug)]
pub struct Dataset {
    /// [count, height, width], one byte a pixel.
    pixels: Vec<u8>,
    labels: Vec<u8>,
    /// In pixels.
    pub height: usize,
    /// In pixels.
    pub width: usize,
}

impl Dataset {
    /// Reads `split` from `folder`. All labels must be below `classes`.
    pub fn open(folder: &Path, split: Split, classes: u64) -> Result<Dataset, DataError> {
        if !folder.is_dir() {
            return Err(DataError::NoFolder(folder.to_owned()));
        }
        let has_test = locate(folder, "t10k-images-idx3-ubyte").is_ok();
        let (images, labels) = match split {
            Split::Test if has_test => ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
            Split::Test | Split::Train => ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        };
        let (images, labels) = (locate(folder, images)?, locate(folder, labels)?);
        let (image_file, label_file) = (read(&images, 3)?, read(&labels, 1)?);
        let (image_count, label_count) = (u64::from(image_file.dims[0]), u64::from(label_file.dims[0]));
        if image_count != label_count {
            return Err(DataError::CountMismatch { images, image_count, labels, label_count });
        }
        let largest = label_file.bytes.iter().copied().max().unwrap_or(0);
        if u64::from(largest) >= classes {
            return Err(DataError::LabelTooLarge { path: labels, label: largest, classes });
        }
        let (height, width) = (image_file.dims[1] as usize, image_file.dims[2] as usize);
        Ok(Dataset { pixels: image_file.bytes, labels: label_file.bytes, height, width })
    }

    /// Number of images; at least one.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// The pixels of image `index`, row by row.
    pub fn image(&self, index: usize) -> &[u8] {
        let size = self.height * self.width;
        &self.pixels[index * size..][..size]
    }

    /// Its label.
    pub fn label(&self, index: usize) -> u8 {
        self.labels[index]
    }
}

/// Reads an IDX file of so many dimensions.
fn read(path: &Path, dimensions: u8) -> Result<Idx, DataError> {
    trainer_idx::read(path, dimensions).map_err(|error| DataError::BadFile { path: path.to_owned(), error })
}

/// The file `name` in `folder`, gzipped or plain.
fn locate(folder: &Path, name: &'static str) -> Result<PathBuf, DataError> {
    let candidates = [folder.join(format!("{name}.gz")), folder.join(name)];
    candidates
        .into_iter()
        .find(|path| path.exists())
        .ok_or_else(|| DataError::Missing { folder: folder.to_owned(), name })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((data.len(), data.height, data.width), (3, 1, 2));
        assert_eq!((data.image(2), data.label(2)), (&[2, 102][..], 7));
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

    #[test]
    fn labels_must_have_an_output() {
        let folder = folder(2, &[9, 3]);
        let error = Dataset::open(folder.path(), Split::Train, 5).expect_err("9 is not below 5").to_string();
        assert!(error.contains("label 9 found") && error.ends_with("give --classes 10 or more"), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_or_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Dataset::open(&folder.path().join("none"), Split::Train, 10).expect_err("not there");
        assert!(matches!(error, DataError::NoFolder(_)), "{error}");
        let error = Dataset::open(folder.path(), Split::Train, 10).expect_err("no files");
        assert!(matches!(error, DataError::Missing { name: "train-images-idx3-ubyte", .. }), "{error}");
    }
}
