//! What was measured for a row: the file `results/ROW-quick.json` or `results/ROW-full.json`, from which its page is made and
//! from nothing else.
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::machine::Machine;

/// How much of a row is measured. The order is that in which a row's pages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Depth {
    /// What the seed documents measured, as far as it fits into the machine.
    Full,
    /// Fewer batches, smaller images, fewer repeats.
    Quick,
}

impl Depth {
    /// Both.
    pub(super) const ALL: [Depth; 2] = [Depth::Full, Depth::Quick];

    /// Its name, in the names of files too: a quick run never writes over the results of a full one.
    pub(super) fn name(self) -> &'static str {
        match self {
            Depth::Full => "full",
            Depth::Quick => "quick",
        }
    }
}

/// What the results of a row depend on besides their commands. Results under other conditions do not stand beside them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Conditions {
    pub(super) depth: Depth,
    /// The last commit that changed anything but documentation, with `-dirty` behind it when files have changed since.
    pub(super) commit: Option<String>,
    pub(super) machine: Machine,
    pub(super) seed: u64,
}

/// All results of one row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) row: u8,
    pub(super) conditions: Conditions,
    pub(super) measured: Vec<Measured>,
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) name: String,
    /// As they were typed, but for the folder that they shared.
    pub(super) commands: Vec<String>,
    pub(super) outcome: Outcome,
    /// Start of the first command, in seconds since 1970.
    pub(super) started_unix_s: u64,
    /// Of all commands together.
    pub(super) wall_ns: u64,
    /// Processors that other programs used meanwhile, on average. Older files do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) others: Option<f64>,
}

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// With what the commands printed or wrote.
    Done(Value),
    /// A command failed; the reason is what it said last.
    Failed(String),
}

impl Results {
    /// The name of their file without `.json`.
    pub(super) fn name(&self) -> String {
        name(self.row, self.conditions.depth)
    }

    /// The measurement of that name.
    pub(super) fn measured(&self, name: &str) -> Result<&Measured> {
        let found = self.measured.iter().find(|measured| measured.name == name);
        found.with_context(|| format!("results/{}.json has no measurement `{name}`", self.name()))
    }

    /// What the measurement of that name gave.
    ///
    /// # Errors
    /// When it is not there, or did not end with numbers.
    pub(super) fn of(&self, name: &str) -> Result<&Value> {
        match &self.measured(name)?.outcome {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed(reason) => bail!("`{name}` has no numbers: {reason}"),
        }
    }

    /// The measurements whose names begin so, with what they gave, in their order. Those without numbers are left out.
    pub(super) fn beginning(&self, begin: &str) -> Vec<(&str, &Value)> {
        self.measured
            .iter()
            .filter_map(|measured| match &measured.outcome {
                Outcome::Done(value) if measured.name.starts_with(begin) => Some((measured.name.as_str(), value)),
                _ => None,
            })
            .collect()
    }

    /// Processors that other programs used during the measurement that met most of it, on average; `None` where it is not known of
    /// all.
    pub(super) fn others(&self) -> Option<f64> {
        let all = self.measured.iter().map(|measured| measured.others).collect::<Option<Vec<f64>>>()?;
        all.into_iter().reduce(f64::max)
    }

    /// The measurements that failed.
    pub(super) fn failed(&self) -> Vec<(&Measured, &str)> {
        self.measured
            .iter()
            .filter_map(|measured| match &measured.outcome {
                Outcome::Failed(reason) => Some((measured, reason.as_str())),
                _ => None,
            })
            .collect()
    }
}

/// The name of a row's files.
pub(super) fn name(row: u8, depth: Depth) -> String {
    format!("{row}-{}", depth.name())
}

/// The number at a JSON pointer.
pub(super) fn number(value: &Value, pointer: &str) -> Result<f64> {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("the results have no number at {pointer}"))
}

/// The text at a JSON pointer.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> Result<&'a str> {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.with_context(|| format!("the results have no text at {pointer}"))
}

/// The list at a JSON pointer.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> Result<&'a Vec<Value>> {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.with_context(|| format!("the results have no list at {pointer}"))
}

#[cfg(test)]
pub(super) fn example(row: u8, measured: Vec<(&str, Outcome)>) -> Results {
    let measured = measured.into_iter().map(|(name, outcome)| Measured {
        name: name.to_owned(),
        commands: vec![format!("trainer {name}")],
        outcome,
        started_unix_s: 1_700_000_000,
        wall_ns: 2_000_000_000,
        others: Some(0.01),
    });
    let machine = Machine { cpu: Some("A".to_owned()), cpus: 2, memory_bytes: None, kernel: None };
    let conditions = Conditions { depth: Depth::Quick, commit: Some("abc".to_owned()), machine, seed: 1 };
    Results { row, conditions, measured: measured.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_has_no_numbers_is_told_by_name() {
        let results = example(
            4,
            vec![("conv", Outcome::Done(json!({ "a": [1.5] }))), ("conv-2", Outcome::Failed("no room".to_owned()))],
        );
        assert_eq!(number(results.of("conv").expect("there"), "/a/0").expect("a number"), 1.5);
        let problem = |name: &str| results.of(name).expect_err("no numbers").to_string();
        assert_eq!(problem("conv-2"), "`conv-2` has no numbers: no room");
        assert_eq!(problem("cpu"), "results/4-quick.json has no measurement `cpu`");
        assert_eq!(results.beginning("conv").len(), 1, "the one that failed has no numbers");
        assert_eq!(results.failed().iter().map(|(_, reason)| *reason).collect::<Vec<_>>(), ["no room"]);
    }
}
