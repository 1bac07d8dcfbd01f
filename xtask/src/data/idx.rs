//! IDX, the format of MNIST: a magic number, big-endian counts, bytes.
//!
//! ```text
//!  images  00 00 08 03 | count | rows | columns | count x rows x columns bytes
//!  labels  00 00 08 01 | count | count bytes
//! ```

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use flate2::{Compression, GzBuilder};

use super::{NAMES, packed};

const IMAGES: u32 = 0x0803;
const LABELS: u32 = 0x0801;
/// Images of these sets are 28 x 28.
pub const SIDE: usize = 28;
/// Bytes before the first image.
pub const IMAGES_HEAD: usize = 16;
/// Bytes before the first label.
pub const LABELS_HEAD: usize = 8;

/// Whether `content` is a whole IDX file of the kind that its name promises.
///
/// # Errors
/// In words, with what was expected and found.
pub fn check(name: &str, content: &[u8]) -> Result<(), String> {
    let images = name.contains("idx3");
    let (head, magic) = if images { (IMAGES_HEAD, IMAGES) } else { (LABELS_HEAD, LABELS) };
    if content.len() < head {
        return Err(format!("{name} is cut short: {} bytes, and its head alone has {head}", content.len()));
    }
    let number = |at: usize| u32::from_be_bytes(content[at..at + 4].try_into().expect("four bytes"));
    if number(0) != magic {
        return Err(format!("{name} is not IDX: its magic number is {:#010x}, not {magic:#010x}", number(0)));
    }
    let (rows, columns) = if images { (number(8), number(12)) } else { (1, 1) };
    if images && (rows as usize, columns as usize) != (SIDE, SIDE) {
        return Err(format!("{name} holds images of {rows} x {columns}, not {SIDE} x {SIDE}"));
    }
    let count = number(4);
    let expected = head as u64 + u64::from(count) * u64::from(rows) * u64::from(columns);
    if content.len() as u64 != expected {
        return Err(format!("{name} says {count} entries, which takes {expected} bytes, and has {}", content.len()));
    }
    Ok(())
}

/// An IDX file of images.
pub fn images(pixels: &[&[u8]]) -> Vec<u8> {
    let side = SIDE as u32;
    let head = [IMAGES, pixels.len() as u32, side, side].map(u32::to_be_bytes).concat();
    [head, pixels.concat()].concat()
}

/// An IDX file of labels.
pub fn labels(labels: &[u8]) -> Vec<u8> {
    let head = [LABELS, labels.len() as u32].map(u32::to_be_bytes).concat();
    [&head, labels].concat()
}

/// The content of a gzipped file.
pub fn read_packed(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut content = Vec::new();
    MultiGzDecoder::new(file).read_to_end(&mut content).with_context(|| format!("cannot unpack {}", path.display()))?;
    Ok(content)
}

/// Gzip without a time and a name inside, so that the same content is the same file.
pub fn pack(content: &[u8]) -> Result<Vec<u8>> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(content).context("cannot pack")?;
    packer.finish().context("cannot pack")
}

/// Writes the four files of a set, each under another name first.
pub fn write_all_packed(folder: &Path, contents: &[Vec<u8>; 4]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, content) in NAMES.iter().zip(contents) {
        let path = packed(folder, name);
        let partial = path.with_extension("partial");
        fs::write(&partial, pack(content)?).with_context(|| format!("cannot write {}", partial.display()))?;
        fs::rename(&partial, &path).with_context(|| format!("cannot rename {}", partial.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_the_check_takes() {
        let image = vec![7; SIDE * SIDE];
        assert_eq!(check("a-images-idx3-ubyte", &images(&[&image, &image])), Ok(()));
        assert_eq!(check("a-labels-idx1-ubyte", &labels(&[1, 2, 3])), Ok(()));
        assert_eq!(labels(&[9]), [0, 0, 8, 1, 0, 0, 0, 1, 9]);
    }

    #[test]
    fn a_broken_file_is_told_with_what_was_expected() {
        let name = "a-labels-idx1-ubyte";
        let mut cut = labels(&[1, 2, 3]);
        cut.pop();
        assert_eq!(check(name, &cut), Err(format!("{name} says 3 entries, which takes 11 bytes, and has 10")));
        assert_eq!(check(name, &[0; 3]), Err(format!("{name} is cut short: 3 bytes, and its head alone has 8")));
        let wrong = [0; 8];
        assert_eq!(
            check(name, &wrong),
            Err(format!("{name} is not IDX: its magic number is 0x00000000, not 0x00000801"))
        );
    }

    #[test]
    fn packing_the_same_content_twice_gives_the_same_bytes() {
        let content = labels(&[1, 2, 3]);
        let packed = pack(&content).unwrap();
        assert_eq!(packed, pack(&content).unwrap());
        // Magic, method, no flags, time 0.
        assert_eq!(packed[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
    }
}
