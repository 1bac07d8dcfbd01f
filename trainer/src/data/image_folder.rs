//! Images from a folder for each class. Only names are read here: an image is decoded when a batch needs it.
use std::path::Path;

use super::error::DataError;
use super::images::{Images, Pixels, Spread};
use super::labels;

/// Of ImageNet's training images: what is usual for photographs.
const SPREAD: [Spread; 3] = [
    Spread { mean: 0.485, deviation: 0.229 },
    Spread { mean: 0.456, deviation: 0.224 },
    Spread { mean: 0.406, deviation: 0.225 },
];

/// Lists the images of `folder`; there must be at most `classes` classes. Such a folder has no test part.
pub(super) fn open(folder: &Path, classes: u64) -> Result<Images, DataError> {
    let (mut files, mut labels) = (Vec::new(), Vec::new());
    for (label, class) in (0..).zip(trainer_image_folder::classes(folder)?) {
        labels.extend(class.files.iter().map(|_| label));
        files.extend(class.files);
    }
    labels::below(classes, &labels, |index| files[index].display().to_string())?;
    Ok(Images { pixels: Pixels::Files(files), labels, spread: &SPREAD })
}
