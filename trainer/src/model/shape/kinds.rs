//! What the maps between stages look like, for one input of the batch.

/// The shape of what one input of a batch is at some point of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Square maps of an image: [channels, side, side].
    Maps {
        /// Channels.
        channels: u64,
        /// Height and width.
        side: u64,
    },
    /// Nothing but numbers: [features].
    Vector {
        /// How many.
        features: u64,
    },
    /// The numbers of tokens, int64: [length].
    Tokens {
        /// How many.
        length: u64,
    },
    /// A vector at each place: [length, features].
    Sequence {
        /// Places.
        length: u64,
        /// Elements of each vector.
        features: u64,
    },
    /// A sequence with its features first, as one-dimensional convolutions take it: [channels, length].
    Channels {
        /// Features of each place.
        channels: u64,
        /// Places.
        length: u64,
    },
    /// Sequences side by side, one for each head of an attention: [heads, length, features].
    Heads {
        /// Sequences.
        heads: u64,
        /// Places of each.
        length: u64,
        /// Elements of each vector.
        features: u64,
    },
}

/// Bytes of an f32 element.
pub const F32: u64 = 4;
/// Bytes of an i64 element.
pub const I64: u64 = 8;

impl Shape {
    /// Its dimensions, in the order in which they lie in memory.
    pub fn dimensions(self) -> Vec<u64> {
        match self {
            Shape::Maps { channels, side } => vec![channels, side, side],
            Shape::Vector { features } => vec![features],
            Shape::Tokens { length } => vec![length],
            Shape::Sequence { length, features } => vec![length, features],
            Shape::Channels { channels, length } => vec![channels, length],
            Shape::Heads { heads, length, features } => vec![heads, length, features],
        }
    }

    /// Elements of one input.
    pub fn elements(self) -> u64 {
        self.dimensions().into_iter().product()
    }

    /// Bytes of one input; all but tokens are f32.
    pub fn bytes(self) -> u64 {
        match self {
            Shape::Tokens { length } => length * I64,
            other => other.elements() * F32,
        }
    }

    /// The channels of maps and the features of everything else: what a layer is made for. Tokens have one.
    pub fn features(self) -> u64 {
        match self {
            Shape::Maps { channels, .. } | Shape::Channels { channels, .. } => channels,
            Shape::Vector { features } | Shape::Sequence { features, .. } | Shape::Heads { features, .. } => features,
            Shape::Tokens { .. } => 1,
        }
    }

    /// Over how many places the features repeat: the pixels of a map, the places of a sequence.
    pub fn places(self) -> u64 {
        self.elements() / self.features()
    }

    /// The same with other features.
    pub fn with_features(self, to: u64) -> Shape {
        match self {
            Shape::Maps { side, .. } => Shape::Maps { channels: to, side },
            Shape::Vector { .. } => Shape::Vector { features: to },
            Shape::Tokens { length } | Shape::Sequence { length, .. } => Shape::Sequence { length, features: to },
            Shape::Channels { length, .. } => Shape::Channels { channels: to, length },
            Shape::Heads { heads, length, .. } => Shape::Heads { heads, length, features: to },
        }
    }

    /// The same in another size: maps of another side, sequences of another length.
    pub fn resized(self, size: u64) -> Shape {
        match self {
            Shape::Maps { channels, .. } => Shape::Maps { channels, side: size },
            Shape::Vector { .. } => self,
            Shape::Tokens { .. } => Shape::Tokens { length: size },
            Shape::Sequence { features, .. } => Shape::Sequence { length: size, features },
            Shape::Channels { channels, .. } => Shape::Channels { channels, length: size },
            Shape::Heads { heads, features, .. } => Shape::Heads { heads, length: size, features },
        }
    }

    /// The side of maps, the length of sequences, 1 for a vector.
    pub fn size(self) -> u64 {
        match self {
            Shape::Maps { side, .. } => side,
            Shape::Vector { .. } => 1,
            Shape::Tokens { length }
            | Shape::Sequence { length, .. }
            | Shape::Channels { length, .. }
            | Shape::Heads { length, .. } => length,
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dimensions: Vec<String> = self.dimensions().iter().map(u64::to_string).collect();
        f.write_str(&dimensions.join("x"))?;
        if matches!(self, Shape::Tokens { .. }) { f.write_str(" tokens") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_bytes() {
        assert_eq!(Shape::Maps { channels: 3, side: 224 }.elements(), 150_528);
        assert_eq!(Shape::Sequence { length: 5, features: 7 }.bytes(), 140, "35 elements of 4 bytes");
        assert_eq!(Shape::Tokens { length: 5 }.bytes(), 40, "5 numbers of 8 bytes");
        assert_eq!(Shape::Heads { heads: 2, length: 3, features: 4 }.elements(), 24);
    }

    #[test]
    fn places_share_their_features() {
        assert_eq!(Shape::Maps { channels: 3, side: 4 }.places(), 16);
        assert_eq!(Shape::Sequence { length: 5, features: 7 }.places(), 5);
        assert_eq!(Shape::Vector { features: 10 }.places(), 1);
    }
}
