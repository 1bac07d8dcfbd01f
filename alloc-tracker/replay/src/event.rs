//! Events: what happened in a program, in the order in which it happened.
use alloc_timeline::Category;

use crate::counts::{BlockSize, Counts};
use crate::scope::{NameId, ScopeId};

/// Of so many blocks one event tells that an operator has read them.
pub const READ_AT_ONCE: usize = 5;

/// Something that happened in the program. Most blocks are only counted, in batches; the others are *followed*: they are
/// known by their address from `Allocated` or `Adopted` until `Freed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Blocks of one scope that are counted in batches: what they added up to since the batch before.
    Batch {
        /// The scope that owns them.
        scope: ScopeId,
        /// What they did.
        counts: Counts,
    },
    /// A block was allocated that is followed from now on.
    Allocated {
        /// The scope that owns it.
        scope: ScopeId,
        /// Where it starts.
        address: u64,
        /// How large it is.
        size: BlockSize,
        /// Which call of an outermost operator allocated it; 0: none.
        op_call: u64,
        /// What it is for, when that is known beforehand; a tensor's storage, say. `None`: the scope's base category, which
        /// is metadata for a scope with an operator.
        category: Option<Category>,
    },
    /// A block that was counted in batches until now is followed from now on: a realloc made it large, or somebody labels
    /// it. The fields are those of `Allocated`.
    Adopted {
        /// See `Allocated`.
        scope: ScopeId,
        /// See `Allocated`.
        address: u64,
        /// See `Allocated`.
        size: BlockSize,
        /// See `Allocated`.
        op_call: u64,
        /// See `Allocated`.
        category: Option<Category>,
    },
    /// A followed block is about to be freed.
    Freed {
        /// The scope that owns it.
        scope: ScopeId,
        /// Where it starts.
        address: u64,
        /// How large it is.
        size: BlockSize,
        /// Which call of an outermost operator frees it; 0: none.
        op_call: u64,
        /// The scope that is active on the thread that frees it, where that is known.
        freed_in: Option<ScopeId>,
    },
    /// A followed block is about to change its size: its address is nobody's until `ResizeEnded`.
    ResizeBegan {
        /// The scope that owns it.
        scope: ScopeId,
        /// Where it starts.
        address: u64,
        /// How large it is before.
        size: BlockSize,
        /// Says which `ResizeEnded` belongs to this.
        token: u64,
    },
    /// It has a new size and perhaps a new address.
    ResizeEnded {
        /// Where it starts now; `None`: it is counted in batches from now on.
        address: Option<u64>,
        /// How large it is now.
        size: BlockSize,
        /// That of `ResizeBegan`.
        token: u64,
    },
    /// A followed block is of this category, and `scope`'s, for its whole life.
    Labelled {
        /// The scope that owns it.
        scope: ScopeId,
        /// Where it starts.
        address: u64,
        /// What it is for.
        category: Category,
    },
    /// An operator that reads blocks, such as tensors' storages, has ended. A block that is not followed may be told of; that
    /// changes nothing.
    Read {
        /// The scope that read them.
        scope: ScopeId,
        /// Where they start; 0 for no block.
        addresses: [u64; READ_AT_ONCE],
    },
    /// The program named an instant.
    Mark {
        /// What it called it.
        name: NameId,
        /// Whether the table of owners is wanted.
        with_owners: bool,
    },
    /// A step begins; the one before ends, if it is still open.
    StepBegan,
    /// The same where operators tell that a step begins, and not the program.
    DerivedStepBegan,
    /// The open step ends.
    StepEnded,
    /// A thread left a phase.
    PhaseLeft {
        /// The phase's name.
        phase: NameId,
    },
    /// The program pauses the recording: no instant counts as a peak.
    Paused,
    /// It resumes the recording.
    Resumed,
    /// A block, or what a realloc added to one, was sampled together with the calls that led to it. The event comes before
    /// the one that counts the block, so that no peak has the block without its sample.
    Sampled {
        /// The scope that owns it.
        scope: ScopeId,
        /// Where the block starts.
        address: u64,
        /// Its usable bytes, or those that were added; at least 1.
        bytes: u64,
        /// How many bytes the sample stands for; at least `bytes`.
        weight: u64,
        /// The number of the stack; 0: its calls could not be found.
        stack: u32,
        /// Whether outer calls of the stack are missing.
        cut: bool,
        /// Whether it is a block of its own, and not what a realloc added.
        fresh: bool,
        /// Whether its free will be an event.
        followed: bool,
        /// The number of the thread that allocated it; 0: a thread that is just beginning or ending.
        thread: u32,
    },
    /// A thread that has taken samples ends.
    ThreadEnded {
        /// Its number.
        thread: u32,
        /// What the kernel calls it.
        name: ThreadName,
    },
    /// A sampled block is about to be freed.
    SampleFreed {
        /// Where it starts.
        address: u64,
    },
    /// A sampled block is about to change its size: its address is nobody's until `SampleResizeEnded`.
    SampleResizeBegan {
        /// Where it starts.
        address: u64,
        /// Says which `SampleResizeEnded` belongs to this.
        token: u64,
    },
    /// It has a new size.
    SampleResizeEnded {
        /// Where it starts now; `None`: its free will be no event.
        address: Option<u64>,
        /// Usable bytes before.
        before: u64,
        /// Usable bytes now.
        after: u64,
        /// That of `SampleResizeBegan`.
        token: u64,
    },
    /// A device's caching allocator handed out a block of its memory. Addresses of a device are its own: blocks of the host
    /// or of another device may have the same.
    DeviceAllocated {
        /// The device's name.
        device: NameId,
        /// The scope that owns it.
        scope: ScopeId,
        /// Where it starts.
        address: u64,
        /// How large it is, after rounding.
        bytes: u64,
        /// What the allocator has handed out now, and has from the device, with this block.
        totals: DeviceTotals,
        /// Which call of an outermost operator allocated it; 0: none.
        op_call: u64,
        /// What it is for; `None`: nothing is known.
        category: Option<Category>,
    },
    /// A device's caching allocator took a block back.
    DeviceFreed {
        /// The device's name.
        device: NameId,
        /// Where it starts.
        address: u64,
        /// How large it is, after rounding.
        bytes: u64,
        /// What the allocator has handed out now, and has from the device, without this block.
        totals: DeviceTotals,
        /// Which call of an outermost operator frees it; 0: none.
        op_call: u64,
    },
    /// A block of some device is of this category for its whole life, and `scope`'s where that is known.
    DeviceLabelled {
        /// The scope that owns it; `None`: the one that allocated it.
        scope: Option<ScopeId>,
        /// Where it starts.
        address: u64,
        /// What it is for.
        category: Category,
    },
    /// A device's caching allocator had no room for a request.
    DeviceOutOfMemory {
        /// The device's name.
        device: NameId,
        /// How many bytes were asked for.
        bytes: u64,
        /// What the allocator has handed out, and has from the device.
        totals: DeviceTotals,
    },
}

/// A thread's name as the kernel keeps it: at most 15 bytes, and zeroes behind them.
pub type ThreadName = [u8; 16];

/// What a device's caching allocator holds, as it says with each event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceTotals {
    /// Bytes in blocks that are handed out.
    pub allocated: u64,
    /// Bytes in segments that it has from the device, handed out or not.
    pub reserved: u64,
}
