//! Why the data cannot be used, and what to do about it.
use std::path::PathBuf;

use trainer_cifar::CifarError;
use trainer_idx::IdxError;
use trainer_image_folder::ImageFolderError;

/// Why the data cannot be used. Each text ends with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// No such folder.
    #[error("{folder}: there is no such data folder; give one that holds images with --data DIR", folder = .0.display())]
    NoFolder(PathBuf),
    /// The folder is there, and none of the data sets that are known.
    #[error(
        "{folder}: no data set is in the folder: {looked_for}; give the folder that holds them with --data DIR",
        folder = folder.display()
    )]
    NothingKnown {
        /// The folder.
        folder: PathBuf,
        /// What a data set would have been recognised by.
        looked_for: String,
    },
    /// The folder holds more than one data set.
    #[error(
        "{folder}: several data sets are in the folder: {found}; move them to folders of their own, and give one of them \
         with --data DIR", folder = folder.display()
    )]
    SeveralSets {
        /// The folder.
        folder: PathBuf,
        /// What they were recognised by.
        found: String,
    },
    /// The folder is there, the file is not.
    #[error(
        "{folder}: neither {name} nor {name}.gz is in the folder; give one that holds Fashion-MNIST or MNIST with \
         --data DIR", folder = folder.display()
    )]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The file's name without `.gz`.
        name: &'static str,
    },
    /// The file is there, and no IDX file of the right kind can be read from it.
    #[error("{path}: {}", with_advice(error), path = path.display())]
    BadFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it. It is part of the text, so it is not the `source()` as well.
        error: IdxError,
    },
    /// Another file of CIFAR is there, this one is not.
    #[error(
        "{folder}: {name} is not in the folder; give one that holds all files of the archive with --data DIR",
        folder = folder.display()
    )]
    MissingCifar {
        /// The folder.
        folder: PathBuf,
        /// The file's name.
        name: &'static str,
    },
    /// The file is there, and does not consist of images of CIFAR.
    #[error("{path}: {error}; unpack the archive again", path = path.display())]
    BadCifar {
        /// The file.
        path: PathBuf,
        /// What is wrong with it. It is part of the text, so it is not the `source()` as well.
        error: CifarError,
    },
    /// A folder of images, or one of its images, cannot be used.
    #[error("{0}; {advice}", advice = advice(.0))]
    BadImageFolder(ImageFolderError),
    /// One label per image is needed.
    #[error(
        "{images} holds {image_count} images, {labels} holds {label_count} labels; the two files do not belong \
         together, fetch both again", images = images.display(), labels = labels.display()
    )]
    CountMismatch {
        /// The images' file.
        images: PathBuf,
        /// How many images.
        image_count: u64,
        /// The labels' file.
        labels: PathBuf,
        /// How many labels.
        label_count: u64,
    },
    /// The network has no output for a label.
    #[error(
        "{place}: label {label} found, but the network tells only {classes} classes apart (0 to {last}); give \
         --classes {needed} or more", last = classes - 1, needed = u64::from(*label) + 1
    )]
    LabelTooLarge {
        /// The file, and where in it the label stands.
        place: String,
        /// The largest label.
        label: u32,
        /// Classes of the network.
        classes: u64,
    },
}

impl From<ImageFolderError> for DataError {
    fn from(error: ImageFolderError) -> DataError {
        DataError::BadImageFolder(error)
    }
}

/// What the user can do about a folder of images.
fn advice(error: &ImageFolderError) -> &'static str {
    match error {
        ImageFolderError::Io { .. } => "check that it is readable",
        ImageFolderError::NoClasses(_) => "give a folder with a folder of images for each class with --data DIR",
        ImageFolderError::EmptyClass(_) => "put images into it, or remove it",
        _ => "replace the file, or remove it",
    }
}

/// What is wrong with a file, and what the user can do about it.
fn with_advice(error: &IdxError) -> String {
    match error {
        IdxError::Io(reason) => {
            format!("cannot be read: {reason}; check that it is readable, or fetch it again")
        }
        IdxError::NotIdx { .. } => format!("{error}; give the folder of the original files with --data DIR"),
        IdxError::WrongDimensions { .. } => {
            format!("{error}; images have 3 and labels 1, so perhaps two files were swapped")
        }
        IdxError::Empty { .. } => format!("{error}; give a folder with images with --data DIR"),
        _ => format!("{error}; fetch the file again"),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io;

    use super::*;

    /// What the command prints is the chain of causes, so a cause stands either in the text or in the chain.
    #[test]
    fn a_cause_is_told_once() {
        let error = IdxError::Io(io::Error::other("the disk is gone"));
        let error = DataError::BadFile { path: "a".into(), error };
        let text = "a: cannot be read: the disk is gone; check that it is readable, or fetch it again";
        assert_eq!(error.to_string(), text);
        assert!(error.source().is_none());
        assert_eq!(format!("{:#}", anyhow::Error::new(error).context("step 1")), format!("step 1: {text}"));
    }

    #[test]
    fn a_damaged_file_is_told_with_what_to_do() {
        let error = IdxError::Truncated { expected: 28, got: 27 };
        let error = DataError::BadFile { path: "a".into(), error };
        assert_eq!(error.to_string(), "a: truncated: expected 28 bytes, got 27 (unpacked); fetch the file again");
    }
}
