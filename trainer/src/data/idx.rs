//! Images and labels from IDX files.
use std::path::{Path, PathBuf};

use trainer_idx::Idx;

use super::error::DataError;
use super::images::{Images, Pixels, Spread};
use super::labels;
use super::source::{IDX_TEST, IDX_TRAINING};
use super::split::Split;

/// Of Fashion-MNIST's training images.
const SPREAD: [Spread; 1] = [Spread { mean: 0.2860, deviation: 0.3530 }];
/// Bytes of a label file before its first label, unpacked.
const LABELS_BEGIN: usize = 8;

/// Reads `split` from `folder`; all labels must be below `classes`. A folder without test files is read as if the training
/// files were those.
pub(super) fn open(folder: &Path, split: Split, classes: u64) -> Result<Images, DataError> {
    let has_test = locate(folder, IDX_TEST[0]).is_ok();
    let [images, labels] = if split == Split::Test && has_test { IDX_TEST } else { IDX_TRAINING };
    let (images, labels) = (locate(folder, images)?, locate(folder, labels)?);
    let (image_file, label_file) = (read(&images, 3)?, read(&labels, 1)?);
    let (image_count, label_count) = (u64::from(image_file.dims[0]), u64::from(label_file.dims[0]));
    if image_count != label_count {
        return Err(DataError::CountMismatch { images, image_count, labels, label_count });
    }
    let (height, width) = (image_file.dims[1] as usize, image_file.dims[2] as usize);
    let pixels = Pixels::InMemory { bytes: image_file.bytes, height, width };
    let numbers: Vec<u32> = label_file.bytes.into_iter().map(u32::from).collect();
    labels::below(classes, &numbers, |index| {
        format!("{}: byte {} (unpacked)", labels.display(), LABELS_BEGIN + index)
    })?;
    Ok(Images { pixels, labels: numbers, spread: &SPREAD })
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
