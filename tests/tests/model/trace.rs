//! Random traces: what is wished for, and the orders that come of it. A wish that makes no sense where it stands (a free of
//! an empty place, say) is left out, so that any part of a list of wishes is a trace as well, and a failing one shrinks.
use proptest::prelude::*;

/// Phases and layers by number; 0 is none.
pub const PHASES: usize = 4;
pub const LAYERS: usize = 4;
pub const THREADS: usize = 4;
/// Places for blocks that are dealt with one by one.
const SINGLE: usize = 48;
/// Piles of blocks that come and go in hundreds.
const PILES: usize = 3;
const DEPTH: usize = 8;
/// A block that lives throughout, so that nothing that threads take to begin and to end is a peak.
const BALLAST: usize = 64 << 10;

/// One wish of one thread.
#[derive(Clone, Debug)]
pub enum Wish {
    /// A block, the way by number, of alignment 8 << the last.
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
    /// Through the other door if `across`: programs hand blocks to C libraries, which free them.
    Free {
        across: bool,
        place: usize,
    },
    Phase(usize),
    Layer(usize),
    Leave,
    BeginStep,
    EndStep,
    /// So many blocks of one size onto a pile.
    Fill {
        pile: usize,
        count: usize,
        size: usize,
    },
    /// So many blocks off a pile.
    Empty {
        pile: usize,
        count: usize,
    },
    /// Off one and onto another in turn, which leaves the live bytes about as they are.
    Exchange {
        from: usize,
        to: usize,
        count: usize,
        size: usize,
    },
}

/// What the victim does (`victims/model.rs` has the letters).
#[derive(Clone, Copy, Debug)]
pub enum Deed {
    /// `requested` bytes; the letter and up to two numbers.
    Make {
        place: usize,
        requested: usize,
        letter: char,
        numbers: [usize; 2],
    },
    /// The same for a resize.
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

/// What one thread does.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub thread: usize,
    pub deed: Deed,
}

/// A trace, ready to be run.
#[derive(Clone, Debug)]
pub struct Trace {
    pub threads: usize,
    /// Whether the threads still run when the session is finished.
    pub alive: bool,
    pub orders: Vec<Order>,
}

/// Every path through the tracker: tiny, short, long, large, huge, and the sizes at the borders in between.
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

fn wish() -> impl Strategy<Value = Wish> {
    let (place, pile) = (0..SINGLE, 0..PILES);
    let (count, small) = (1..1_500usize, 1..400usize);
    prop_oneof![
        8 => (place.clone(), 0..8u8, size(), 0..12u8)
            .prop_map(|(place, way, size, alignment)| Wish::Make { place, way, size, alignment }),
        6 => (place.clone(), size()).prop_map(|(place, size)| Wish::Resize { place, size }),
        5 => (place, any::<bool>()).prop_map(|(place, across)| Wish::Free { place, across }),
        3 => (1..PHASES).prop_map(Wish::Phase),
        2 => (1..LAYERS).prop_map(Wish::Layer),
        3 => Just(Wish::Leave),
        1 => Just(Wish::BeginStep),
        1 => Just(Wish::EndStep),
        2 => (pile.clone(), count.clone(), small.clone())
            .prop_map(|(pile, count, size)| Wish::Fill { pile, count, size }),
        1 => (pile.clone(), count.clone()).prop_map(|(pile, count)| Wish::Empty { pile, count }),
        2 => (pile.clone(), pile, count, small)
            .prop_map(|(from, to, count, size)| Wish::Exchange { from, to, count, size }),
    ]
}

/// What threads wish for, in order.
pub type Wishes = Vec<(usize, Wish)>;

/// Up to 150 wishes of one to four threads, and whether these still run at the end.
pub fn wishes() -> impl Strategy<Value = (usize, bool, Wishes)> {
    let of = |threads| prop::collection::vec((0..threads, wish()), 1..150);
    (1..=THREADS, any::<bool>()).prop_flat_map(move |(threads, alive)| (Just(threads), Just(alive), of(threads)))
}

/// How a block was made, and so how it must be given back.
#[derive(Clone, Copy)]
enum Door {
    C,
    Rust { size: usize, alignment: usize },
}

/// What there is while a trace is planned.
#[derive(Default)]
struct Plan {
    orders: Vec<Order>,
    single: Vec<Option<Door>>,
    piles: [Vec<usize>; PILES],
    /// Places of piles that are free again, and the first that never was used.
    free: Vec<usize>,
    next: usize,
    /// What each thread has entered: phase and layer.
    stacks: [Vec<(usize, usize)>; THREADS],
}

impl Trace {
    /// The orders that come of these wishes.
    pub fn plan(threads: usize, alive: bool, wishes: &[(usize, Wish)]) -> Trace {
        let mut plan = Plan { single: vec![None; SINGLE], next: SINGLE + 1, ..Plan::default() };
        let order = |deed| Order { thread: 0, deed };
        let ballast = Deed::Make { place: SINGLE, requested: BALLAST, letter: 'm', numbers: [BALLAST, 0] };
        plan.orders.extend([Deed::Phase(1), ballast, Deed::Leave].map(order));
        for (thread, wish) in wishes {
            plan.wish(*thread, wish);
        }
        plan.orders.push(order(Deed::Free { place: SINGLE, letter: 'f', numbers: [0; 2] }));
        // Otherwise the guards are dropped with the thread, before the session is finished.
        for thread in 0..threads {
            while !alive && plan.stacks[thread].pop().is_some() {
                plan.orders.push(Order { thread, deed: Deed::Leave });
            }
        }
        Trace { threads, alive, orders: plan.orders }
    }

