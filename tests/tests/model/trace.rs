//! Random traces: random proposals, and the orders that follow from them. A proposal that makes no sense where it
//! stands (to free an empty place, for example) gives no order. So every part of a list of proposals is a trace as
//! well, and proptest can shrink a failing one.
use proptest::prelude::*;

/// How many phases (and layers) there are; number 0 stands for none.
pub const PHASES: usize = 4;
pub const LAYERS: usize = 4;
pub const THREADS: usize = 4;
/// Places for blocks that proposals make, resize and free one by one.
const SINGLE: usize = 48;
/// Piles of blocks that proposals make and free by the hundred.
const PILES: usize = 3;
const DEPTH: usize = 8;
/// The bytes of a block that lives throughout the trace. Without it, what threads allocate to start and to end could be
/// the peak.
const BALLAST: usize = 64 << 10;

/// One proposal for one thread.
#[derive(Clone, Debug)]
pub enum Proposal {
    /// Make a block: `way` is the number of a function, `alignment` counts doublings of 8.
    Make {
        place: usize,
        way: u8,
        size: usize,
        alignment: u8,
    },
    Resize {
        place: usize,
        size: usize,
    },
    /// Free a block; with `across` by C's `free`, whichever door made it, as programs do that hand blocks to C
    /// libraries.
    Free {
        across: bool,
        place: usize,
    },
    Phase(usize),
    Layer(usize),
    Leave,
    BeginStep,
    EndStep,
    /// Make `count` blocks of one size and put them on a pile.
    Fill {
        pile: usize,
        count: usize,
        size: usize,
    },
    /// Free the last `count` blocks of a pile.
    Empty {
        pile: usize,
        count: usize,
    },
    /// Make a block on one pile and free one of another, `count` times: the live bytes stay about the same.
    Exchange {
        from: usize,
        to: usize,
        count: usize,
        size: usize,
    },
}

/// One operation of the victim (`victims/model.rs` explains the letters).
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Make a block of `requested` bytes; the victim's letter and its numbers.
    Make {
        place: usize,
        requested: usize,
        letter: char,
        numbers: [usize; 2],
    },
    /// Resize a block to `requested` bytes; the victim's letter and its numbers.
    Resize {
        place: usize,
        requested: usize,
        letter: char,
        numbers: [usize; 3],
    },
    Free {
        place: usize,
        letter: char,
        numbers: [usize; 2],
    },
    Phase(usize),
    Layer(usize),
    Leave,
    BeginStep,
    EndStep,
}

/// An operation and the thread that carries it out.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub thread: usize,
    pub operation: Operation,
}

/// A trace, ready to be run.
#[derive(Clone, Debug)]
pub struct Trace {
    pub threads: usize,
    /// Whether the threads still run when the session is finished.
    pub alive: bool,
    pub orders: Vec<Order>,
}

/// Sizes for every path through the tracker, from 0 bytes to a huge block, and the sizes at the borders between the
/// paths.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![
        1 => Just(0),
        4 => 1..=16usize,
        4 => 17..=127usize,
        4 => 128..=2_048usize,
        3 => 2_049..=14_336usize,
        2 => prop::sample::select(vec![8, 9, 16, 17, 127, 128, 14_335, 14_336, 14_337, 16_384, 16_385]),
        3 => 14_337..=65_536usize,
        1 => 256 << 10..=1_500_000usize,
    ]
}

fn proposal() -> impl Strategy<Value = Proposal> {
    let (place, pile) = (0..SINGLE, 0..PILES);
    let (count, small) = (1..1_500usize, 1..400usize);
    prop_oneof![
        8 => (place.clone(), 0..8u8, size(), 0..12u8)
            .prop_map(|(place, way, size, alignment)| Proposal::Make { place, way, size, alignment }),
        6 => (place.clone(), size()).prop_map(|(place, size)| Proposal::Resize { place, size }),
        5 => (place, any::<bool>()).prop_map(|(place, across)| Proposal::Free { place, across }),
        3 => (1..PHASES).prop_map(Proposal::Phase),
        2 => (1..LAYERS).prop_map(Proposal::Layer),
        3 => Just(Proposal::Leave),
        1 => Just(Proposal::BeginStep),
        1 => Just(Proposal::EndStep),
        2 => (pile.clone(), count.clone(), small.clone())
            .prop_map(|(pile, count, size)| Proposal::Fill { pile, count, size }),
        1 => (pile.clone(), count.clone()).prop_map(|(pile, count)| Proposal::Empty { pile, count }),
        2 => (pile.clone(), pile, count, small)
            .prop_map(|(from, to, count, size)| Proposal::Exchange { from, to, count, size }),
    ]
}

