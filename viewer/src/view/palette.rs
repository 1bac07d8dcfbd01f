//! The colours of names. A category has the same colour in every picture, and so has each well-known phase.
//!
//! People with the common kinds of colour blindness can tell the colours apart: they are Okabe and Ito's set, with greys
//! and an indigo in addition. Thin light lines between the bands of a stack help as well.
use std::collections::{BTreeMap, HashSet};
use std::fmt;

use alloc_timeline::{DerivedPhase, Dimension, NONE, Timeline, work_of};

use crate::analysis::REST;
use crate::model::MemoryKind;

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

const BLUE: Rgb = Rgb(0, 114, 178);
const ORANGE: Rgb = Rgb(230, 159, 0);
const GREEN: Rgb = Rgb(0, 158, 115);
const VERMILION: Rgb = Rgb(213, 94, 0);
const PURPLE: Rgb = Rgb(204, 121, 167);
const SKY: Rgb = Rgb(86, 180, 233);
const YELLOW: Rgb = Rgb(240, 228, 66);
const INDIGO: Rgb = Rgb(90, 79, 160);
const BROWN: Rgb = Rgb(148, 103, 60);
const TEAL: Rgb = Rgb(120, 190, 170);
const MID_GREY: Rgb = Rgb(128, 132, 138);
const LIGHT_GREY: Rgb = Rgb(184, 188, 194);
const SAND: Rgb = Rgb(216, 206, 188);

/// The colours of names without a colour of their own, by rank.
const RANKED: [Rgb; 12] =
    [ORANGE, BLUE, GREEN, PURPLE, SKY, VERMILION, YELLOW, INDIGO, BROWN, TEAL, Rgb(230, 170, 150), Rgb(140, 160, 90)];

/// The colours of the names of some runs. A phase has one colour in all pictures and tables that are made with the same colours, and no
/// other phase has it as long as there are enough.
#[derive(Clone, Debug)]
pub struct Colours {
    /// Those of the phases that have none of their own.
    phases: BTreeMap<String, Rgb>,
}

impl Colours {
    /// The colours of these runs.
    pub fn of<'a>(timelines: impl IntoIterator<Item = &'a Timeline>) -> Colours {
        let mut others: Vec<&str> = Vec::new();
        let mut seen: HashSet<&str> = HashSet::new();
        let mut taken: Vec<Rgb> = Vec::new();
        for name in timelines.into_iter().flat_map(|timeline| &timeline.scopes).map(|scope| &*scope.phase) {
            match own_colour(Dimension::Phase, name) {
                Some(own) => taken.push(own),
                None if seen.insert(name) => others.push(name),
                None => {}
            }
        }
        let free: Vec<Rgb> = RANKED.into_iter().filter(|rgb| !taken.contains(rgb)).collect();
        // A few of them are no phase's own, so that there is always one.
        let phases = others.into_iter().map(str::to_owned).zip(free.into_iter().cycle()).collect();
        Colours { phases }
    }

    /// The colour of `name`. A layer or an operator has that of its `rank` by size.
    pub(super) fn colour(&self, dimension: Dimension, name: &str, rank: usize) -> Rgb {
        let given = || self.phases.get(name).filter(|_| dimension == Dimension::Phase).copied();
        own_colour(dimension, name).or_else(given).unwrap_or(ranked(rank))
    }
}

/// The colour of a category.
pub(super) fn category_colour(name: &str) -> Rgb {
    category(name).unwrap_or(LIGHT_GREY)
}

/// The colour that a name has in all runs, if it has one.
pub(super) fn own_colour(dimension: Dimension, name: &str) -> Option<Rgb> {
    match dimension {
        _ if name == REST => Some(SAND),
        _ if name == NONE => Some(LIGHT_GREY),
        Dimension::Category => category(name),
        Dimension::Phase => phase(name),
        Dimension::Layer | Dimension::Op => None,
    }
}

