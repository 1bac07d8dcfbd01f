//! What a row of the study is: what was published, what measures it here, and what is found in the results.

use super::results::{Depth, Results};

/// One system or experiment of the seed documents.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) number: u8,
    pub(super) title: &'static str,
    /// The document, and where in it.
    pub(super) seed: &'static str,
    /// What the document says.
    pub(super) published: &'static str,
    pub(super) work: Work,
}

/// How a row is measured, and what its results say.
#[derive(Clone, Copy)]
pub(super) struct Work {
    pub(super) measurements: fn(Depth) -> Vec<Measurement>,
    /// A function of the results alone.
    pub(super) finding: fn(&Results) -> anyhow::Result<Finding>,
}

/// Commands of this project that are run one after the other, and what is read when they have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measurement {
    pub(super) name: String,
    /// Words with spaces between them: settings of the environment (`NAME=VALUE`), a program of this project, its
    /// arguments. [`FOLDER`] stands for an empty folder that all of them share.
    pub(super) commands: Vec<String>,
    /// What is read: of the JSON that each command prints on stdout that prints any, these parts (`peak/live_bytes` is a part of
    /// the part `peak`); all of it where none is named. Of several commands the parts are put together.
    pub(super) keep: &'static [&'static str],
}

/// Stands for the folder of a measurement in its commands.
pub(super) const FOLDER: &str = "{folder}";

impl Measurement {
    /// One command that prints JSON.
    pub(super) fn json(name: impl Into<String>, command: impl Into<String>) -> Measurement {
        Measurement { name: name.into(), commands: vec![command.into()], keep: &[] }
    }

    /// A run, and what commands of the viewer say of its timeline.
    pub(super) fn viewed(
        name: impl Into<String>,
        run: &str,
        viewer: &[&str],
        keep: &'static [&'static str],
    ) -> Measurement {
        let timeline = format!("{FOLDER}/run.timeline.json");
        let views = viewer.iter().map(|command| format!("viewer {command} {timeline} --json"));
        let commands = [format!("trainer {run} --out {timeline}")].into_iter().chain(views).collect();
        Measurement { name: name.into(), commands, keep }
    }
}

/// What the results of a row say.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) claims: Vec<Claim>,
    /// The one number that stands in the index, with its unit.
    pub(super) number: String,
    /// The first stands in the index too.
    pub(super) figures: Vec<Figure>,
    pub(super) tables: Vec<Table>,
    /// Sentences below the tables.
    pub(super) notes: Vec<String>,
}

/// One thing that was published, beside what was measured.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) what: String,
    pub(super) published: String,
    pub(super) measured: String,
    pub(super) holds: Holds,
}

/// Whether a claim holds here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Yes,
    /// It does not, because ...
    No(String),
    /// It cannot be told here, because ...
    Unknown(String),
}

impl Holds {
    /// `because` says why where it does not.
    pub(super) fn if_so(holds: bool, because: impl Into<String>) -> Holds {
        if holds { Holds::Yes } else { Holds::No(because.into()) }
    }

    /// What several runs say: a claim that is met in some of them alone is not known.
    pub(super) fn in_every(runs: &[bool], because: impl Into<String>) -> Holds {
        let met = runs.iter().filter(|met| **met).count();
        match met {
            0 => Holds::No(because.into()),
            _ if met == runs.len() => Holds::Yes,
            _ => Holds::Unknown(format!("{met} of {} runs meet it", runs.len())),
        }
    }
}

/// A picture.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// Part of its file's name.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) svg: String,
}

/// Numbers with what they are of.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) title: String,
    /// A head that begins with `>` belongs to a column aligned to the right.
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// What a row's page says first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Reproduced,
    Differs(String),
    CannotRun(String),
}

impl Verdict {
    /// One claim that does not hold makes a row differ. A claim that cannot be told here leaves the verdict to the others.
    pub(super) fn of(claims: &[Claim]) -> Verdict {
        let because = |of: fn(&Holds) -> Option<&String>| {
            let mut reasons: Vec<&str> = Vec::new();
            for reason in claims.iter().filter_map(|claim| of(&claim.holds)) {
                if !reasons.contains(&reason.as_str()) {
                    reasons.push(reason);
                }
            }
            reasons.join("; ")
        };
        let differs = because(|holds| if let Holds::No(reason) = holds { Some(reason) } else { None });
        if !differs.is_empty() {
            Verdict::Differs(differs)
        } else if claims.iter().any(|claim| claim.holds == Holds::Yes) {
            Verdict::Reproduced
        } else {
            Verdict::CannotRun(because(|holds| if let Holds::Unknown(reason) = holds { Some(reason) } else { None }))
        }
    }

    /// The words of the index.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Differs(_) => "differs because",
            Verdict::CannotRun(_) => "cannot be run here because",
        }
    }

    /// Why; empty where all is as published.
    pub(super) fn because(&self) -> &str {
        match self {
            Verdict::Reproduced => "",
            Verdict::Differs(reason) | Verdict::CannotRun(reason) => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_disagree_leave_a_claim_open() {
        assert_eq!(Holds::in_every(&[true, true], "slow"), Holds::Yes);
        assert_eq!(Holds::in_every(&[false, false], "slow"), Holds::No("slow".to_owned()));
        assert_eq!(Holds::in_every(&[true, false, true], "slow"), Holds::Unknown("2 of 3 runs meet it".to_owned()));
    }

    #[test]
    fn a_verdict_follows_from_the_claims() {
        let verdict = |all: &[Holds]| {
            let claim = |holds: &Holds| Claim {
                what: "a".to_owned(),
                published: "1".to_owned(),
                measured: "2".to_owned(),
                holds: holds.clone(),
            };
            Verdict::of(&all.iter().map(claim).collect::<Vec<_>>())
        };
        let (no, unknown) = (Holds::No("it is slow".to_owned()), Holds::Unknown("no GPU".to_owned()));
        assert_eq!(verdict(&[Holds::Yes, unknown.clone()]), Verdict::Reproduced);
        let twice = verdict(&[Holds::Yes, no.clone(), no]);
        assert_eq!(twice, Verdict::Differs("it is slow".to_owned()), "a reason is said once");
        assert_eq!(verdict(&[unknown]), Verdict::CannotRun("no GPU".to_owned()));
    }
}
