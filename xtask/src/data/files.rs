//! The four files of a data set: their names, what is pinned about them, and how they are read, checked and written.
//!
//! Every set has the same four IDX files, gzipped, under the names that MNIST gave them. The unpacked content is
//! checked (shape and SHA-256), so it does not matter who packed the files.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use trainer_idx::{Idx, IdxError};

use crate::checksum;
use crate::user_error::UserError;

/// Images and labels, training part first: the names of the four files without `.gz`.
pub const NAMES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// Height and width of an image in these sets, in pixels.
pub const SIDE: usize = 28;

/// What the user can do about a file with the wrong content.
const AGAIN: &str = "run the command again; if it stays like this, the registry serves another file: do not use it";

/// One of the four files of a set, with the SHA-256 of its unpacked content.
pub struct PinnedFile {
    pub name: &'static str,
    pub sha256: &'static str,
}

/// What is fixed about a set.
pub struct SetFacts {
    pub title: &'static str,
    pub licence: &'static str,
    pub files: [PinnedFile; 4],
}

impl SetFacts {
    /// Whether the content of the file `name` is what was pinned.
    fn verify(&self, name: &str, content: &Idx) -> Result<()> {
        check_image_size(name, content).map_err(|what| UserError::new(what, AGAIN))?;
        let pinned = self.files.iter().find(|file| file.name == name).context("only the four files are asked for")?;
        let found = checksum::of_bytes(&content.encode());
        if found == pinned.sha256 {
            return Ok(());
        }
        let what = format!(
            "{name} is not the file of {}: the SHA-256 of its content differs\n    expected {}\n    found    {found}",
            self.title, pinned.sha256
        );
        Err(UserError::new(what, AGAIN).into())
    }

    /// Whether `folder` already holds the whole set. A set that is not whole is fetched again.
    pub fn is_in(&self, folder: &Path) -> bool {
        NAMES
            .iter()
            .all(|name| read(&gz_path(folder, name), name).is_ok_and(|content| self.verify(name, &content).is_ok()))
    }

    /// Checks all four contents, then writes them to `folder`.
    pub fn store(&self, contents: &[Idx; 4], folder: &Path) -> Result<()> {
        for (name, content) in NAMES.iter().zip(contents) {
            self.verify(name, content)?;
        }
        write_all_gz(folder, contents)
    }
}

/// Where the gzipped file `name` lies in `folder`.
pub fn gz_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.gz"))
}

/// Reads the file of the set called `name` from `path`, gzipped or plain.
pub fn read(path: &Path, name: &str) -> Result<Idx> {
    let dimensions = if name.contains("idx3") { 3 } else { 1 };
    trainer_idx::read(path, dimensions).map_err(|error| match error {
        IdxError::Io(error) => anyhow::Error::new(error).context(format!("cannot read {}", path.display())),
        damaged => UserError::new(format!("{name}: {damaged}"), AGAIN).into(),
    })
}

/// Whether the images, if `content` holds images, have the size that all these sets have.
fn check_image_size(name: &str, content: &Idx) -> Result<(), String> {
    match content.dims[..] {
        [_, rows, columns] if (rows as usize, columns as usize) != (SIDE, SIDE) => {
            Err(format!("{name} holds images of {rows} x {columns}, not {SIDE} x {SIDE}"))
        }
        _ => Ok(()),
    }
}

/// Writes the four files of a set. A file gets its name only when it is whole.
pub fn write_all_gz(folder: &Path, contents: &[Idx; 4]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, content) in NAMES.iter().zip(contents) {
        write_gz(&gz_path(folder, name), content)?;
    }
    Ok(())
}

fn write_gz(path: &Path, content: &Idx) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    // A temporary file is private by default; this one becomes an ordinary file, and the user's umask decides.
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .with_context(|| format!("cannot write in {}", folder.display()))?;
    file.write_all(&trainer_idx::gzip(&content.encode()))
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.persist(path).map_err(|error| error.error).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let labels = Idx { dims: vec![3], bytes: vec![1, 2, 3] };
        let path = gz_path(folder.path(), NAMES[1]);
        write_gz(&path, &labels).unwrap();
        assert_eq!(read(&path, NAMES[1]).unwrap(), labels);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o600, 0o600);
        fs::write(folder.path().join("ordinary"), "").unwrap();
        assert_eq!(mode, fs::metadata(folder.path().join("ordinary")).unwrap().permissions().mode());
    }

    #[test]
    fn a_broken_file_is_told_with_what_was_expected() {
        let folder = tempfile::tempdir().unwrap();
        let name = NAMES[1];
        let says = |content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            read(&path, name).unwrap_err().to_string()
        };
        let whole = Idx { dims: vec![3], bytes: vec![1, 2, 3] }.encode();
        assert_eq!(says(&whole[..10]), format!("{name}: truncated: expected 11 bytes, got 10 (unpacked)"));
        let no_idx = "not an IDX file of bytes: it begins with [00, 00, 00";
        assert!(says(&[0; 3]).starts_with(&format!("{name}: {no_idx}]")), "{}", says(&[0; 3]));
        assert!(says(&[0; 8]).starts_with(&format!("{name}: {no_idx}, 00]")), "{}", says(&[0; 8]));
    }

    #[test]
    fn images_of_another_size_are_refused() {
        let small = Idx { dims: vec![1, 2, 3], bytes: vec![0; 6] };
        assert_eq!(check_image_size("a", &small), Err("a holds images of 2 x 3, not 28 x 28".to_owned()));
        assert_eq!(check_image_size("a", &Idx { dims: vec![1, 28, 28], bytes: vec![0; 784] }), Ok(()));
        assert_eq!(check_image_size("a", &Idx { dims: vec![1], bytes: vec![0] }), Ok(()));
    }
}