/// Proposals with their threads, in order.
pub type Proposals = Vec<(usize, Proposal)>;

/// Up to 150 proposals for one to four threads, and whether the threads still run at the end.
pub fn proposals() -> impl Strategy<Value = (usize, bool, Proposals)> {
    let of = |threads| prop::collection::vec((0..threads, proposal()), 1..150);
    (1..=THREADS, any::<bool>()).prop_flat_map(move |(threads, alive)| (Just(threads), Just(alive), of(threads)))
}

/// How a block was made, and so how it must be given back.
#[derive(Clone, Copy)]
enum Door {
    C,
    Rust { size: usize, alignment: usize },
}

/// The state of a trace while its orders are planned.
#[derive(Default)]
struct Plan {
    orders: Vec<Order>,
    single: Vec<Option<Door>>,
    piles: [Vec<usize>; PILES],
    /// Places of piles that are free again.
    free: Vec<usize>,
    /// The first place of piles that was never used.
    next: usize,
    /// The scopes that each thread has entered: phase and layer.
    stacks: [Vec<(usize, usize)>; THREADS],
}

impl Trace {
    /// The orders that follow from these proposals.
    pub fn plan(threads: usize, alive: bool, proposals: &[(usize, Proposal)]) -> Trace {
        let mut plan = Plan { single: vec![None; SINGLE], next: SINGLE + 1, ..Plan::default() };
        let order = |operation| Order { thread: 0, operation };
        let ballast = Operation::Make { place: SINGLE, requested: BALLAST, letter: 'm', numbers: [BALLAST, 0] };
        plan.orders.extend([Operation::Phase(1), ballast, Operation::Leave].map(order));
        for (thread, proposal) in proposals {
            plan.propose(*thread, proposal);
        }
        plan.orders.push(order(Operation::Free { place: SINGLE, letter: 'f', numbers: [0; 2] }));
        // Threads that end before the session drop their guards. The reference must know that the scopes are left.
        for thread in 0..threads {
            while !alive && plan.stacks[thread].pop().is_some() {
                plan.orders.push(Order { thread, operation: Operation::Leave });
            }
        }
        Trace { threads, alive, orders: plan.orders }
    }

    /// The text that the victim reads.
    pub fn text(&self) -> String {
        let end = if self.alive { "alive" } else { "joined" };
        let mut text = format!("threads {}\nend {end}\n", self.threads);
        for Order { thread, operation } in &self.orders {
            let (letter, numbers) = operation.line();
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            text.push_str(&format!("{thread} {letter} {}\n", numbers.join(" ")));
        }
        text
    }
}

impl Operation {
    fn line(&self) -> (char, Vec<usize>) {
        match *self {
            Operation::Make { place, letter, numbers: [a, b], .. } => (letter, vec![place, a, b]),
            Operation::Resize { place, letter, numbers: [a, b, c], .. } => (letter, vec![place, a, b, c]),
            Operation::Free { place, letter, numbers: [a, b] } => (letter, vec![place, a, b]),
            Operation::Phase(number) => ('p', vec![number]),
            Operation::Layer(number) => ('l', vec![number]),
            Operation::Leave => ('x', vec![0]),
            Operation::BeginStep => ('b', vec![0]),
            Operation::EndStep => ('e', vec![0]),
        }
    }
}

impl Plan {
    fn scope(&self, thread: usize) -> (usize, usize) {
        self.stacks[thread].last().copied().unwrap_or_default()
    }

    /// Whether the thread is in a scope of the trace. Only there are blocks made, so that the live bytes outside stay
    /// the same.
    fn makes(&self, thread: usize) -> bool {
        self.scope(thread) != (0, 0)
    }

