//! One image file to the bytes of a network's input.
use std::fs;
use std::io::Cursor;
use std::path::Path;

use image::imageops::{self, FilterType};
use image::{ImageReader, RgbImage};

use crate::error::ImageFolderError;
use crate::whole;

/// Red, green, blue.
pub const CHANNELS: usize = 3;
/// How many times as long as wide an image may be. Resizing makes the whole of it before the middle is cut out.
const LONGEST: u32 = 16;

/// Checks that the file begins as an image does and has its end. Nothing is decoded.
///
/// # Errors
/// When it cannot be read, is no PNG or JPEG, breaks off, or is far longer than wide.
pub fn check(path: &Path) -> Result<(), ImageFolderError> {
    reader(path, &read(path)?).map(|_| ())
}

/// Decodes the file: [`CHANNELS`] x `side` x `side` bytes, [channel, row, column]. The shorter side of the image is resized to
/// `side`, by the mean over the pixels that fall together (bilinear with antialiasing, as torchvision's `Resize`), and the
/// middle of the longer side is cut out.
///
/// # Errors
/// When it cannot be read, is no PNG or JPEG, breaks off, is far longer than wide, or cannot be decoded.
pub fn decode(path: &Path, side: u32) -> Result<Vec<u8>, ImageFolderError> {
    let file = read(path)?;
    let decoded = reader(path, &file)?.decode();
    let decoded = decoded.map_err(|error| ImageFolderError::BadImage { path: path.to_owned(), error })?;
    let pixels = fitted(decoded.into_rgb8(), side);
    Ok((0..CHANNELS).flat_map(|channel| pixels.pixels().map(move |pixel| pixel.0[channel])).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, ImageFolderError> {
    fs::read(path).map_err(|error| ImageFolderError::Io { path: path.to_owned(), error })
}

/// A reader of the file, of which the header was read already.
fn reader<'a>(path: &Path, file: &'a [u8]) -> Result<ImageReader<Cursor<&'a [u8]>>, ImageFolderError> {
    let of_memory = || ImageReader::new(Cursor::new(file)).with_guessed_format().expect("memory can be read");
    let dimensions = of_memory().into_dimensions();
    if let Some(missing) = whole::missing(file) {
        return Err(ImageFolderError::Truncated { path: path.to_owned(), end: file.len(), missing });
    }
    let (width, height) = dimensions.map_err(|error| ImageFolderError::BadImage { path: path.to_owned(), error })?;
    if width.max(height) / width.min(height).max(1) >= LONGEST {
        return Err(ImageFolderError::TooThin { path: path.to_owned(), width, height, most: LONGEST });
    }
    Ok(of_memory())
}

/// The image resized and cut to `side` x `side`.
fn fitted(image: RgbImage, side: u32) -> RgbImage {
    let (width, height) = image.dimensions();
    let short = width.min(height);
    // As torchvision does it, the longer side is rounded down.
    let resized = |length: u32| (u64::from(side) * u64::from(length) / u64::from(short)) as u32;
    let (to_width, to_height) = (resized(width), resized(height));
    let image = if (to_width, to_height) == (width, height) {
        image
    } else {
        imageops::resize(&image, to_width, to_height, FilterType::Triangle)
    };
    imageops::crop_imm(&image, middle(to_width - side), middle(to_height - side), side, side).to_image()
}

