//! Why a folder of images cannot be used.
use std::io;
use std::path::PathBuf;

use image::ImageError;

/// Why a folder of images cannot be used. Each text names the folder or the file, and the offset where a file breaks off; it
/// does not say what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageFolderError {
    /// A folder or a file cannot be read.
    #[error("{path}: cannot be read: {error}", path = path.display())]
    Io {
        /// The folder or the file.
        path: PathBuf,
        /// Why. It is part of the text, so it is not the `source()` as well.
        error: io::Error,
    },
    /// No folder in it holds an image.
    #[error("{folder}: no folder in it holds a .png, .jpg or .jpeg file", folder = .0.display())]
    NoClasses(PathBuf),
    /// A class has no images.
    #[error("{folder}: the folder of this class holds no .png, .jpg or .jpeg file", folder = .0.display())]
    EmptyClass(PathBuf),
    /// The file is there, and no image can be made of it.
    #[error("{path}: not a readable image: {error}", path = path.display())]
    BadImage {
        /// The file.
        path: PathBuf,
        /// Why. It is part of the text, so it is not the `source()` as well.
        error: ImageError,
    },
    /// The file is there, and ends too early.
    #[error("{path}: truncated: it ends at byte {end}, and {missing}", path = path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        end: usize,
        /// What should follow.
        missing: String,
    },
    /// The image is so long and thin that next to nothing of it would be left.
    #[error("{path}: an image of {width} x {height} pixels, of which at most one in {most} would be left", path = path.display())]
    TooThin {
        /// The file.
        path: PathBuf,
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
        /// How many times as long as wide an image may be.
        most: u32,
    },
}
