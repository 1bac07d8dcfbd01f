//! Images and labels from the binary files of CIFAR-10 and CIFAR-100.
use std::path::{Path, PathBuf};

use trainer_cifar::{SIDE, Set};

use super::error::DataError;
use super::images::{Images, Pixels, Spread};
use super::labels;
use super::split::Split;

/// Of the training images of each set.
const CIFAR_10: [Spread; 3] = [
    Spread { mean: 0.4914, deviation: 0.2470 },
    Spread { mean: 0.4822, deviation: 0.2435 },
    Spread { mean: 0.4465, deviation: 0.2616 },
];
const CIFAR_100: [Spread; 3] = [
    Spread { mean: 0.5071, deviation: 0.2673 },
    Spread { mean: 0.4865, deviation: 0.2564 },
    Spread { mean: 0.4409, deviation: 0.2762 },
];

/// Reads `split` from `folder`; all labels must be below `classes`. The training part may have fewer files than the whole set
/// has, but none may be missing before the last one. A folder without a test file is read as if the training files were it.
pub(super) fn open(set: Set, folder: &Path, split: Split, classes: u64) -> Result<Images, DataError> {
    let files = files(set, folder, split)?;
    let mut images = Images {
        pixels: Pixels::Files(Vec::new()),
        labels: Vec::new(),
        spread: if set == Set::Cifar10 { &CIFAR_10 } else { &CIFAR_100 },
    };
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    for path in &files {
        let file = trainer_cifar::read(path, set).map_err(|error| DataError::BadCifar { path: path.clone(), error })?;
        bytes.extend(file.pixels);
        images.labels.extend(file.labels.into_iter().map(u32::from));
        ends.push(images.labels.len());
    }
    images.pixels = Pixels::InMemory { bytes, height: SIDE, width: SIDE };
    labels::below(classes, &images.labels, |index| {
        let file = ends.partition_point(|&end| end <= index);
        let before = if file == 0 { 0 } else { ends[file - 1] };
        // The class is the last byte before the pixels.
        let offset = (index - before + 1) * set.record_bytes() - trainer_cifar::PIXELS - 1;
        format!("{}: byte {offset}", files[file].display())
    })?;
    Ok(images)
}

/// The files to read.
fn files(set: Set, folder: &Path, split: Split) -> Result<Vec<PathBuf>, DataError> {
    let test = folder.join(set.test_file());
    if split == Split::Test && test.exists() {
        return Ok(vec![test]);
    }
    let names = set.training_files();
    let last = names.iter().rposition(|name| folder.join(name).exists()).unwrap_or(0);
    let missing = names[..=last].iter().find(|name| !folder.join(name).exists());
    match missing {
        Some(name) => Err(DataError::MissingCifar { folder: folder.to_owned(), name }),
        None => Ok(names[..=last].iter().map(|name| folder.join(name)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images with these labels; all bytes of an image are its label's.
    fn cifar_10(labels: &[u8]) -> Vec<u8> {
        labels.iter().flat_map(|&label| vec![label; 3073]).collect()
    }

    fn folder(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in files {
            std::fs::write(folder.path().join(name), content).expect("written");
        }
        folder
    }

    fn refused(folder: &tempfile::TempDir, split: Split, classes: u64) -> String {
        open(Set::Cifar10, folder.path(), split, classes).expect_err("refused").to_string()
    }

    #[test]
    fn training_files_stand_one_behind_the_other() {
        let files = [
            ("data_batch_1.bin", cifar_10(&[3, 1])),
            ("data_batch_2.bin", cifar_10(&[2])),
            ("test_batch.bin", cifar_10(&[9])),
        ];
        let folder = folder(&files);
        let open = |split| open(Set::Cifar10, folder.path(), split, 10).expect("whole");
        let training = open(Split::Train);
        assert_eq!(training.labels, [3, 1, 2]);
        let Pixels::InMemory { bytes, .. } = training.pixels else { panic!("in memory") };
        assert_eq!((bytes.len(), bytes[3071], bytes[3072], bytes[2 * 3072]), (3 * 3072, 3, 1, 2));
        assert_eq!(open(Split::Test).labels, [9]);
    }

    #[test]
    fn without_a_test_file_the_training_files_serve() {
        let folder = folder(&[("data_batch_1.bin", cifar_10(&[3, 1]))]);
        assert_eq!(open(Set::Cifar10, folder.path(), Split::Test, 10).expect("whole").labels, [3, 1]);
    }

    #[test]
    fn a_missing_file_is_told() {
        let gap = folder(&[("data_batch_1.bin", cifar_10(&[3])), ("data_batch_3.bin", cifar_10(&[3]))]);
        let error = refused(&gap, Split::Train, 10);
        assert!(error.contains("data_batch_2.bin is not in the folder"), "{error}");
        let only_test = folder(&[("test_batch.bin", cifar_10(&[3]))]);
        let error = refused(&only_test, Split::Train, 10);
        assert!(error.contains("data_batch_1.bin is not in the folder"), "{error}");
    }

    #[test]
    fn a_damaged_file_is_told_with_its_offset() {
        let folder = folder(&[("data_batch_1.bin", cifar_10(&[3, 1])[..4000].to_vec())]);
        let error = refused(&folder, Split::Train, 10);
        assert!(error.contains("data_batch_1.bin: truncated: image 1 begins at byte 3073"), "{error}");
        assert!(error.ends_with("unpack the archive again"), "{error}");
    }

    /// The fourth label is the second file's second: byte 3073.
    #[test]
    fn a_label_without_an_output_is_told_with_its_offset() {
        let folder = folder(&[("data_batch_1.bin", cifar_10(&[3, 1])), ("data_batch_2.bin", cifar_10(&[4, 9]))]);
        let error = refused(&folder, Split::Train, 5);
        assert!(error.contains("data_batch_2.bin: byte 3073: label 9 found"), "{error}");
        assert!(error.ends_with("give --classes 10 or more"), "{error}");
    }

    /// The group is byte 0, the class byte 1.
    #[test]
    fn the_class_of_cifar_100_is_the_second_byte() {
        let folder = folder(&[("train.bin", [vec![19, 77], vec![0; 3072]].concat())]);
        let open = |classes| open(Set::Cifar100, folder.path(), Split::Train, classes);
        assert_eq!(open(100).expect("whole").labels, [77]);
        let error = open(10).expect_err("77 is not below 10").to_string();
        assert!(error.contains("train.bin: byte 1: label 77 found"), "{error}");
    }
}
