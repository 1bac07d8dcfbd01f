//! A plan as it is typed: `none`, `sequential`, `sequential:4`, `revolve:3`, `bytes:300MiB`.
use std::fmt;
use std::str::FromStr;

use alloc_timeline::size::{self, SizeError};
use trainer_checkpoint::Plan;

/// What was typed, and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The plan.
    pub plan: Plan,
    typed: String,
}

impl Asked {
    /// The fastest plan within a budget as it is typed: `300MiB`.
    ///
    /// # Errors
    /// When it is no size.
    pub fn within(typed: &str) -> Result<Asked, SizeError> {
        Ok(Asked { plan: Plan::Bytes(size::parse(typed)?), typed: format!("bytes:{typed}") })
    }

    /// Whether the plan depends on what the parts of the network take, and not on how many there are alone.
    pub fn needs_costs(&self) -> bool {
        matches!(self.plan, Plan::BestSequential | Plan::Bytes(_))
    }
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(typed: &str) -> Result<Asked, String> {
        let wrong = |what: &str| {
            format!(
                "{what}; give none, sequential (the best number of segments), sequential:4, revolve:3 or bytes:300MiB"
            )
        };
        let count = |text: &str| text.parse::<usize>().map_err(|_| wrong(&format!("{text} is no number")));
        let plan = match typed.split_once(':') {
            None if typed == "none" => Plan::None,
            None if typed == "sequential" => Plan::BestSequential,
            Some(("sequential", segments)) => Plan::Sequential(count(segments)?),
            Some(("revolve", slots)) => Plan::Revolve(count(slots)?),
            Some(("bytes", bytes)) => Plan::Bytes(size::parse(bytes).map_err(|error| error.to_string())?),
            _ => return Err(wrong(&format!("{typed} is no plan"))),
        };
        Ok(Asked { plan, typed: typed.to_owned() })
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_as_they_are_typed() {
        let plan = |typed: &str| typed.parse::<Asked>().map(|asked| asked.plan);
        assert_eq!(plan("none"), Ok(Plan::None));
        assert_eq!(plan("sequential"), Ok(Plan::BestSequential));
        assert_eq!(plan("sequential:4"), Ok(Plan::Sequential(4)));
        assert_eq!(plan("revolve:3"), Ok(Plan::Revolve(3)));
        assert_eq!(plan("bytes:300MiB"), Ok(Plan::Bytes(300 << 20)));
        assert!(plan("revolve").is_err_and(|problem| problem.starts_with("revolve is no plan; give none, sequential")));
        assert!(plan("revolve:x").is_err_and(|problem| problem.starts_with("x is no number; give none")));
        assert!(plan("bytes:much").is_err_and(|problem| problem.starts_with("no number stands at its beginning")));
    }
}
