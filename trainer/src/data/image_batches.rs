//! Tensors for one step: images resized, made three channels, normalised; labels beside them.
use tch::{Device, Result, Tensor};

use super::batch::Batch;
use super::dataset::Dataset;
use super::order::Order;

/// Mean and standard deviation of Fashion-MNIST's training pixels, as shares of 255.
const MEAN: f32 = 0.2860;
const DEVIATION: f32 = 0.3530;

/// An endless sequence of batches in a seeded order. A batch larger than the data repeats images.
#[derive(Debug)]
pub struct ImageBatches {
    data: Dataset,
    order: Order,
    batch: usize,
    side: i64,
    channels: i64,
    device: Device,
}

impl ImageBatches {
    /// ImageBatches of `batch` images of 3 x `side` x `side`; see [`ImageBatches::with_channels`].
    pub fn new(data: Dataset, batch: usize, side: i64, seed: u64) -> ImageBatches {
        let order = Order::new(data.len(), seed);
        ImageBatches { data, order, batch, side, channels: 3, device: Device::Cpu }
    }

    /// The same with so many channels.
    pub fn with_channels(self, channels: u64) -> ImageBatches {
        ImageBatches { channels: channels as i64, ..self }
    }

    /// The same, handed out on `device`; they are made on the CPU.
    pub fn on(self, device: Device) -> ImageBatches {
        ImageBatches { device, ..self }
    }

    /// Makes the next batch. Grey images are resized bilinearly (pixel centres aligned, as PyTorch's `interpolate`
    /// does by default) and repeated into as many channels as the network takes; each step of that drops the one before.
    pub fn next_batch(&mut self) -> Result<Batch> {
        let chosen: Vec<usize> = self.order.by_ref().take(self.batch).collect();
        let mut images = normalised(&self.data, &chosen)?;
        images = images.f_upsample_bilinear2d([self.side, self.side], false, None, None)?;
        images = images.f_expand([-1, self.channels, -1, -1], false)?;
        images = images.f_contiguous()?;
        let labels: Vec<i64> = chosen.iter().map(|&index| i64::from(self.data.label(index))).collect();
        let labels = Tensor::f_from_slice(&labels)?;
        Batch { inputs: images, labels }.on(self.device)
    }
}

/// The chosen images as they are in the data, [N, 1, height, width], with mean 0 and deviation 1.
fn normalised(data: &Dataset, chosen: &[usize]) -> Result<Tensor> {
    let pixels: Vec<f32> = chosen
        .iter()
        .flat_map(|&index| data.image(index))
        .map(|&pixel| (f32::from(pixel) / 255.0 - MEAN) / DEVIATION)
        .collect();
    let flat = Tensor::f_from_slice(&pixels)?;
    flat.f_view([chosen.len() as i64, 1, data.height as i64, data.width as i64])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::dataset::Split;
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
            let expected = (60.0 * label as f32 / 255.0 - MEAN) / DEVIATION;
            for (channel, y, x) in [(0, 0, 0), (1, 2, 3), (2, 4, 4)] {
                let value = batch.inputs.double_value(&[place, channel, y, x]) as f32;
                assert!((value - expected).abs() < 1e-5, "a flat image stays flat: {value} {expected}");
            }
        }
    }

    #[test]
    fn the_seed_decides_the_batch() {
        let labels = |seed| ImageBatches::new(flat_images(), 3, 4, seed).next_batch().expect("made").labels;
        assert_eq!(labels(1), labels(1));
    }

    #[test]
    fn more_than_there_is_repeats() {
        let batch = ImageBatches::new(flat_images(), 9, 4, 1).next_batch().expect("made");
        assert_eq!(batch.labels.size(), [9]);
    }
}
