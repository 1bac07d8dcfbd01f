//! Which kind of data set a folder holds, told from the names in it.
use std::path::Path;

use trainer_cifar::Set;

use super::error::DataError;

/// The names of the four IDX files, plain or with `.gz`.
pub(super) const IDX_TRAINING: [&str; 2] = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"];
pub(super) const IDX_TEST: [&str; 2] = ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// A kind of data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// IDX files, as MNIST and Fashion-MNIST have them.
    Idx,
    /// Binary files of CIFAR-10 or CIFAR-100.
    Cifar(Set),
    /// A folder of PNG and JPEG images for each class.
    ImageFolder,
}

impl Source {
    /// In the order in which they are looked for.
    const ALL: [Source; 4] =
        [Source::Idx, Source::Cifar(Set::Cifar10), Source::Cifar(Set::Cifar100), Source::ImageFolder];

    /// The kind of data set that `folder` holds.
    pub fn of(folder: &Path) -> Result<Source, DataError> {
        if !folder.is_dir() {
            return Err(DataError::NoFolder(folder.to_owned()));
        }
        let found: Vec<Source> = Source::ALL.into_iter().filter(|source| source.lies_in(folder)).collect();
        match found[..] {
            [] => Err(DataError::NothingKnown { folder: folder.to_owned(), looked_for: looked_for() }),
            [source] => Ok(source),
            _ => {
                let found = found.into_iter().map(Source::marks).collect::<Vec<String>>().join(", and ");
                Err(DataError::SeveralSets { folder: folder.to_owned(), found })
            }
        }
    }

    /// The name of its kind, as results have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Idx => "idx",
            Source::Cifar(Set::Cifar10) => "cifar-10",
            Source::Cifar(Set::Cifar100) => "cifar-100",
            Source::ImageFolder => "image-folder",
        }
    }

    /// Whether any of its files is there. One of them is enough: its reader says what is missing.
    fn lies_in(self, folder: &Path) -> bool {
        let there = |name: &str| folder.join(name).exists();
        match self {
            Source::Idx => {
                [IDX_TRAINING, IDX_TEST].concat().iter().any(|name| there(name) || there(&format!("{name}.gz")))
            }
            Source::Cifar(set) => set.training_files().iter().any(|name| there(name)) || there(set.test_file()),
            Source::ImageFolder => trainer_image_folder::has_classes(folder),
        }
    }

    /// What it is recognised by, for a reader.
    fn marks(self) -> String {
        match self {
            Source::Idx => "IDX files (train-images-idx3-ubyte)".to_owned(),
            Source::Cifar(set) => format!("files of {} ({})", cifar_title(set), set.training_files()[0]),
            Source::ImageFolder => "a folder of images for each class (CLASS/*.png, *.jpg)".to_owned(),
        }
    }
}

/// The name of a CIFAR set as people write it.
pub(super) fn cifar_title(set: Set) -> &'static str {
    match set {
        Set::Cifar10 => "CIFAR-10",
        Set::Cifar100 => "CIFAR-100",
    }
}

/// Everything that a data set could have been recognised by.
fn looked_for() -> String {
    let [images, _] = IDX_TRAINING;
    let others = Source::ALL[1..].iter().map(|source| source.marks()).collect::<Vec<String>>();
    format!("neither {images} nor {images}.gz (IDX), nor {}", others.join(", nor "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a folder with these empty files is; errors as their text.
    fn source(files: &[&str]) -> Result<Source, String> {
        let folder = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, "").expect("written");
        }
        Source::of(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn one_file_is_enough_to_know_the_kind() {
        assert_eq!(source(&["t10k-labels-idx1-ubyte.gz", "readme.txt"]), Ok(Source::Idx));
        assert_eq!(source(&["data_batch_3.bin", "batches.meta.txt"]), Ok(Source::Cifar(Set::Cifar10)));
        assert_eq!(source(&["test.bin", "fine_label_names.txt"]), Ok(Source::Cifar(Set::Cifar100)));
        assert_eq!(source(&["cat/1.png", "notes/readme.txt"]), Ok(Source::ImageFolder));
    }

    #[test]
    fn several_are_all_told() {
        let error = source(&["train-labels-idx1-ubyte", "train.bin", "cat/1.jpg"]).expect_err("three kinds");
        let found = "IDX files (train-images-idx3-ubyte), and files of CIFAR-100 (train.bin), and a folder of images";
        assert!(error.contains(found) && error.contains("give one of them with --data DIR"), "{error}");
    }

    #[test]
    fn nothing_is_told_with_what_was_looked_for() {
        let error = source(&["1.png"]).expect_err("an image that has no class");
        for name in
            ["neither train-images-idx3-ubyte nor", "data_batch_1.bin", "train.bin", "CLASS/*.png", "--data DIR"]
        {
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Source::of(&folder.path().join("none")).expect_err("not there");
        assert!(matches!(error, DataError::NoFolder(_)), "{error}");
    }
}