    /// As the victim reads it.
    pub fn text(&self) -> String {
        let end = if self.alive { "alive" } else { "joined" };
        let mut text = format!("threads {}\nend {end}\n", self.threads);
        for Order { thread, deed } in &self.orders {
            let (letter, numbers) = deed.line();
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            text.push_str(&format!("{thread} {letter} {}\n", numbers.join(" ")));
        }
        text
    }
}

impl Deed {
    fn line(&self) -> (char, Vec<usize>) {
        match *self {
            Deed::Make { place, letter, numbers: [a, b], .. } => (letter, vec![place, a, b]),
            Deed::Resize { place, letter, numbers: [a, b, c], .. } => (letter, vec![place, a, b, c]),
            Deed::Free { place, letter, numbers: [a, b] } => (letter, vec![place, a, b]),
            Deed::Phase(number) => ('p', vec![number]),
            Deed::Layer(number) => ('l', vec![number]),
            Deed::Leave => ('x', vec![0]),
            Deed::BeginStep => ('b', vec![0]),
            Deed::EndStep => ('e', vec![0]),
        }
    }
}

impl Plan {
    fn scope(&self, thread: usize) -> (usize, usize) {
        self.stacks[thread].last().copied().unwrap_or_default()
    }

    /// Blocks are made in scopes of the trace only: what is live outside of them stays the same.
    fn makes(&self, thread: usize) -> bool {
        self.scope(thread) != (0, 0)
    }

    fn wish(&mut self, thread: usize, wish: &Wish) {
        let (phase, layer) = self.scope(thread);
        let deep = self.stacks[thread].len() == DEPTH;
        let deed = match *wish {
            Wish::Make { place, way, size, alignment } if self.single[place].is_none() && self.makes(thread) => {
                self.make(place, way, size, 8 << alignment)
            }
            Wish::Resize { place, size } => match self.single[place] {
                Some(door) => self.resize(place, size, door),
                None => return,
            },
            Wish::Free { place, across } => match self.single[place].take() {
                Some(Door::Rust { .. }) if across => Deed::Free { place, letter: 'f', numbers: [0; 2] },
                Some(Door::C) => Deed::Free { place, letter: 'f', numbers: [0; 2] },
                Some(Door::Rust { size, alignment }) => Deed::Free { place, letter: 'd', numbers: [size, alignment] },
                None => return,
            },
            Wish::Phase(number) if !deep => {
                self.stacks[thread].push((number, layer));
                Deed::Phase(number)
            }
            // A layer within a layer would have a name of its own: one is enough.
            Wish::Layer(number) if !deep && layer == 0 => {
                self.stacks[thread].push((phase, number));
                Deed::Layer(number)
            }
            Wish::Leave if self.stacks[thread].pop().is_some() => Deed::Leave,
            Wish::BeginStep => Deed::BeginStep,
            Wish::EndStep => Deed::EndStep,
            Wish::Fill { pile, count, size } if self.makes(thread) => {
                return (0..count).for_each(|_| self.push(thread, pile, size));
            }
            Wish::Empty { pile, count } => return (0..count).for_each(|_| self.pop(thread, pile)),
            Wish::Exchange { from, to, count, size } if self.makes(thread) => {
                return (0..count).for_each(|_| {
                    // What came last goes last, so that a pile can be exchanged for itself.
                    self.push(thread, to, size);
                    self.pop_first(thread, from);
                });
            }
            _ => return,
        };
        self.orders.push(Order { thread, deed });
    }

    fn make(&mut self, place: usize, way: u8, size: usize, alignment: usize) -> Deed {
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
        Deed::Make { place, requested, letter, numbers }
    }

    fn resize(&mut self, place: usize, size: usize, door: Door) -> Deed {
        match door {
            Door::C if size == 0 => {
                self.single[place] = None;
                Deed::Free { place, letter: 'r', numbers: [0; 2] }
            }
            Door::C => Deed::Resize { place, requested: size, letter: 'r', numbers: [size, 0, 0] },
            Door::Rust { size: old, alignment } => {
                let size = size.max(1);
                self.single[place] = Some(Door::Rust { size, alignment });
                Deed::Resize { place, requested: size, letter: 'g', numbers: [old, alignment, size] }
            }
        }
    }

    fn push(&mut self, thread: usize, pile: usize, size: usize) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        });
        self.piles[pile].push(place);
        let deed = Deed::Make { place, requested: size, letter: 'm', numbers: [size, 0] };
        self.orders.push(Order { thread, deed });
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
        self.orders.push(Order { thread, deed: Deed::Free { place, letter: 'f', numbers: [0; 2] } });
    }
}
