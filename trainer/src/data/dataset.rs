//! Images and their labels, whole in memory: one byte a pixel.
use std::path::{Path, PathBuf};

use super::{DataError, idx};

/// Which pair of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
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
    /// Reads `part` from `folder`. All labels must be below `classes`.
    pub fn open(folder: &Path, part: Part, classes: u64) -> Result<Dataset, DataError> {
        if !folder.is_dir() {
            return Err(DataError::NoFolder(folder.to_owned()));
        }
        let has_test = locate(folder, "t10k-images-idx3-ubyte").is_ok();
        let (images, labels) = match part {
            Part::Test if has_test => ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
            Part::Test | Part::Train => ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        };
        let (images, labels) = (locate(folder, images)?, locate(folder, labels)?);
        let pixels = idx::read(&images, 3)?;
        let marks = idx::read(&labels, 1)?;
        let (image_count, label_count) = (u64::from(pixels.dims[0]), u64::from(marks.dims[0]));
        if image_count != label_count {
            return Err(DataError::CountMismatch { images, image_count, labels, label_count });
        }
        let largest = marks.bytes.iter().copied().max().unwrap_or(0);
        if u64::from(largest) >= classes {
            return Err(DataError::LabelTooLarge { path: labels, label: largest, classes });
        }
        let (height, width) = (pixels.dims[1] as usize, pixels.dims[2] as usize);
        Ok(Dataset { pixels: pixels.bytes, labels: marks.bytes, height, width })
    }

    /// Number of images.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is no image; [`Dataset::open`] never makes such a one.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
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
        let mut file = vec![0, 0, 8, 3, 0, 0, 0, images, 0, 0, 0, 1, 0, 0, 0, 2];
        file.extend((0..images).flat_map(|n| [n, n + 100]));
        std::fs::write(folder.path().join("train-images-idx3-ubyte"), file).expect("written");
        let mut file = vec![0, 0, 8, 1, 0, 0, 0, labels.len() as u8];
        file.extend(labels);
        std::fs::write(folder.path().join("train-labels-idx1-ubyte"), file).expect("written");
        folder
    }

    #[test]
    fn images_and_labels_keep_together() {
        let folder = folder(3, &[5, 6, 7]);
        let data = Dataset::open(folder.path(), Part::Train, 10).expect("whole");
        assert_eq!((data.len(), data.height, data.width), (3, 1, 2));
        assert_eq!((data.image(2), data.label(2)), (&[2, 102][..], 7));
    }

    #[test]
    fn without_a_test_part_the_training_part_serves() {
        let folder = folder(2, &[0, 1]);
        assert_eq!(Dataset::open(folder.path(), Part::Test, 10).expect("whole").len(), 2);
    }

    #[test]
    fn counts_must_agree() {
        let folder = folder(3, &[5, 6]);
        let error = Dataset::open(folder.path(), Part::Train, 10).expect_err("one label is missing").to_string();
        assert!(error.contains("holds 3 images") && error.contains("holds 2 labels"), "{error}");
    }

    #[test]
    fn labels_must_have_an_output() {
        let folder = folder(2, &[9, 3]);
        let error = Dataset::open(folder.path(), Part::Train, 5).expect_err("9 is not below 5").to_string();
        assert!(error.contains("label 9 found") && error.ends_with("give --classes 10 or more"), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_or_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Dataset::open(&folder.path().join("none"), Part::Train, 10).expect_err("not there");
        assert!(matches!(error, DataError::NoFolder(_)), "{error}");
        let error = Dataset::open(folder.path(), Part::Train, 10).expect_err("no files");
        assert!(matches!(error, DataError::Missing { name: "train-images-idx3-ubyte", .. }), "{error}");
    }
}
