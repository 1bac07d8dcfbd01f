//! Why texts cannot be used, and what to do about it.
use std::path::PathBuf;

/// Why texts cannot be used. Each text ends with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// No such folder.
    #[error("{folder}: there is no such folder; give one that holds texts (.txt or .md) with --data DIR", folder = .0.display())]
    NoFolder(PathBuf),
    /// The folder is there, and no text is in it.
    #[error("{folder}: no .txt or .md file is in this folder; give one that holds texts with --data DIR", folder = .0.display())]
    NoTexts(PathBuf),
    /// Something cannot be read.
    #[error("{path}: cannot be read: {reason}; check that it is readable", path = path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why. It is part of the text, so it is not the `source()` as well.
        reason: std::io::Error,
    },
    /// A file is no text.
    #[error(
        "{path}: byte {offset} is not UTF-8; convert the file with iconv -t UTF-8, or take it out of the folder",
        path = path.display()
    )]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// How many bytes before it are whole characters.
        offset: usize,
    },
    /// Less text than one batch.
    #[error(
        "{folder}: {passages} passages of {length} tokens are in it, and a batch has {batch}; give a smaller --batch or \
         --length, or a folder with more text with --data DIR", folder = folder.display()
    )]
    TooShort {
        /// The folder.
        folder: PathBuf,
        /// How many passages there are.
        passages: usize,
        /// Tokens of each.
        length: usize,
        /// How many a batch has.
        batch: usize,
    },
    /// The network has no output for a file.
    #[error(
        "{folder}: there are {files} texts in it, and the network tells only {classes} apart; give --classes {files} or \
         more", folder = folder.display()
    )]
    TooManyFiles {
        /// The folder.
        folder: PathBuf,
        /// How many texts.
        files: usize,
        /// Classes of the network.
        classes: u64,
    },
}
