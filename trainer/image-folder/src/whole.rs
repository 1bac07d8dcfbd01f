//! Whether an image file has its end. Decoders forgive a missing one, JPEG's even half of the picture, so the parts of the
//! file are followed by their lengths, without decoding any:
//!
//! ```text
//! PNG    signature; chunks of length, type, content, checksum; the last has the type IEND
//! JPEG   markers, FF and a number, with length and content; behind FF DA the picture, in which FF is never followed
//!        by anything but 00, a restart (D0 to D7), or the next marker; the last marker is FF D9
//! ```
//!
//! What follows the end is ignored.

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xff\xd8";

/// What is missing at the end of a PNG or JPEG file; `None` of a whole one, and of any other file.
pub(crate) fn missing(file: &[u8]) -> Option<String> {
    if let Some(chunks) = file.strip_prefix(PNG) {
        png_end(chunks).is_none().then(|| "a chunk of the PNG, or its last one, IEND, should follow".to_owned())
    } else if let Some(segments) = file.strip_prefix(JPEG) {
        jpeg_end(segments).is_none().then(|| "more of the picture, or the JPEG's end marker, should follow".to_owned())
    } else {
        None
    }
}

/// What follows IEND; `None` when the file ends before.
fn png_end(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (kind, after) = after.split_first_chunk::<4>()?;
        rest = after.get((u32::from_be_bytes(*length) as usize).checked_add(4)?..)?;
        if kind == b"IEND" {
            return Some(rest);
        }
    }
}

/// What follows the end marker; `None` when the file ends before.
fn jpeg_end(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        // The picture, and filling bytes before a marker, are skipped alike: both end at an FF with a marker's number.
        let at = rest.windows(2).position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7 | 0xff))?;
        let marker = rest[at + 1];
        rest = &rest[at + 2..];
        if marker == 0xd9 {
            return Some(rest);
        }
        // 01 and D8 have no length.
        if !matches!(marker, 0x01 | 0xd8) {
            let (length, _) = rest.split_first_chunk::<2>()?;
            rest = rest.get(usize::from(u16::from_be_bytes(*length))..)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chunk of two bytes, and the last one.
    const SMALL_PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x02abcd12CRC4\0\0\0\0IEND\xae\x42\x60\x82";
    /// A segment with an end marker in its content, a picture with a stuffed FF and a restart, and the end.
    const SMALL_JPEG: &[u8] = b"\xff\xd8\xff\xe1\0\x04\xff\xd9\xff\xda\0\x03\x01picture\xff\0more\xff\xd0rest\xff\xd9";

    #[test]
    fn every_cut_misses_something() {
        for whole in [SMALL_PNG, SMALL_JPEG] {
            assert_eq!(missing(whole), None);
            assert_eq!(missing(&[whole, b"trailer"].concat()), None);
            // Up to the signature it could be any file.
            for kept in 8..whole.len() {
                assert!(missing(&whole[..kept]).is_some(), "{kept} of {whole:02x?}");
            }
        }
    }

    #[test]
    fn other_files_are_no_matter_of_this() {
        assert_eq!(missing(b""), None);
        assert_eq!(missing(b"GIF89a"), None);
    }
}
