//! Where the numbers stand in a `RecordFunction`. Its fields have no names here, and are looked for in the records of operators whose numbers
//! are known ([`Field`]).
//!
//! ```text
//! round   forward operator: number 277, on thread 2     its node: number 277, made on thread 2, runs on thread 3
//!         word  0   1   ...  25   ...  38                word  0   1   ...  25   ...  38
//!                            277        0                                   277        2
//! ```
use super::field::Field;

/// How many words of a record are looked at. A record of versions 2.4 to 2.15 has 43.
pub const WORDS: usize = 48;

/// The first words of a record.
pub type Words = [u64; WORDS];

/// Where two fields stand, in words from a record's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The sequence number.
    pub sequence: usize,
    /// The number of the thread that ran a node's forward operator.
    pub forward_thread: usize,
}

/// A forward operator and its node, each with its record.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// The record of the forward operator.
    pub forward: Words,
    /// libtorch's number of the thread that ran it.
    pub forward_thread: u64,
    /// The record of the node.
    pub node: Words,
    /// libtorch's number of the thread that ran that.
    pub node_thread: u64,
    /// The sequence number of both.
    pub sequence: u64,
}

/// The places at which the fields may stand.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    sequence: Field,
    forward_thread: Field,
}

impl Places {
    /// All of them.
    pub const fn new() -> Places {
        Places { sequence: Field::among(WORDS), forward_thread: Field::among(WORDS) }
    }

    /// Leaves the places that a round allows.
    pub fn narrow(&mut self, round: &Round) {
        let Round { forward, forward_thread, node, node_thread, sequence } = round;
        self.sequence.narrow(|at| forward[at] == *sequence && node[at] == *sequence);
        // A forward operator has no thread of a forward operator. A round on one thread shows nothing.
        self.forward_thread.narrow(|at| {
            node[at] == *forward_thread && forward[at] != *forward_thread && node_thread != forward_thread
        });
    }

    /// Where the fields stand, if that is known.
    pub fn layout(&self) -> Option<Layout> {
        Some(Layout { sequence: self.sequence.place()?, forward_thread: self.forward_thread.place()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEQUENCE: usize = 25;
    const FORWARD_THREAD: usize = 38;
    const OWN_THREAD: usize = 11;

    /// A round of a libtorch whose records are as those of version 2.11, with an address and a 1 in them.
    fn round(number: u64) -> Round {
        let (sequence, forward_thread, node_thread) = (200 + 77 * number, 2 * number + 2, 2 * number + 3);
        let mut forward = [0; WORDS];
        (forward[0], forward[1], forward[SEQUENCE], forward[OWN_THREAD]) = (0x7fff_0000, 1, sequence, forward_thread);
        let mut node = forward;
        (node[OWN_THREAD], node[FORWARD_THREAD]) = (node_thread, forward_thread);
        Round { forward, forward_thread, node, node_thread, sequence }
    }

    fn after(rounds: &[Round]) -> Option<Layout> {
        let mut places = Places::new();
        rounds.iter().for_each(|round| places.narrow(round));
        places.layout()
    }

    #[test]
    fn a_field_is_where_its_number_stands_in_every_round() {
        let rounds = [0, 1, 2, 3].map(round);
        assert_eq!(after(&rounds), Some(Layout { sequence: SEQUENCE, forward_thread: FORWARD_THREAD }));
        assert_eq!(after(&rounds[..3]), None, "too few rounds to believe it");
    }

    #[test]
    fn a_number_that_stands_there_by_chance_does_not_last() {
        let mut rounds = [0, 1, 2, 3].map(round);
        let by_chance = rounds[0].sequence;
        (rounds[0].forward[30], rounds[0].node[30]) = (by_chance, by_chance);
        assert!(after(&rounds).is_some());
        for round in &mut rounds {
            (round.forward[30], round.node[30]) = (round.sequence, round.sequence);
        }
        assert_eq!(after(&rounds), None, "two places remain, and one of them is wrong");
    }

    #[test]
    fn one_round_that_disagrees_is_enough() {
        let mut rounds = [0, 1, 2, 3].map(round);
        rounds[3].node[SEQUENCE] += 1;
        assert_eq!(after(&rounds), None);
        let mut rounds = [0, 1, 2, 3].map(round);
        rounds[2].node[FORWARD_THREAD] = 1;
        assert_eq!(after(&rounds), None);
    }

    #[test]
    fn a_round_on_one_thread_shows_nothing() {
        let mut rounds = [0, 1, 2, 3].map(round);
        rounds[1].node_thread = rounds[1].forward_thread;
        assert_eq!(after(&rounds), None);
    }
}
