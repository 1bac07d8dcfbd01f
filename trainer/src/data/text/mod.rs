//! From a folder of texts to batches of tokens.
//!
//! `corpus` reads the texts, `tokens` makes numbers of them as `spec` wants it, `batches` cuts them into passages.
mod error;
mod spec;

mod corpus;
mod tokens;

mod batches;

pub use self::batches::{Passages, TextBatches};
pub use self::corpus::Corpus;
pub use self::spec::{TextLabels, TextTokens, Texts};
