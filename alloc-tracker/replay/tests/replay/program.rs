//! A made-up program: its scopes, its blocks and the counts of its scopes.
use alloc_replay::{BlockSize, Counts, Event, NOBODY, NameTable, Replay, ScopeId};
use alloc_timeline::{Category, Row, Snapshot};

/// No layer, in the phase `forward`.
pub const FORWARD: ScopeId = 4;
/// The layer `conv1` in the phase `forward`.
pub const CONV1: ScopeId = 5;
/// The layer `conv2` in the phase `forward`.
pub const CONV2: ScopeId = 6;
/// The layer `conv1` in the phase `backward`.
pub const CONV1_BACKWARD: ScopeId = 7;
/// The operator `aten::conv2d` of `CONV1`.
pub const CONV1_OP: ScopeId = 8;
/// How many scopes there are.
pub const SCOPES: usize = 9;

pub fn names() -> NameTable {
    let mut names = NameTable::new();
    let scopes = [
        ("forward", "", ""),
        ("forward", "conv1", ""),
        ("forward", "conv2", ""),
        ("backward", "conv1", ""),
        ("forward", "conv1", "aten::conv2d"),
    ];
    let numbers = scopes.map(|(phase, layer, op)| names.intern(phase, layer, op));
    assert_eq!(numbers, [FORWARD, CONV1, CONV2, CONV1_BACKWARD, CONV1_OP]);
    names
}

/// The size of a block of which the program wanted ten bytes less than the allocator set aside.
pub fn size(usable: u64) -> BlockSize {
    BlockSize { usable, requested: usable - 10 }
}

/// Event number N happens at N thousand nanoseconds.
pub struct Program {
    pub replay: Replay,
    pub number: u64,
    /// What each scope has done.
    pub counts: [Counts; SCOPES],
}

impl Program {
    pub fn new() -> Self {
        Program { replay: Replay::new(1, names()), number: 0, counts: Default::default() }
    }

    pub fn now(&self) -> u64 {
        self.number * 1_000
    }

    pub fn event(&mut self, event: Event) -> &mut Self {
        self.number += 1;
        let add = |scope: ScopeId, counts| self.counts[usize::from(scope)] += counts;
        self.replay.apply(self.number, self.number * 1_000, &event, add);
        self
    }

    /// An activation.
    pub fn allocate(&mut self, scope: ScopeId, address: u64, usable: u64) -> &mut Self {
        self.allocate_in_call(scope, address, usable, 0)
    }

    /// An activation that is allocated in the call of an operator.
    pub fn allocate_in_call(&mut self, scope: ScopeId, address: u64, usable: u64, op_call: u64) -> &mut Self {
        let category = Some(Category::Activation);
        self.event(Event::Allocated { scope, address, size: size(usable), op_call, category })
    }

    /// The block is freed while `freed_in` is active.
    pub fn free_in(&mut self, scope: ScopeId, address: u64, usable: u64, freed_in: ScopeId) -> &mut Self {
        self.event(Event::Freed { scope, address, size: size(usable), op_call: 0, freed_in: Some(freed_in) })
    }

    pub fn free(&mut self, scope: ScopeId, address: u64, usable: u64) -> &mut Self {
        self.free_in(scope, address, usable, NOBODY)
    }

    pub fn free_in_call(&mut self, scope: ScopeId, address: u64, usable: u64, op_call: u64) -> &mut Self {
        let freed_in = Some(scope);
        self.event(Event::Freed { scope, address, size: size(usable), op_call, freed_in })
    }

    /// A realloc; `to` is the new address, if the block is still followed.
    pub fn resize(&mut self, scope: ScopeId, from: (u64, u64), to: (Option<u64>, u64)) -> &mut Self {
        let token = self.number + 1;
        self.event(Event::ResizeBegan { scope, address: from.0, size: size(from.1), token });
        self.event(Event::ResizeEnded { address: to.0, size: size(to.1), token })
    }

    pub fn label(&mut self, scope: ScopeId, address: u64, category: Category) -> &mut Self {
        self.event(Event::Labelled { scope, address, category })
    }

    /// An operator that read the block has ended.
    pub fn read(&mut self, scope: ScopeId, address: u64) -> &mut Self {
        self.event(Event::Read { scope, addresses: [address, 0, 0, 0, 0] })
    }

    pub fn peak(&self) -> Snapshot {
        self.replay.snapshot_peak(0)
    }

    pub fn live(&self) -> Snapshot {
        self.replay.snapshot_now(self.now(), 0)
    }
}

/// Scope, category, usable bytes and blocks of each row.
pub fn rows(snapshot: &Snapshot) -> Vec<(ScopeId, Category, u64, u64)> {
    let row = |row: &Row| (row.scope as ScopeId, row.category, row.usable_bytes, row.blocks);
    snapshot.rows.iter().map(row).collect()
}
