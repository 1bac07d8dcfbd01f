//! Tensors for one step: images normalised, resized, with the channels that the network takes; labels beside them.
use std::io;

use tch::{Device, Result, TchError, Tensor};

use super::batch::Batch;
use super::dataset::Dataset;
use super::error::DataError;
use super::order::Order;

/// An endless sequence of batches in a seeded order. A batch larger than the data repeats images.
#[derive(Debug)]
pub struct ImageBatches {
    data: Dataset,
    order: Order,
    batch: usize,
    side: i64,
    channels: i64,
    seed: u64,
    device: Device,
}

impl ImageBatches {
    /// Batches of `batch` images of 3 x `side` x `side`; see [`ImageBatches::with_channels`].
    pub fn new(data: Dataset, batch: usize, side: i64, seed: u64) -> ImageBatches {
        let order = Order::new(data.len(), seed);
        ImageBatches { data, order, batch, side, channels: 3, seed, device: Device::Cpu }
    }

    /// The same with so many channels.
    pub fn with_channels(self, channels: u64) -> ImageBatches {
        ImageBatches { channels: channels as i64, ..self }
    }

    /// The same, handed out on `device`; they are made on the CPU.
    pub fn on(self, device: Device) -> ImageBatches {
        ImageBatches { device, ..self }
    }

    /// From now on the batches are of the images with these indices alone, one at least.
    pub fn learn_from(&mut self, images: Vec<usize>) {
        self.order = Order::of(images, self.seed);
    }

    /// The images that the batches are from.
    pub fn data(&self) -> &Dataset {
        &self.data
    }

    /// Checks the files of the images that so many batches are made of, where each image has a file.
    pub fn check(&self, batches: u64) -> std::result::Result<(), DataError> {
        // More than all of them are not needed.
        let count = (batches as usize).saturating_mul(self.batch).min(self.data.len());
        self.data.check(Order::new(self.data.len(), self.seed).take(count))
    }

    /// Makes the next batch.
    pub fn next_batch(&mut self) -> Result<Batch> {
        let chosen: Vec<usize> = self.order.by_ref().take(self.batch).collect();
        self.batch_of(&chosen)
    }

    /// Makes a batch of the images with these indices. Images are resized bilinearly (pixel centres aligned, as PyTorch's
    /// `interpolate` does by default) unless they were decoded in the right size, and grey ones are repeated into as many
    /// channels as the network takes; each step of that drops the one before.
    ///
    /// # Errors
    /// When an image cannot be decoded, or libtorch fails.
    pub fn batch_of(&self, chosen: &[usize]) -> Result<Batch> {
        let mut images = self.normalised(chosen)?;
        if self.data.needs_resizing() {
            images = images.f_upsample_bilinear2d([self.side, self.side], false, None, None)?;
        }
        images = images.f_expand([-1, self.channels, -1, -1], false)?;
        images = images.f_contiguous()?;
        let labels: Vec<i64> = chosen.iter().map(|&index| i64::from(self.data.label(index))).collect();
        let labels = Tensor::f_from_slice(&labels)?;
        Batch { inputs: images, labels }.on(self.device)
    }

    /// The chosen images in the size that the data has them in, [N, channels, height, width], with mean 0 and deviation 1.
    fn normalised(&self, chosen: &[usize]) -> Result<Tensor> {
        let mut values = Vec::new();
        for &index in chosen {
            let appended = self.data.append(index, self.side as usize, self.channels as usize, &mut values);
            // The one error of tch's that is not libtorch's.
            appended.map_err(|error| TchError::Io(io::Error::other(error)))?;
        }
        let (height, width) = self.data.size(self.side as usize);
        Tensor::f_from_slice(&values)?.f_view([chosen.len() as i64, -1, height as i64, width as i64])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::split::Split;
    use tch::Kind;
    use trainer_idx::Idx;

    /// Four images of 2 x 2, all pixels of image n being 60 n, with label n.
    fn flat_images() -> Dataset {
        let folder = tempfile::tempdir().expect("a folder");
        let images = Idx { dims: vec![4, 2, 2], bytes: (0..4).flat_map(|n| [60 * n; 4]).collect() };
        let labels = Idx { dims: vec![4], bytes: vec![0, 1, 2, 3] };
        std::fs::write(folder.path().join("train-images-idx3-ubyte"), images.encode()).expect("written");
        std::fs::write(folder.path().join("train-labels-idx1-ubyte"), labels.encode()).expect("written");
        Dataset::open(folder.path(), Split::Train, 10).expect("whole")
    }

    #[test]
    fn shapes_kinds_and_values() {
        let batch = ImageBatches::new(flat_images(), 4, 5, 1).next_batch().expect("made");
        assert_eq!((batch.inputs.size(), batch.inputs.kind()), (vec![4, 3, 5, 5], Kind::Float));
        assert!(batch.inputs.is_contiguous(), "a storage of its own for all three channels");
        assert_eq!((batch.labels.size(), batch.labels.kind()), (vec![4], Kind::Int64));
        for place in 0..4 {
            let label = batch.labels.int64_value(&[place]);
            let expected = (60.0 * label as f32 / 255.0 - 0.2860) / 0.3530;
            for (channel, y, x) in [(0, 0, 0), (1, 2, 3), (2, 4, 4)] {
                let value = batch.inputs.double_value(&[place, channel, y, x]) as f32;
                assert!((value - expected).abs() < 1e-5, "a flat image stays flat: {value} {expected}");
            }
        }
    }

    /// All pixels of image n are 60 n: 0 becomes -1, and 180 becomes 180 / 127.5 - 1.
    #[test]
    fn black_is_minus_one() {
        let batch = ImageBatches::new(flat_images().between_minus_one_and_one(), 4, 2, 1).next_batch().expect("made");
        for place in 0..4 {
            let expected = 60.0 * batch.labels.int64_value(&[place]) as f64 / 127.5 - 1.0;
            assert!((batch.inputs.double_value(&[place, 0, 0, 0]) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn the_seed_decides_the_batch() {
        let labels = |seed| ImageBatches::new(flat_images(), 3, 4, seed).next_batch().expect("made").labels;
        assert_eq!(labels(1), labels(1));
    }

    #[test]
    fn of_some_images_alone() {
        let mut batches = ImageBatches::new(flat_images(), 4, 4, 1);
        batches.learn_from(vec![1, 3]);
        for _ in 0..3 {
            let labels: Vec<i64> = Vec::try_from(batches.next_batch().expect("made").labels).expect("numbers");
            assert!(
                labels.contains(&1) && labels.contains(&3) && labels.iter().all(|label| label % 2 == 1),
                "{labels:?}"
            );
        }
        assert_eq!(batches.batch_of(&[2, 0]).expect("made").labels, Tensor::from_slice(&[2i64, 0]));
    }

    #[test]
    fn more_than_there_is_repeats() {
        let batch = ImageBatches::new(flat_images(), 9, 4, 1).next_batch().expect("made");
        assert_eq!(batch.labels.size(), [9]);
    }
}
