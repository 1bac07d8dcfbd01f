//! The colours of names. A category has the same colour in every picture, and so has each well-known phase.
//!
//! People with the common kinds of colour blindness can tell the colours apart: they are Okabe and Ito's set, with greys
//! and an indigo in addition. Thin light lines between the bands of a stack help as well.
use std::fmt;

use alloc_timeline::{DerivedPhase, Dimension, NONE, work_of};

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

/// The colour of `name`. Its `rank` by size in its dimension decides where the name has no colour of its own.
pub(super) fn colour(dimension: Dimension, name: &str, rank: usize) -> Rgb {
    let own = match dimension {
        _ if name == REST => Some(SAND),
        _ if name == NONE => Some(LIGHT_GREY),
        Dimension::Category => category(name),
        Dimension::Phase => phase(name),
        Dimension::Layer | Dimension::Op => None,
    };
    own.unwrap_or(ranked(rank))
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
    use alloc_timeline::Category;

    #[test]
    fn every_category_has_a_colour_that_no_other_has() {
        let colours: Vec<Rgb> =
            Category::ALL.iter().map(|category| colour(Dimension::Category, category.name(), 0)).collect();
        for (index, colour) in colours.iter().enumerate() {
            assert!(!colours[..index].contains(colour), "{colour} twice");
        }
    }

    #[test]
    fn lines_on_top_of_live_bytes_look_like_none_of_them() {
        use MemoryKind::{Allocator, Files, Other, Stacks, Tracker, Unexplained, Untouched};
        let lines = [Allocator, Untouched, Tracker, Stacks, Other, Files, Unexplained].map(memory_colour);
        for (index, line) in lines.iter().enumerate() {
            assert!(!lines[..index].contains(line), "{line} twice");
            for category in Category::ALL {
                assert_ne!(*line, colour(Dimension::Category, category.name(), 0), "{category}");
            }
        }
    }
}
