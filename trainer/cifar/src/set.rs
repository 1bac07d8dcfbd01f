//! What is fixed about the two sets.

/// Height and width of an image, in pixels.
pub const SIDE: usize = 32;
/// Red, green, blue.
pub const CHANNELS: usize = 3;
/// Bytes of one image.
pub const PIXELS: usize = CHANNELS * SIDE * SIDE;

/// One of the two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Ten classes; 5 x 10,000 + 10,000 images.
    Cifar10,
    /// A hundred classes in twenty groups; 50,000 + 10,000 images.
    Cifar100,
}

impl Set {
    /// How many classes there are: labels are below it.
    pub fn classes(self) -> u8 {
        match self {
            Set::Cifar10 => 10,
            Set::Cifar100 => 100,
        }
    }

    /// How many groups of classes there are; CIFAR-10 has none.
    pub fn groups(self) -> Option<u8> {
        match self {
            Set::Cifar10 => None,
            Set::Cifar100 => Some(20),
        }
    }

    /// Bytes before the pixels of each image.
    pub(crate) fn label_bytes(self) -> usize {
        1 + usize::from(self.groups().is_some())
    }

    /// Bytes of one image with its labels.
    pub fn record_bytes(self) -> usize {
        self.label_bytes() + PIXELS
    }

    /// The files of the training part, in order.
    pub fn training_files(self) -> &'static [&'static str] {
        match self {
            Set::Cifar10 => {
                &["data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"]
            }
            Set::Cifar100 => &["train.bin"],
        }
    }

    /// The file of the test part.
    pub fn test_file(self) -> &'static str {
        match self {
            Set::Cifar10 => "test_batch.bin",
            Set::Cifar100 => "test.bin",
        }
    }

    /// Images in the longest file of the set.
    pub fn most_images(self) -> usize {
        match self {
            Set::Cifar10 => 10_000,
            Set::Cifar100 => 50_000,
        }
    }
}
