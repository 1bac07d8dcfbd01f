//! One IDX file, the format of MNIST and Fashion-MNIST, plain or gzipped.
//!
//! ```text
//! 00 00 08 DD   magic: bytes (08) in DD dimensions
//! NN NN NN NN   size of each dimension, big-endian, DD times; the first is the number of items
//! ..            one byte an element, row by row
//! ```
//!
//! Only element type 08 (unsigned byte) is read. The header is not believed: memory grows with the bytes that are
//! really there, so a damaged count cannot ask for gigabytes.
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::DataError;

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// First bytes of an IDX file of unsigned bytes; the number of dimensions follows.
const MAGIC: [u8; 3] = [0, 0, 8];

/// The content of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Idx {
    /// Size of each dimension; the first is the number of items.
    pub(super) dims: Vec<u32>,
    /// All elements, item by item.
    pub(super) bytes: Vec<u8>,
}

/// Reads the file at `path`, which must have `dimensions` dimensions.
pub(super) fn read(path: &Path, dimensions: u8) -> Result<Idx, DataError> {
    let unreadable = |reason| DataError::Unreadable { path: path.to_owned(), reason };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let packed = io::BufRead::fill_buf(&mut file).map_err(unreadable)?.starts_with(&GZIP);
    if packed { decode(MultiGzDecoder::new(file), path, dimensions) } else { decode(file, path, dimensions) }
}

/// Reads unpacked bytes; `path` is what errors call them.
fn decode(mut from: impl Read, path: &Path, dimensions: u8) -> Result<Idx, DataError> {
    let magic = read_up_to(&mut from, 4, path)?;
    let Some(found) = magic.strip_prefix(&MAGIC).and_then(|rest| rest.first().copied()) else {
        return Err(DataError::NotIdx { path: path.to_owned(), found: magic });
    };
    if found != dimensions {
        return Err(DataError::WrongDimensions { path: path.to_owned(), expected: dimensions, found });
    }
    let sizes = 4 * u64::from(dimensions);
    let header = 4 + sizes;
    let truncated = |expected, got| DataError::Truncated { path: path.to_owned(), expected, got };
    let raw = read_up_to(&mut from, sizes, path)?;
    if (raw.len() as u64) < sizes {
        return Err(truncated(header, 4 + raw.len() as u64));
    }
    let dims: Vec<u32> = raw.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
    if dims.contains(&0) {
        return Err(DataError::Empty { path: path.to_owned(), dims });
    }
    // Three sizes of 32 bits can exceed 64 bits; no file is that long, so it is truncated all the same.
    let elements = dims.iter().fold(1u64, |product, &size| product.saturating_mul(u64::from(size)));
    let expected = header.saturating_add(elements);
    let bytes = read_up_to(&mut from, elements.saturating_add(1), path)?;
    match bytes.len() as u64 {
        got if got < elements => Err(truncated(expected, header + got)),
        got if got > elements => Err(DataError::TooLong { path: path.to_owned(), expected }),
        _ => Ok(Idx { dims, bytes }),
    }
}

/// At most `limit` bytes; fewer when the input ends before. A gzip stream that breaks off is an end, too.
fn read_up_to(from: &mut impl Read, limit: u64, path: &Path) -> Result<Vec<u8>, DataError> {
    let mut bytes = Vec::new();
    match from.by_ref().take(limit).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(bytes),
        Err(reason) => Err(DataError::Unreadable { path: path.to_owned(), reason }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    /// Two images of 2 x 3 pixels.
    fn two_images() -> Vec<u8> {
        let mut file = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3];
        file.extend(0..12);
        file
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(bytes).expect("memory takes it");
        packer.finish().expect("memory takes it")
    }

    /// What reading a file with this content gives; errors as their text without the path.
    fn reading(content: &[u8], dimensions: u8) -> Result<Idx, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        std::fs::write(&path, content).expect("written");
        read(&path, dimensions).map_err(|error| error.to_string().replace(&format!("{}: ", path.display()), ""))
    }

    #[test]
    fn plain_and_gzipped_are_the_same() {
        let expected = Idx { dims: vec![2, 2, 3], bytes: (0..12).collect() };
        assert_eq!(reading(&two_images(), 3), Ok(expected));
        assert_eq!(reading(&gzip(&two_images()), 3), reading(&two_images(), 3));
    }

    #[test]
    fn labels_have_one_dimension() {
        let labels = [0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9];
        assert_eq!(reading(&labels, 1), Ok(Idx { dims: vec![3], bytes: vec![7, 8, 9] }));
        let swapped = reading(&labels, 3).expect_err("labels are no images");
        assert!(swapped.starts_with("3 dimension(s) expected, 1 found"), "{swapped}");
    }

    #[test]
    fn cut_off_anywhere_is_truncated() {
        let whole = two_images();
        for (kept, message) in [
            (27, "truncated: expected 28 bytes, got 27"),
            (16, "truncated: expected 28 bytes, got 16"),
            (9, "truncated: expected 16 bytes, got 9"),
        ] {
            let error = reading(&whole[..kept], 3).expect_err("it is cut off");
            assert!(error.starts_with(message), "{error}");
        }
    }

    /// The stream breaks off, but what came before counts.
    #[test]
    fn a_cut_off_gzip_is_truncated() {
        let mut file = vec![0, 0, 8, 1, 0, 0, 0x40, 0];
        file.extend((0..0x4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8));
        let packed = gzip(&file);
        let error = reading(&packed[..packed.len() / 2], 1).expect_err("half of it is missing");
        assert!(error.starts_with("truncated: expected 16392 bytes, got "), "{error}");
    }

    #[test]
    fn other_files_are_told_apart() {
        let png = reading(b"\x89PNG\r\n\x1a\n", 3).expect_err("a picture");
        assert!(png.starts_with("not an IDX file of bytes: it begins with [89, 50, 4e, 47]"), "{png}");
        let nothing = reading(b"", 3).expect_err("no bytes");
        assert!(nothing.starts_with("not an IDX file of bytes: it begins with []"), "{nothing}");
        let floats = reading(&[0, 0, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 0], 1).expect_err("element type 0d");
        assert!(floats.starts_with("not an IDX file of bytes"), "{floats}");
    }

    #[test]
    fn trailing_bytes_are_an_error() {
        let mut file = two_images();
        file.push(0);
        let error = reading(&file, 3).expect_err("one byte too many");
        assert!(error.starts_with("longer than the 28 bytes"), "{error}");
    }

    #[test]
    fn no_items_is_empty() {
        let error = reading(&[0, 0, 8, 1, 0, 0, 0, 0], 1).expect_err("no labels");
        assert!(error.starts_with("empty: its header says [0]"), "{error}");
    }

    /// 2^32 - 1 in each of three sizes would be 2^96 bytes; nothing of the kind is allocated.
    #[test]
    fn a_header_is_not_believed() {
        let mut file = vec![0, 0, 8, 3];
        file.extend([0xff; 12]);
        file.extend([1, 2, 3]);
        let error = reading(&file, 3).expect_err("three bytes are not 2^96");
        assert!(error.starts_with("truncated: expected 18446744073709551615 bytes, got 19"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there() {
        let error = read(Path::new("no/such/file"), 3).expect_err("it is not there");
        assert!(matches!(error, DataError::Unreadable { .. }), "{error}");
    }
}
