//! SHA-256 of files, compared with the values that this project has pinned.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::user_error::UserError;

/// Lower-case hexadecimal, as `sha256sum` prints it.
pub fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-256 of bytes in memory.
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of a file. `read` is called with the number of bytes of each piece, for progress.
pub fn of_file(path: &Path, mut read: impl FnMut(u64)) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut piece).with_context(|| format!("cannot read {}", path.display()))?;
        if count == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&piece[..count]);
        read(count as u64);
    }
}

/// Accepts a fetched file whose hash is the expected one. Any other file is deleted, so that it is never used later.
pub fn verify_or_delete(path: &Path, expected: &str, read: impl FnMut(u64)) -> Result<()> {
    let found = of_file(path, read)?;
    if found == expected {
        return Ok(());
    }
    fs::remove_file(path).with_context(|| format!("cannot delete the wrong file {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let what = format!(
        "{name} is not the file that was asked for: its SHA-256 differs, and it was deleted\n    \
         expected {expected}\n    found    {found}"
    );
    let next = "run the command again; if it stays like this, the package index or a proxy in between serves another \
                file: do not use it, and set LIBTORCH to a libtorch from a place you trust";
    Err(UserError::new(what, next).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digest of "abc" is the first example of FIPS 180-2, appendix B.1.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_with_the_pinned_hash_passes_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wheel.whl");
        fs::write(&file, "abc").unwrap();
        let mut bytes = 0;
        verify_or_delete(&file, ABC, |count| bytes += count).unwrap();
        assert_eq!(bytes, 3);
        assert!(file.exists());
        assert_eq!(of_bytes(b"abc"), ABC);
    }

    #[test]
    fn a_tampered_file_is_named_with_both_hashes_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("wheel.whl");
        fs::write(&file, "abd").unwrap();
        let error = verify_or_delete(&file, ABC, |_| {}).unwrap_err();
        // sha256sum of "abd"
        let found = "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9";
        assert_eq!(
            error.to_string(),
            format!(
                "wheel.whl is not the file that was asked for: its SHA-256 differs, and it was deleted\n    \
                 expected {ABC}\n    found    {found}"
            )
        );
        assert!(!file.exists());
    }
}
