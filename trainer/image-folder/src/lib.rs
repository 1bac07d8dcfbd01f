//! Lists and decodes PNG and JPEG images that lie in a folder for each class, as torchvision's `ImageFolder` does:
//!
//! ```text
//! folder/cat/001.png      the classes in the order of their names: cat is 0, dog is 1
//! folder/cat/002.jpg
//! folder/dog/a.jpeg
//! ```
//!
//! What is decoded has three channels and the size that is asked for: the shorter side is resized to it, and the middle of
//! the longer one is cut out (torchvision's `Resize` and `CenterCrop`). Folders below a class are not looked into, and neither
//! are folders whose names begin with a dot. How a camera was held (EXIF) is ignored, as in torchvision.
#![forbid(unsafe_code)]

mod error;

mod list;
mod whole;

mod decode;

pub use decode::{CHANNELS, check, decode};
pub use error::ImageFolderError;
pub use list::{Class, classes, has_classes};
