//! Reading a file. The header is not trusted: memory grows with the bytes that are really there, so a damaged count
//! cannot make the reader allocate gigabytes.
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::content::{Idx, MAGIC};
use crate::error::IdxError;

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the file at `path`, plain or gzipped, which must have `dimensions` dimensions.
///
/// # Errors
/// When the file cannot be read, is not IDX, has another number of dimensions, or is not as long as its header says.
pub fn read(path: impl AsRef<Path>, dimensions: u8) -> Result<Idx, IdxError> {
    let mut file = BufReader::new(File::open(path)?);
    let gzipped = file.fill_buf()?.starts_with(&GZIP);
    if gzipped { Idx::decode(MultiGzDecoder::new(file), dimensions) } else { Idx::decode(file, dimensions) }
}

impl Idx {
    /// Reads unpacked IDX, which must have `dimensions` dimensions, to the end of `from`.
    ///
    /// # Errors
    /// When `from` fails, is not IDX, has another number of dimensions, or is not as long as its header says.
    pub fn decode(mut from: impl Read, dimensions: u8) -> Result<Idx, IdxError> {
        let (magic, _) = read_up_to(&mut from, 4)?;
        let Some(found) = magic.strip_prefix(&MAGIC).and_then(|rest| rest.first().copied()) else {
            return Err(IdxError::NotIdx { found: magic });
        };
        if found != dimensions {
            return Err(IdxError::WrongDimensions { expected: dimensions, found });
        }
        let sizes = 4 * u64::from(dimensions);
        let header = 4 + sizes;
        let (raw, _) = read_up_to(&mut from, sizes)?;
        if (raw.len() as u64) < sizes {
            return Err(IdxError::Truncated { expected: header, got: 4 + raw.len() as u64 });
        }
        let dims: Vec<u32> = raw.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
        if dims.contains(&0) {
            return Err(IdxError::Empty { dims });
        }
        // Three sizes of 32 bits can exceed 64 bits; no file is that long, so it is truncated all the same.
        let elements = dims.iter().fold(1u64, |product, &size| product.saturating_mul(u64::from(size)));
        let expected = header.saturating_add(elements);
        let (bytes, broke_off) = read_up_to(&mut from, elements.saturating_add(1))?;
        match bytes.len() as u64 {
            got if got < elements => Err(IdxError::Truncated { expected, got: header + got }),
            got if got > elements => Err(IdxError::TooLong { expected }),
            _ if broke_off => Err(IdxError::NoChecksum { expected }),
            _ => Ok(Idx { dims, bytes }),
        }
    }
}

/// At most `limit` bytes; fewer when the input ends earlier. A gzip stream that breaks off counts as an end, too: the second
/// value says whether it did.
fn read_up_to(from: &mut impl Read, limit: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    match from.by_ref().take(limit).read_to_end(&mut bytes) {
        Ok(_) => Ok((bytes, false)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok((bytes, true)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::gzip;

    /// Two images of 2 x 3 pixels.
    fn two_images() -> Vec<u8> {
        let mut file = vec![0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3];
        file.extend(0..12);
        file
    }

    /// What reading a file with this content gives; errors as their text.
    fn reading(content: &[u8], dimensions: u8) -> Result<Idx, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f");
        std::fs::write(&path, content).expect("written");
        read(&path, dimensions).map_err(|error| error.to_string())
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

    /// Every cut of a small file, plain or gzipped: in its last bytes a gzip stream has a checksum and a length.
    #[test]
    fn every_truncation_is_refused() {
        for whole in [two_images(), gzip(&two_images())] {
            assert!(reading(&whole, 3).is_ok());
            for kept in 0..whole.len() {
                assert!(reading(&whole[..kept], 3).is_err(), "{kept} of {} bytes", whole.len());
            }
        }
    }

    #[test]
    fn other_files_are_told_apart() {
        let png = reading(b"\x89PNG\r\n\x1a\n", 3).expect_err("a picture");
        assert!(png.starts_with("not an IDX file of bytes: it begins with [89, 50, 4e, 47]"), "{png}");
        let nothing = reading(b"", 3).expect_err("no bytes");
        assert!(nothing.starts_with("not an IDX file of bytes: it begins with []"), "{nothing}");
        let floats = reading(&[0, 0, 0x0d, 1, 0, 0, 0, 1, 0, 0, 0, 0], 1).expect_err("element type 0d");
        assert!(floats.starts_with("not an IDX file of bytes"), "{floats}");
        assert!(reading(&[0; 3], 1).is_err_and(|error| error.starts_with("not an IDX file of bytes")));
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
        let error = read("no/such/file", 3).expect_err("it is not there");
        assert!(matches!(error, IdxError::Io(_)), "{error}");
    }
}
