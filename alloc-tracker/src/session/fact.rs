//! Facts: what a program states about its run.
use serde_json::Value;

/// A fact about the run, such as its batch size or the name of its model. Numbers, texts, truth values and lists of
/// them convert into one.
///
/// ```
/// use alloc_tracker::Fact;
///
/// assert_eq!(Fact::from(32), Fact::Integer(32));
/// assert_eq!(Fact::from("resnet18"), Fact::Text("resnet18".to_owned()));
/// assert_eq!(Fact::from(vec![224u32, 224]), Fact::List(vec![Fact::Unsigned(224), Fact::Unsigned(224)]));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fact {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A floating-point number. Infinities and NaN become `null` in the file.
    Float(f64),
    /// A text.
    Text(String),
    /// A list of facts, in order.
    List(Vec<Fact>),
}

impl Fact {
    /// The fact as JSON, as the timeline stores it.
    pub(super) fn into_json(self) -> Value {
        match self {
            Fact::Bool(fact) => fact.into(),
            Fact::Integer(fact) => fact.into(),
            Fact::Unsigned(fact) => fact.into(),
            Fact::Float(fact) => fact.into(),
            Fact::Text(fact) => fact.into(),
            Fact::List(facts) => facts.into_iter().map(Fact::into_json).collect(),
        }
    }
}

/// Lossless conversions from Rust's types.
macro_rules! from {
    ($variant:ident: $($type:ty),*) => {
        $(impl From<$type> for Fact {
            fn from(fact: $type) -> Self {
                Fact::$variant(fact.into())
            }
        })*
    };
}

from!(Bool: bool);
from!(Integer: i8, i16, i32, i64);
from!(Unsigned: u8, u16, u32, u64);
from!(Float: f32, f64);
from!(Text: &str, String);

impl From<usize> for Fact {
    fn from(fact: usize) -> Self {
        Fact::Unsigned(fact as u64)
    }
}

impl<T: Into<Fact>> From<Vec<T>> for Fact {
    fn from(facts: Vec<T>) -> Self {
        Fact::List(facts.into_iter().map(Into::into).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stand_in_the_file_as_what_they_are() {
        let facts = vec![Fact::from(true), (-1).into(), 7u64.into(), 0.5.into(), "x".into(), vec![1usize].into()];
        assert_eq!(Fact::List(facts).into_json().to_string(), r#"[true,-1,7,0.5,"x",[1]]"#);
        assert_eq!(Fact::from(f64::NAN).into_json(), Value::Null);
    }
}
