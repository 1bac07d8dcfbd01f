//! Texts as numbers: cut into tokens, the most frequent of which have numbers of their own.
use std::collections::HashMap;

use super::spec::TextTokens;

/// The alphabet of Zhang et al. (2015), in its order. They name the hyphen twice, so one of the 70 channels stays empty.
const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz0123456789-,;.!?:'\"/\\|_@#$%^&*~`+-=<>()[]{}\n";

/// Each text as the numbers of its tokens.
pub(super) fn numbers(texts: &[String], tokens: TextTokens) -> Vec<Vec<u32>> {
    match tokens {
        TextTokens::Characters { vocabulary } => by_frequency(texts, |text| characters(text).collect(), vocabulary),
        TextTokens::Alphabet => {
            let place: HashMap<char, u32> = ALPHABET.chars().rev().zip((1..=70).rev()).collect();
            let number = |letter: char| letter.to_lowercase().next().and_then(|small| place.get(&small)).copied();
            texts.iter().map(|text| text.chars().map(|letter| number(letter).unwrap_or(0)).collect()).collect()
        }
        TextTokens::Words { vocabulary } => {
            let small: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
            by_frequency(&small, words, vocabulary)
        }
    }
}

/// The most frequent pieces are 1, 2, ...; of equally frequent ones the first in the order of text. What has no number
/// below `vocabulary` is 0.
fn by_frequency(texts: &[String], cut: impl Fn(&str) -> Vec<&str>, vocabulary: u64) -> Vec<Vec<u32>> {
    let pieces: Vec<Vec<&str>> = texts.iter().map(|text| cut(text)).collect();
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for piece in pieces.iter().flatten() {
        *counts.entry(piece).or_default() += 1;
    }
    let mut ordered: Vec<(&str, u64)> = counts.into_iter().collect();
    ordered.sort_by(|(one, often), (other, seldom)| seldom.cmp(often).then(one.cmp(other)));
    let known = usize::try_from(vocabulary.saturating_sub(1)).unwrap_or(usize::MAX);
    let numbers: HashMap<&str, u32> = ordered.into_iter().map(|(piece, _)| piece).take(known).zip(1..).collect();
    pieces.iter().map(|text| text.iter().map(|piece| numbers.get(piece).copied().unwrap_or(0)).collect()).collect()
}

/// The characters, each as a piece of the text.
fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.char_indices().map(|(at, letter)| &text[at..at + letter.len_utf8()])
}

/// Runs of letters and digits, and each other character that is no space.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match rest.find(|letter: char| !letter.is_alphanumeric()) {
            Some(0) => first.len_utf8(),
            Some(end) => end,
            None => rest.len(),
        };
        words.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    /// b stands three times, a twice, c once: 1, 2 and 3 of a vocabulary of 4; in one of 3, c is 0.
    #[test]
    fn the_most_frequent_come_first() {
        let texts = texts(&["abcb", "ba"]);
        assert_eq!(numbers(&texts, TextTokens::Characters { vocabulary: 4 }), [vec![2, 1, 3, 1], vec![1, 2]]);
        assert_eq!(numbers(&texts, TextTokens::Characters { vocabulary: 3 }), [vec![2, 1, 0, 1], vec![1, 2]]);
    }

    #[test]
    fn words_and_what_is_between_them() {
        assert_eq!(words("  The map,\n conv1's (half) "), ["The", "map", ",", "conv1", "'", "s", "(", "half", ")"]);
        assert_eq!(words(""), Vec::<&str>::new());
        let numbers = numbers(&texts(&["The cat. the dog."]), TextTokens::Words { vocabulary: 10 });
        assert_eq!(numbers, [vec![2, 3, 1, 2, 4, 1]], "a full stop comes first of the two that stand twice");
    }

    #[test]
    fn the_alphabet_has_seventy_places() {
        assert_eq!(ALPHABET.chars().count(), 70);
        let numbers = numbers(&texts(&["aZ9 \n\u{e9}"]), TextTokens::Alphabet);
        assert_eq!(numbers, [vec![1, 26, 36, 0, 70, 0]], "neither the space nor an accented letter is in it");
    }
}