/// The colour of what has no colour of its own, by its rank.
pub(super) fn ranked(rank: usize) -> Rgb {
    RANKED[rank % RANKED.len()]
}

/// The colour of a line of a book. In the stack of the resident set these lie on the bands of live bytes, whose colours are
/// those of their dimension; so they are darker ones, and only the line that nothing explains is red.
pub(super) fn memory_colour(kind: MemoryKind) -> Rgb {
    match kind {
        MemoryKind::Live => BLUE,
        MemoryKind::Allocator => Rgb(136, 34, 85),
        MemoryKind::Untouched => Rgb(146, 190, 190),
        MemoryKind::Tracker => Rgb(17, 119, 51),
        MemoryKind::Stacks => Rgb(51, 34, 136),
        MemoryKind::Other => Rgb(153, 153, 51),
        MemoryKind::Files => Rgb(110, 140, 165),
        MemoryKind::Unexplained => Rgb(210, 20, 50),
    }
}

fn category(name: &str) -> Option<Rgb> {
    Some(match name {
        "parameter" => BLUE,
        "buffer" => INDIGO,
        "gradient" => GREEN,
        "activation" => ORANGE,
        "optimizer_state" => PURPLE,
        "input" => YELLOW,
        "workspace" => SKY,
        "metadata" => VERMILION,
        "runtime" => MID_GREY,
        "other" => LIGHT_GREY,
        _ => return None,
    })
}

fn phase(name: &str) -> Option<Rgb> {
    // A derived phase looks like the one that it stands for: its name says what it is.
    let name = DerivedPhase::named(name).map_or(name, |derived| work_of(derived.name()));
    Some(match name {
        "init" => BLUE,
        "import" => BROWN,
        "compile" => TEAL,
        "data" => YELLOW,
        "forward" | "infer" => ORANGE,
        "loss" => VERMILION,
        "backward" => GREEN,
        "optimizer" => PURPLE,
        "eval" => SKY,
        "checkpoint" => INDIGO,
        "runtime" => MID_GREY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;
    use alloc_timeline::{Category, Scope};

    #[test]
    fn every_category_has_a_colour_that_no_other_has() {
        let colours: Vec<Rgb> = Category::ALL.iter().map(|category| category_colour(category.name())).collect();
        for (index, colour) in colours.iter().enumerate() {
            assert!(!colours[..index].contains(colour), "{colour} twice");
        }
    }

    #[test]
    fn no_two_phases_of_a_run_look_the_same() {
        let names = ["init", "generator/forward", "optimizer", "warmup", "", "discriminator/forward", "warmup", "data"];
        let mut timeline = tiny();
        let scope = timeline.scopes[0].clone();
        timeline.scopes = names.map(|phase| Scope { phase: phase.into(), ..scope.clone() }).to_vec();
        let colours = Colours::of([&timeline]);
        let of = |name: &str, rank| colours.colour(Dimension::Phase, name, rank);
        let distinct: Vec<Rgb> = names.iter().map(|name| of(name, 0)).collect();
        for (index, rgb) in distinct.iter().enumerate() {
            assert!(names[index] == "warmup" || !distinct[..index].contains(rgb), "{}", names[index]);
        }
        assert_eq!(of("warmup", 0), of("warmup", 5), "its rank in a picture changes nothing");
    }

    #[test]
    fn lines_on_top_of_live_bytes_look_like_none_of_them() {
        use MemoryKind::{Allocator, Files, Other, Stacks, Tracker, Unexplained, Untouched};
        let lines = [Allocator, Untouched, Tracker, Stacks, Other, Files, Unexplained].map(memory_colour);
        for (index, line) in lines.iter().enumerate() {
            assert!(!lines[..index].contains(line), "{line} twice");
            for category in Category::ALL {
                assert_ne!(*line, category_colour(category.name()), "{category}");
            }
        }
    }
}