    fn propose(&mut self, thread: usize, proposal: &Proposal) {
        let (phase, layer) = self.scope(thread);
        let deep = self.stacks[thread].len() == DEPTH;
        let operation = match *proposal {
            Proposal::Make { place, way, size, alignment } if self.single[place].is_none() && self.makes(thread) => {
                self.make(place, way, size, 8 << alignment)
            }
            Proposal::Resize { place, size } => match self.single[place] {
                Some(door) => self.resize(place, size, door),
                None => return,
            },
            Proposal::Free { place, across } => match self.single[place].take() {
                Some(Door::Rust { .. }) if across => Operation::Free { place, letter: 'f', numbers: [0; 2] },
                Some(Door::C) => Operation::Free { place, letter: 'f', numbers: [0; 2] },
                Some(Door::Rust { size, alignment }) => {
                    Operation::Free { place, letter: 'd', numbers: [size, alignment] }
                }
                None => return,
            },
            Proposal::Phase(number) if !deep => {
                self.stacks[thread].push((number, layer));
                Operation::Phase(number)
            }
            // Nested layers get a combined name, which the reference does not know.
            Proposal::Layer(number) if !deep && layer == 0 => {
                self.stacks[thread].push((phase, number));
                Operation::Layer(number)
            }
            Proposal::Leave if self.stacks[thread].pop().is_some() => Operation::Leave,
            Proposal::BeginStep => Operation::BeginStep,
            Proposal::EndStep => Operation::EndStep,
            Proposal::Fill { pile, count, size } if self.makes(thread) => {
                return (0..count).for_each(|_| self.push(thread, pile, size));
            }
            Proposal::Empty { pile, count } => return (0..count).for_each(|_| self.pop(thread, pile)),
            Proposal::Exchange { from, to, count, size } if self.makes(thread) => {
                return (0..count).for_each(|_| {
                    // The block that was made first is freed first, so that a pile can be exchanged for itself.
                    self.push(thread, to, size);
                    self.pop_first(thread, from);
                });
            }
            _ => return,
        };
        self.orders.push(Order { thread, operation });
    }

    fn make(&mut self, place: usize, way: u8, size: usize, alignment: usize) -> Operation {
        let door = |size, alignment| Door::Rust { size: usize::max(size, 1), alignment };
        let (letter, numbers, requested, door) = match way {
            0 => ('c', [1 + alignment % 7, size / (1 + alignment % 7)], size - size % (1 + alignment % 7), Door::C),
            1 => ('a', [alignment, size], size, Door::C),
            2 => ('n', [size.max(1), alignment], size.max(1), door(size, alignment)),
            3 => ('n', [size.max(1), 8], size.max(1), door(size, 8)),
            4 => ('z', [size.max(1), 16], size.max(1), door(size, 16)),
            _ => ('m', [size, 0], size, Door::C),
        };
        self.single[place] = Some(door);
        Operation::Make { place, requested, letter, numbers }
    }

    fn resize(&mut self, place: usize, size: usize, door: Door) -> Operation {
        match door {
            Door::C if size == 0 => {
                self.single[place] = None;
                Operation::Free { place, letter: 'r', numbers: [0; 2] }
            }
            Door::C => Operation::Resize { place, requested: size, letter: 'r', numbers: [size, 0, 0] },
            Door::Rust { size: old, alignment } => {
                let size = size.max(1);
                self.single[place] = Some(Door::Rust { size, alignment });
                Operation::Resize { place, requested: size, letter: 'g', numbers: [old, alignment, size] }
            }
        }
    }

    fn push(&mut self, thread: usize, pile: usize, size: usize) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.piles[pile].push(place);
        let operation = Operation::Make { place, requested: size, letter: 'm', numbers: [size, 0] };
        self.orders.push(Order { thread, operation });
    }

    fn pop(&mut self, thread: usize, pile: usize) {
        if let Some(place) = self.piles[pile].pop() {
            self.give_back(thread, place);
        }
    }

    fn pop_first(&mut self, thread: usize, pile: usize) {
        if !self.piles[pile].is_empty() {
            let place = self.piles[pile].remove(0);
            self.give_back(thread, place);
        }
    }

    fn give_back(&mut self, thread: usize, place: usize) {
        self.free.push(place);
        self.orders.push(Order { thread, operation: Operation::Free { place, letter: 'f', numbers: [0; 2] } });
    }
}
