//! Which classes and images a folder holds. Only names are read.
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ImageFolderError;

/// The ends of the names that count as images, in small letters.
const EXTENSIONS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The images of one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// The name of its folder.
    pub name: String,
    /// The images, by name; at least one.
    pub files: Vec<PathBuf>,
}

/// Whether a folder in `folder` holds an image. What cannot be read holds none.
pub fn has_classes(folder: &Path) -> bool {
    let folders = class_folders(folder).unwrap_or_default();
    folders.iter().any(|class| images(class).is_ok_and(|files| !files.is_empty()))
}

/// The classes of `folder` in the order of their names, with their images.
///
/// # Errors
/// When a folder cannot be read, there is no class, or a class has no image.
pub fn classes(folder: &Path) -> Result<Vec<Class>, ImageFolderError> {
    let mut classes = Vec::new();
    for class in class_folders(folder)? {
        let files = images(&class)?;
        if files.is_empty() && has_classes(folder) {
            return Err(ImageFolderError::EmptyClass(class));
        }
        if !files.is_empty() {
            classes.push(Class { name: name(&class), files });
        }
    }
    if classes.is_empty() { Err(ImageFolderError::NoClasses(folder.to_owned())) } else { Ok(classes) }
}

/// The folders in `folder`, by name.
fn class_folders(folder: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let mut folders = entries(folder)?;
    folders.retain(|path| path.is_dir() && !name(path).starts_with('.'));
    Ok(folders)
}

/// The images in `folder`, by name.
fn images(folder: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let mut files = entries(folder)?;
    files.retain(|path| {
        let extension = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        extension.is_some_and(|end| EXTENSIONS.contains(&end.as_str())) && path.is_file()
    });
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ImageFolderError> {
    let unreadable = |error| ImageFolderError::Io { path: folder.to_owned(), error };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    paths.sort();
    Ok(paths)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these empty files; what ends with a slash is a folder.
    fn folder(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for path in paths {
            let path_in = folder.path().join(path);
            let parent = if path.ends_with('/') { &path_in } else { path_in.parent().expect("a folder") };
            fs::create_dir_all(parent).expect("made");
            if !path.ends_with('/') {
                fs::write(path_in, "").expect("written");
            }
        }
        folder
    }

    /// Names decide the order, ends of names what is an image. Two images may have one name in two classes.
    #[test]
    fn classes_and_images_by_name() {
        let folder =
            folder(&["dog/2.JPG", "dog/1.png", "cat/1.png", "cat/notes.txt", "cat/b.jpeg", ".git/1.png", "readme"]);
        let classes = classes(folder.path()).expect("two classes");
        let names = |class: &Class| class.files.iter().map(|file| name(file)).collect::<Vec<_>>();
        let found: Vec<_> = classes.iter().map(|class| (class.name.as_str(), names(class))).collect();
        let expected = vec![
            ("cat", vec!["1.png".to_owned(), "b.jpeg".to_owned()]),
            ("dog", vec!["1.png".to_owned(), "2.JPG".to_owned()]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn an_empty_class_is_told_with_its_folder() {
        let folder = folder(&["dog/1.png", "cat/"]);
        let error = classes(folder.path()).expect_err("no cat").to_string();
        assert!(error.contains("cat: the folder of this class holds no .png"), "{error}");
    }

    #[test]
    fn no_class_at_all() {
        let folder = folder(&["1.png", "cat/notes.txt"]);
        assert!(!has_classes(folder.path()));
        let error = classes(folder.path()).expect_err("no image in a folder").to_string();
        assert!(error.contains("no folder in it holds a .png, .jpg or .jpeg file"), "{error}");
        assert!(!has_classes(&folder.path().join("none")));
        let error = classes(&folder.path().join("none")).expect_err("not there").to_string();
        assert!(error.contains("none: cannot be read: "), "{error}");
    }
}
