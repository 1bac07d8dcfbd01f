//! What a network wants of a text: which tokens, how many, and what it is to tell.

/// What a network wants of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts {
    /// What a token is.
    pub tokens: TextTokens,
    /// What the network is to tell.
    pub labels: TextLabels,
}

/// What a token is, and which have a number of their own. All others are token 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextTokens {
    /// A character. The most frequent ones are numbered from 1.
    Characters {
        /// Numbers that there are, 0 included.
        vocabulary: u64,
    },
    /// A character of the fixed alphabet of Zhang et al., numbered from 1; capitals count as small letters.
    Alphabet,
    /// A word in small letters, or a character that is part of none. The most frequent ones are numbered from 1.
    Words {
        /// Numbers that there are, 0 included.
        vocabulary: u64,
    },
}

/// What a network is to tell of a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLabels {
    /// At its last places, the token that follows.
    Next,
    /// From which file it is.
    File {
        /// Files that the network can tell apart.
        classes: u64,
    },
}
