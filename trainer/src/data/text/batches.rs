//! Tensors for one step: passages of the texts as numbers, and what the network is to tell of each.
use tch::{Device, Result, Tensor};

use super::corpus::Corpus;
use super::error::TextError;
use super::spec::{TextLabels, Texts};
use super::tokens::numbers;
use crate::data::batch::Batch;
use crate::data::order::Order;

/// An endless sequence of batches of passages in a seeded order.
///
/// The texts are cut into passages of one length, one behind the other. A text's last passage may be shorter. If the network
/// is to tell the file, it is filled up with token 0; if it is to tell the next tokens, it is left out.
#[derive(Debug)]
pub struct TextBatches {
    texts: Vec<Vec<u32>>,
    /// Text and first token of each passage.
    passages: Vec<(usize, usize)>,
    labels: TextLabels,
    order: Order,
    batch: usize,
    length: usize,
    /// Places, the last ones, at which the next token is to be told.
    places: usize,
    device: Device,
}

/// How many passages a batch has, and how long they are.
#[derive(Clone, Copy, Debug)]
pub struct Passages {
    /// Passages of a batch.
    pub batch: usize,
    /// Tokens of a passage.
    pub length: usize,
    /// Places, the last ones of a passage, at which the network tells something.
    pub places: usize,
}

impl TextBatches {
    /// Batches of passages of `corpus` as `texts` wants them.
    ///
    /// # Errors
    /// When the text is not enough for one batch, or there are more files than classes.
    pub fn new(
        corpus: &Corpus,
        texts: Texts,
        passages: Passages,
        seed: u64,
    ) -> std::result::Result<TextBatches, TextError> {
        let Passages { batch, length, places } = passages;
        let folder = || corpus.folder.clone();
        if let TextLabels::File { classes } = texts.labels
            && corpus.texts.len() as u64 > classes
        {
            return Err(TextError::TooManyFiles { folder: folder(), files: corpus.texts.len(), classes });
        }
        let numbers = numbers(&corpus.texts, texts.tokens);
        let mut passages = Vec::new();
        for (text, tokens) in numbers.iter().enumerate() {
            let count = match texts.labels {
                // The token behind the last place must be there as well.
                TextLabels::Next => tokens.len().saturating_sub(1) / length,
                TextLabels::File { .. } => tokens.len().div_ceil(length),
            };
            passages.extend((0..count).map(|index| (text, index * length)));
        }
        if passages.len() < batch {
            return Err(TextError::TooShort { folder: folder(), passages: passages.len(), length, batch });
        }
        let order = Order::new(passages.len(), seed);
        let (labels, device) = (texts.labels, Device::Cpu);
        Ok(TextBatches { texts: numbers, passages, labels, order, batch, length, places, device })
    }

    /// The same, handed out on `device`; they are made on the CPU.
    pub fn on(self, device: Device) -> TextBatches {
        TextBatches { device, ..self }
    }

    /// Makes the next batch: tokens [N, length], and labels, [N, places] of the next tokens or [N] of the files.
    ///
    /// # Errors
    /// When libtorch fails.
    pub fn next_batch(&mut self) -> Result<Batch> {
        let chosen: Vec<(usize, usize)> =
            self.order.by_ref().take(self.batch).map(|index| self.passages[index]).collect();
        let (batch, length, places) = (self.batch as i64, self.length as i64, self.places as i64);
        let inputs = self.tokens(&chosen, 0, self.length);
        let inputs = Tensor::f_from_slice(&inputs)?.f_view([batch, length])?;
        let labels = match self.labels {
            TextLabels::Next => {
                let next = self.tokens(&chosen, self.length - self.places + 1, self.places);
                Tensor::f_from_slice(&next)?.f_view([batch, places])?
            }
            TextLabels::File { .. } => {
                let files: Vec<i64> = chosen.iter().map(|&(text, _)| text as i64).collect();
                Tensor::f_from_slice(&files)?
            }
        };
        Batch { inputs, labels }.on(self.device)
    }

    /// Of each passage the `count` tokens from `skip` on; 0 behind the end of the text.
    fn tokens(&self, passages: &[(usize, usize)], skip: usize, count: usize) -> Vec<i64> {
        let of_passage = |&(text, start): &(usize, usize)| {
            let rest = self.texts[text].iter().skip(start + skip).map(|&token| i64::from(token));
            rest.chain(std::iter::repeat(0)).take(count)
        };
        passages.iter().flat_map(of_passage).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::text::TextTokens;

    fn corpus(texts: &[&str]) -> Corpus {
        Corpus { folder: "texts".into(), texts: texts.iter().map(|&text| text.to_owned()).collect() }
    }

    fn batches(
        corpus: &Corpus,
        labels: TextLabels,
        batch: usize,
        places: usize,
    ) -> std::result::Result<TextBatches, TextError> {
        let texts = Texts { tokens: TextTokens::Alphabet, labels };
        TextBatches::new(corpus, texts, Passages { batch, length: 4, places }, 1)
    }

    fn rows(tensor: &Tensor) -> Vec<Vec<i64>> {
        Vec::<Vec<i64>>::try_from(tensor).expect("a matrix")
    }

    /// "abcdefghi" is 1 to 9: passages 1-4 and 5-8, each followed by the first of the next.
    #[test]
    fn the_next_token_at_each_place() {
        let mut batches = batches(&corpus(&["abcdefghi"]), TextLabels::Next, 2, 4).expect("two passages");
        let batch = batches.next_batch().expect("made");
        let mut pairs: Vec<_> = rows(&batch.inputs).into_iter().zip(rows(&batch.labels)).collect();
        pairs.sort();
        assert_eq!(pairs, [(vec![1, 2, 3, 4], vec![2, 3, 4, 5]), (vec![5, 6, 7, 8], vec![6, 7, 8, 9])]);
    }

    /// At the last two places of 1-4 the next tokens are 4 and 5.
    #[test]
    fn the_next_token_at_the_last_places() {
        let mut batches = batches(&corpus(&["abcde"]), TextLabels::Next, 1, 2).expect("one passage");
        let batch = batches.next_batch().expect("made");
        assert_eq!((rows(&batch.inputs), rows(&batch.labels)), (vec![vec![1, 2, 3, 4]], vec![vec![4, 5]]));
    }

    #[test]
    fn the_file_of_a_passage() {
        let labels = TextLabels::File { classes: 2 };
        let mut batches = batches(&corpus(&["ab", "cde"]), labels, 2, 1).expect("two passages");
        let batch = batches.next_batch().expect("made");
        let files = Vec::<i64>::try_from(&batch.labels).expect("a list");
        let mut pairs: Vec<_> = files.into_iter().zip(rows(&batch.inputs)).collect();
        pairs.sort();
        assert_eq!(pairs, [(0, vec![1, 2, 0, 0]), (1, vec![3, 4, 5, 0])], "filled up with 0");
    }

    #[test]
    fn too_little_text_and_too_many_files() {
        let error = batches(&corpus(&["abcdefgh"]), TextLabels::Next, 2, 4).expect_err("nothing follows the 8th");
        assert!(
            error.to_string().starts_with("texts: 1 passages of 4 tokens are in it, and a batch has 2; give"),
            "{error}"
        );
        let error = batches(&corpus(&["a", "b", "c"]), TextLabels::File { classes: 2 }, 1, 1).expect_err("three files");
        assert!(error.to_string().ends_with("tells only 2 apart; give --classes 3 or more"), "{error}");
    }
}
