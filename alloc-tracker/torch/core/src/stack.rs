//! The operators that run on one thread, the innermost last.
use std::cell::Cell;
use std::fmt;

use alloc_tracker::hooks::Name;

use crate::event::Storage;
use crate::hooks::Hooks;
use crate::pending::PendingReads;
use crate::recent_names::RecentNames;

/// Operators nested deeper than this on one thread are not looked at; their bytes belong to the one around them.
const MAX_DEPTH: usize = 128;

/// A call of an outermost operator.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// Different for each, never 0.
    pub(crate) number: u64,
    /// Whether autocast looked at what it takes.
    pub(crate) autocasts: bool,
}

/// What a running operator is to the attribution.
#[derive(Clone, Copy)]
pub(crate) enum Frame<Entered> {
    /// The autograd engine's own event, which is no operator.
    Engine,
    /// An operator within another, whose scope stays active.
    Nested,
    /// An operator that entered a scope of its own name, in this call.
    Named(Entered, Call),
}

/// The operators that run on one thread. Each thread that runs operators has one, and keeps it in a thread-local.
pub struct OperatorStack<H: Hooks> {
    depth: Cell<usize>,
    frames: [Cell<Frame<H::Entered>>; MAX_DEPTH],
    reads: PendingReads,
    /// How many reads were pending as each frame was added.
    reads_before: [Cell<usize>; MAX_DEPTH],
    /// Whether one of the frames is `Named`.
    is_in_operator: Cell<bool>,
    /// How many of the frames are `Engine`.
    engines: Cell<usize>,
    /// Layer of the autograd node that ran last.
    node_layer: Cell<Name>,
    names: RecentNames,
}

impl<H: Hooks> OperatorStack<H> {
    /// The stack of a thread that runs no operator.
    pub const fn new() -> OperatorStack<H> {
        OperatorStack {
            depth: Cell::new(0),
            frames: [const { Cell::new(Frame::Nested) }; MAX_DEPTH],
            reads: PendingReads::new(),
            reads_before: [const { Cell::new(0) }; MAX_DEPTH],
            is_in_operator: Cell::new(false),
            engines: Cell::new(0),
            node_layer: Cell::new(Name(0)),
            names: RecentNames::new(),
        }
    }

    /// Adds a frame that is `Nested` until [`set`](OperatorStack::set) says otherwise, and gives its place; `None` when the
    /// stack is too deep for it.
    pub(crate) fn push(&self) -> Option<usize> {
        let depth = self.depth.get();
        self.depth.set(depth + 1);
        self.frames.get(depth)?.set(Frame::Nested);
        self.reads_before[depth].set(self.reads.count());
        Some(depth)
    }

    /// The innermost operator reads these storages until it ends. Gives `no_room` those that cannot be remembered so long.
    pub(crate) fn will_read(&self, storages: &[Storage], no_room: impl Fn(Storage)) {
        self.reads.add(storages, no_room);
    }

    /// Says what the frame at `place`, which `push` gave, is.
    pub(crate) fn set(&self, place: usize, frame: Frame<H::Entered>) {
        match frame {
            Frame::Engine => self.engines.set(self.engines.get() + 1),
            Frame::Named(..) => self.is_in_operator.set(true),
            Frame::Nested => {}
        }
        self.frames[place].set(frame);
    }

    /// Takes the innermost frame off, and gives `read` what its operator read; `None` when no operator runs. One that was
    /// too deep is `Nested`.
    pub(crate) fn pop(&self, read: impl FnOnce(&mut dyn Iterator<Item = Storage>)) -> Option<Frame<H::Entered>> {
        let depth = self.depth.get().checked_sub(1)?;
        self.depth.set(depth);
        if let Some(before) = self.reads_before.get(depth) {
            self.reads.take_from(before.get(), read);
        }
        let frame = self.frames.get(depth).map_or(Frame::Nested, Cell::get);
        match frame {
            Frame::Engine => self.engines.set(self.engines.get() - 1),
            Frame::Named(..) => {
                // A conversion is named inside another operator, and so is a node that runs within an operator's own
                // backward call (a custom function).
                let is_named = |frame: &Cell<_>| matches!(frame.get(), Frame::Named(..));
                self.is_in_operator.set(self.frames[..depth].iter().any(is_named));
            }
            Frame::Nested => {}
        }
        Some(frame)
    }

    /// Whether an operator runs that entered a scope.
    pub(crate) fn is_in_operator(&self) -> bool {
        self.is_in_operator.get()
    }

    /// The call of the innermost operator that entered a scope; `None` when there is none.
    pub(crate) fn call(&self) -> Option<Call> {
        let depth = self.depth.get().min(MAX_DEPTH);
        self.frames[..depth].iter().rev().find_map(|frame| match frame.get() {
            Frame::Named(_, call) => Some(call),
            _ => None,
        })
    }

    /// Whether the autograd engine runs on this thread.
    pub(crate) fn is_in_engine(&self) -> bool {
        self.engines.get() > 0
    }

    /// The layer of the autograd node that ran last in the engine's present event.
    pub(crate) fn node_layer(&self) -> Name {
        self.node_layer.get()
    }

    /// The names of operators that this thread has met.
    pub(crate) fn names(&self) -> &RecentNames {
        &self.names
    }

    pub(crate) fn set_node_layer(&self, layer: Name) {
        self.node_layer.set(layer);
    }
}

impl<H: Hooks> Default for OperatorStack<H> {
    fn default() -> OperatorStack<H> {
        OperatorStack::new()
    }
}

impl<H: Hooks> fmt::Debug for OperatorStack<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorStack").field("depth", &self.depth.get()).finish_non_exhaustive()
    }
}
