//! The maps that a stage reads, out of those that are still needed.
use tch::Tensor;

use crate::model::stage::Map;

/// What a stage reads.
pub(super) struct Inputs<'a> {
    maps: &'a [Option<Tensor>],
    reads: &'a [Map],
}

impl<'a> Inputs<'a> {
    /// The maps `reads` of `maps`.
    pub(super) fn new(maps: &'a [Option<Tensor>], reads: &'a [Map]) -> Inputs<'a> {
        Inputs { maps, reads }
    }

    /// The map that the stage works on.
    pub(super) fn first(&self) -> &'a Tensor {
        self.map(self.reads[0])
    }

    /// The map that a stage with two of them reads besides.
    pub(super) fn second(&self) -> &'a Tensor {
        self.map(self.reads[1])
    }

    /// The same, if there is one.
    pub(super) fn further(&self) -> Option<&'a Tensor> {
        self.reads.get(1).map(|&map| self.map(map))
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<&'a Tensor> {
        self.reads.iter().map(|&map| self.map(map)).collect()
    }

    fn map(&self, map: Map) -> &'a Tensor {
        // A list of stages reads only maps that were left before, and a map is let go behind its last reader.
        self.maps[map.0].as_ref().unwrap_or_else(|| unreachable!("map {} is let go behind its last reader", map.0))
    }
}
