//! What one layer learns, and which rows of it belong to which filter.
use tch::Tensor;

use crate::model::weights::Weights;

/// The parameters of one layer.
#[derive(Debug)]
pub struct Parameters<'a> {
    /// Weights and biases.
    pub tensors: Vec<&'a Tensor>,
    /// How many filters (output channels) the layer has.
    pub filters: usize,
    /// The dimension of each tensor along which the filters lie.
    pub dimension: i64,
}

impl<'a> Parameters<'a> {
    /// Those in `weights`.
    pub(super) fn of(weights: &'a Weights) -> Parameters<'a> {
        let (filters, dimension) = weights.filters();
        Parameters { tensors: weights.parameters(), filters, dimension }
    }

    /// Where in `tensor` these filters lie, along the dimension of the filters. `filters` is sorted.
    pub fn places(&self, tensor: &Tensor, filters: &[usize]) -> Vec<i64> {
        let size = tensor.size()[self.dimension as usize];
        // A recurrent layer has all filters of one gate, then all of the next.
        (0..size).filter(|&place| filters.binary_search(&(place as usize % self.filters)).is_ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use crate::model::{GENERATOR, ModelName, Network};
    use tch::Device;

    /// 200 features: columns of the embedding's table, and 200 rows for each of the LSTM's four gates. The last layer has 10.
    #[test]
    fn filters_of_a_language_model() {
        let _generator = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
        let network = Network::init(ModelName::Lstm.stages(10), Device::Cpu).expect("initialises");
        let layers: Vec<_> = network.parameters().collect();
        let places = |layer: usize, tensor: usize| {
            let found = &layers[layer];
            (found.filters, found.dimension, found.places(found.tensors[tensor], &[3, 7]))
        };
        assert_eq!(places(0, 0), (200, 1, vec![3, 7]));
        for tensor in 0..8 {
            assert_eq!(places(1, tensor), (200, 0, vec![3, 7, 203, 207, 403, 407, 603, 607]));
        }
        assert_eq!(places(2, 1), (10, 0, vec![3, 7]));
    }
}