/// Half of `room`; of the two halves of an odd one the even number, as Python rounds.
fn middle(room: u32) -> u32 {
    let half = room / 2;
    if room % 2 == 1 && half % 2 == 1 { half + 1 } else { half }
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat, Luma, LumaA, Rgb};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A file in a folder of its own.
    fn file(content: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.png");
        fs::write(&path, content).expect("written");
        (folder, path)
    }

    fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        image.into().write_to(&mut bytes, format).expect("encoded");
        bytes.into_inner()
    }

    /// Red grows with x, green with y.
    fn gradient(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| Rgb([(10 * x) as u8, (20 * y) as u8, 7]))
    }

    #[test]
    fn channels_stand_one_behind_the_other() {
        let (_folder, path) = file(&encoded(gradient(3, 3), ImageFormat::Png));
        let red = [0, 10, 20, 0, 10, 20, 0, 10, 20];
        let green = [0, 0, 0, 20, 20, 20, 40, 40, 40];
        assert_eq!(decode(&path, 3).expect("whole"), [&red[..], &green, &[7; 9]].concat());
    }

    /// Of 5 columns the three in the middle: nothing is resized.
    #[test]
    fn the_middle_of_the_longer_side_is_cut_out() {
        let (_folder, path) = file(&encoded(gradient(5, 3), ImageFormat::Png));
        assert_eq!(decode(&path, 3).expect("whole")[..3], [10, 20, 30]);
        assert_eq!([0, 1, 2, 3, 4, 5, 7].map(middle), [0, 0, 1, 2, 2, 2, 4], "0.5 is 0 and 1.5 is 2, as Python has it");
    }

    /// The numbers are those that torchvision 0.26 with Pillow 13 makes of the same image:
    /// `v2.Compose([v2.Resize(4), v2.CenterCrop(4)])`. Libraries may round differently, by one level.
    #[test]
    fn resized_as_torchvision_does() {
        let (_folder, path) = file(&encoded(gradient(11, 7), ImageFormat::Png));
        let pixels = decode(&path, 4).expect("whole");
        let red = [22, 40, 60, 78].repeat(4);
        let green = [10, 42, 78, 110].map(|row| [row; 4]).concat();
        let expected = [&red[..], &green, &[7; 16]].concat();
        let near = pixels.iter().zip(&expected).all(|(found, expected)| found.abs_diff(*expected) <= 1);
        assert!(near && pixels.len() == expected.len(), "{pixels:?}");
    }

    #[test]
    fn grey_and_transparent_images_have_three_channels() {
        let grey = image::GrayImage::from_pixel(2, 2, Luma([9]));
        let (_folder, path) = file(&encoded(grey, ImageFormat::Png));
        assert_eq!(decode(&path, 2).expect("whole"), [9; 12]);
        let transparent = image::GrayAlphaImage::from_pixel(2, 2, LumaA([9, 0]));
        let (_folder, path) = file(&encoded(transparent, ImageFormat::Png));
        assert_eq!(decode(&path, 2).expect("whole"), [9; 12]);
    }

    proptest! {
        /// Whatever a damaged file decodes to, it has the size that was asked for.
        #[test]
        fn damage_never_panics(format in prop_oneof![Just(ImageFormat::Png), Just(ImageFormat::Jpeg)], damage in vec((any::<usize>(), any::<u8>()), 1..6)) {
            let mut content = encoded(gradient(9, 8), format);
            for (place, byte) in damage {
                let place = place % content.len();
                content[place] = byte;
            }
            let (_folder, path) = file(&content);
            if let Ok(pixels) = decode(&path, 4) {
                prop_assert_eq!(pixels.len(), CHANNELS * 4 * 4);
            }
        }
    }

    /// The content decides, not the name.
    #[test]
    fn a_jpeg_by_another_name() {
        let (_folder, path) = file(&encoded(RgbImage::from_pixel(8, 8, Rgb([100; 3])), ImageFormat::Jpeg));
        assert!(decode(&path, 8).expect("whole").iter().all(|value| value.abs_diff(100) <= 2));
    }

    /// Both formats, cut behind each byte: `check` refuses as well as `decode`.
    #[test]
    fn every_truncation_is_refused() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg] {
            let whole = encoded(gradient(9, 8), format);
            for kept in 0..whole.len() {
                let (_folder, path) = file(&whole[..kept]);
                assert!(check(&path).is_err() && decode(&path, 4).is_err(), "{kept} of {} bytes", whole.len());
            }
        }
    }

    #[test]
    fn what_is_no_image_is_told_with_its_file() {
        let (_folder, path) = file(b"GIF89a, or some such");
        let error = decode(&path, 4).expect_err("no PNG").to_string();
        assert!(error.contains("a.png: not a readable image: "), "{error}");
        let whole = encoded(gradient(9, 8), ImageFormat::Png);
        let (_folder, path) = file(&whole[..60]);
        let error = check(&path).expect_err("cut").to_string();
        assert!(error.contains("a.png: truncated: it ends at byte 60, and a chunk"), "{error}");
        // One bit in the picture: PNG's checksum knows.
        let mut damaged = whole;
        damaged[50] ^= 1;
        let (_folder, path) = file(&damaged);
        assert!(decode(&path, 4).is_err());
    }

    #[test]
    fn an_image_of_one_line_is_refused() {
        let (_folder, path) = file(&encoded(gradient(64, 1), ImageFormat::Png));
        let error = check(&path).expect_err("too thin").to_string();
        assert!(error.contains("an image of 64 x 1 pixels"), "{error}");
    }
}
