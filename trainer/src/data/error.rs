//! Why the data cannot be used, and what to do about it.
use std::path::PathBuf;

use trainer_idx::IdxError;

/// Why the data cannot be used. Each text ends with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// No such folder.
    #[error("{folder}: there is no such data folder; give one that holds IDX files with --data DIR", folder = .0.display())]
    NoFolder(PathBuf),
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
        "{path}: label {label} found, but the network tells only {classes} classes apart (0 to {last}); give \
         --classes {needed} or more", path = path.display(), last = classes - 1, needed = u64::from(*label) + 1
    )]
    LabelTooLarge {
        /// The labels' file.
        path: PathBuf,
        /// The largest label.
        label: u8,
        /// Classes of the network.
        classes: u64,
    },
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
