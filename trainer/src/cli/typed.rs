//! Words and numbers as people type them, on the command line and in files of TOML, by one parser: `FromStr`.
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use clap::ValueEnum;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// Words less alike than this are not suggested.
const ALIKE: f64 = 0.7;

/// Of `known`, the word that is most like `text`, if one is.
pub(crate) fn nearest<'a>(text: &str, known: &[&'a str]) -> Option<&'a str> {
    let alike = known.iter().map(|&word| (strsim::jaro_winkler(text, word), word));
    let (alike, word) = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (alike >= ALIKE).then_some(word)
}

/// Says that `text` is none of `known`, nor `else_`, and which of them may be meant.
pub(super) fn unknown(text: &str, known: &[&str], else_: &str) -> String {
    let all = [known, &[else_]].concat();
    let all = all.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(", ");
    match nearest(text, known) {
        Some(word) => format!("there is no `{text}` here; did you mean {word}? (one of {all})"),
        None => format!("there is no `{text}` here; give one of {all}"),
    }
}

/// Reads one of the names of an enum of clap's.
pub(crate) fn named<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let values: Vec<_> = T::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
        let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
        unknown(text, &names, "")
    })
}

/// Reads a list, or one value in its place, whose values are strings or numbers.
pub(super) fn list<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_any(List(T::from_str))
}

/// The same of names.
pub(super) fn names<'de, D: Deserializer<'de>, T: ValueEnum>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_any(List(named::<T>))
}

/// Reads one string or number, where there is one.
pub(crate) fn one<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(from: D) -> Result<Option<T>, D::Error> {
    Item::deserialize(from)?.0.parse().map(Some).map_err(Error::custom)
}

/// A string or a number as it was typed.
struct Item(String);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Item, D::Error> {
        from.deserialize_any(Text(PhantomData))
    }
}

struct Text(PhantomData<()>);

impl Visitor<'_> for Text {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        Ok(Item(text.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Item, E> {
        Ok(Item(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Item, E> {
        Ok(Item(number.to_string()))
    }
}

/// Values that this function reads.
struct List<T>(fn(&str) -> Result<T, String>);

impl<'de, T> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or a list of such")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        Ok(vec![(self.0)(text).map_err(E::custom)?])
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Vec<T>, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(Item(text)) = items.next_element()? {
            values.push((self.0)(&text).map_err(A::Error::custom)?);
        }
        if values.is_empty() {
            return Err(A::Error::custom(
                "an empty list makes no point; give at least one value, or leave the key out",
            ));
        }
        Ok(values)
    }
}
