//! The texts of a folder, whole in memory.
use std::path::{Path, PathBuf};

use super::error::TextError;

/// Endings of the files that are read.
const ENDINGS: [&str; 2] = ["txt", "md"];

/// The texts of a folder, in the order of their names.
#[derive(Debug)]
pub struct Corpus {
    pub(super) folder: PathBuf,
    pub(super) texts: Vec<String>,
}

impl Corpus {
    /// Reads every `.txt` and `.md` file of `folder`, but none of the folders in it.
    ///
    /// # Errors
    /// When there is no such folder or no text in it, or a text cannot be read or is not UTF-8.
    pub fn open(folder: &Path) -> Result<Corpus, TextError> {
        if !folder.is_dir() {
            return Err(TextError::NoFolder(folder.to_owned()));
        }
        let unreadable = |path: &Path, reason| TextError::Unreadable { path: path.to_owned(), reason };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
            let path = entry.map_err(|error| unreadable(folder, error))?.path();
            let is_text = path.extension().is_some_and(|ending| ENDINGS.iter().any(|&known| ending == known));
            if is_text && path.is_file() {
                paths.push(path);
            }
        }
        paths.sort();
        if paths.is_empty() {
            return Err(TextError::NoTexts(folder.to_owned()));
        }
        let texts = paths.iter().map(|path| {
            let bytes = std::fs::read(path).map_err(|error| unreadable(path, error))?;
            String::from_utf8(bytes)
                .map_err(|error| TextError::NotUtf8 { path: path.clone(), offset: error.utf8_error().valid_up_to() })
        });
        Ok(Corpus { folder: folder.to_owned(), texts: texts.collect::<Result<_, _>>()? })
    }

    /// The same text as at most `files` texts: each further one is put behind one of the first, in turn.
    pub fn joined(self, files: usize) -> Vec<String> {
        let mut texts = self.texts;
        let further = texts.split_off(files.clamp(1, texts.len()));
        let first = texts.len();
        for (index, text) in further.into_iter().enumerate() {
            texts[index % first].push('\n');
            texts[index % first].push_str(&text);
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [("b.txt", "two"), ("a.md", "one"), ("c.json", "{}")] {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        std::fs::create_dir(folder.path().join("d.md")).expect("made");
        let corpus = Corpus::open(folder.path()).expect("two texts");
        assert_eq!(corpus.texts, ["one", "two"], "neither the JSON nor the folder");
    }

    #[test]
    fn further_texts_go_behind_the_first_in_turn() {
        let corpus = || Corpus { folder: "texts".into(), texts: ["a", "b", "c", "d", "e"].map(str::to_owned).into() };
        assert_eq!(corpus().joined(2), ["a\nc\ne", "b\nd"]);
        assert_eq!(corpus().joined(9), ["a", "b", "c", "d", "e"]);
    }

    /// "caf" and the Latin-1 byte for e with an accent.
    #[test]
    fn a_byte_that_is_no_text_is_told_with_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("a.txt"), b"caf\xe9 noir").expect("written");
        let error = Corpus::open(folder.path()).expect_err("Latin-1").to_string();
        assert!(error.contains("a.txt: byte 3 is not UTF-8; convert the file with iconv"), "{error}");
    }

    #[test]
    fn a_folder_that_is_not_there_or_empty() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(matches!(Corpus::open(folder.path()), Err(TextError::NoTexts(_))));
        assert!(matches!(Corpus::open(&folder.path().join("none")), Err(TextError::NoFolder(_))));
    }
}
