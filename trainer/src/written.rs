//! Files that are whole or not there, whatever ends the program meanwhile.
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file beside `path`, puts it on the disk, and renames it when it is complete.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let make = |path: &Path| File::create_new(path);
    let mut partial = tempfile::Builder::new().prefix(".").suffix(".partial").make_in(parent, make)?;
    partial.as_file_mut().write_all(content)?;
    partial.as_file().sync_all()?;
    partial.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        for content in ["one", "two"] {
            write_whole(&path, content.as_bytes()).expect("written");
            assert_eq!(std::fs::read_to_string(&path).expect("there"), content);
        }
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
