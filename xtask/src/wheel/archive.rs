//! A wheel as a file: a zip archive that ends with a list of what is in it (PEP 427).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// The digits of base64 in names and addresses.
const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A wheel that is being written. The same files give the same bytes: no time is in it.
pub struct Archive {
    zip: ZipWriter<BufWriter<File>>,
    /// `RECORD`: path, hash and size of each file so far.
    record: String,
}

impl Archive {
    /// A wheel at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { zip: ZipWriter::new(BufWriter::new(file)), record: String::new() })
    }

    /// Adds a file that is read.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put(name, bytes, 0o644)
    }

    /// Adds a program.
    pub fn add_program(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.put(name, bytes, 0o755)
    }

    fn put(&mut self, name: &str, bytes: &[u8], permissions: u32) -> Result<()> {
        self.write(name, bytes, permissions)?;
        let hash = base64(&Sha256::digest(bytes));
        self.record += &format!("{name},sha256={hash},{}\n", bytes.len());
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8], permissions: u32) -> Result<()> {
        let options = SimpleFileOptions::default().unix_permissions(permissions);
        self.zip.start_file(name, options).with_context(|| format!("cannot add {name}"))?;
        self.zip.write_all(bytes).with_context(|| format!("cannot write {name}"))
    }

    /// Adds the list, which has itself without a hash, at `name`.
    pub fn finish(mut self, name: &str) -> Result<()> {
        let record = format!("{}{name},,\n", self.record);
        self.write(name, record.as_bytes(), 0o644)?;
        let mut file = self.zip.finish().context("cannot end the wheel")?;
        file.flush().context("cannot end the wheel")
    }
}

/// Base64 without padding, as `RECORD` has it.
fn base64(bytes: &[u8]) -> String {
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let number = chunk.iter().enumerate().fold(0, |number, (at, &byte)| number | u32::from(byte) << (16 - 8 * at));
        (0..=chunk.len()).map(move |at| char::from(DIGITS[(number >> (18 - 6 * at)) as usize & 63]))
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648_without_padding() {
        let known = [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")];
        for (text, expected) in known {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "-_8");
    }

    #[test]
    fn the_list_names_every_file_and_the_same_files_give_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["1", "2"].map(|name| folder.path().join(name));
        for path in [&first, &second] {
            let mut archive = Archive::create(path).unwrap();
            archive.add("a.py", b"abc").unwrap();
            archive.add_program("bin", b"").unwrap();
            archive.finish("RECORD").unwrap();
        }
        assert_eq!(std::fs::read(&first).unwrap(), std::fs::read(&second).unwrap());
        let mut zip = zip::ZipArchive::new(File::open(&first).unwrap()).unwrap();
        assert_eq!(zip.by_name("bin").unwrap().unix_mode().unwrap() & 0o777, 0o755);
        let mut record = String::new();
        zip.by_name("RECORD").unwrap().read_to_string(&mut record).unwrap();
        // `printf abc | openssl dgst -sha256 -binary | basenc --base64url`, and of nothing.
        let [abc, nothing] =
            ["ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"];
        assert_eq!(record, format!("a.py,sha256={abc},3\nbin,sha256={nothing},0\nRECORD,,\n"));
    }
}
