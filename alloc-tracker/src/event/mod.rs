//! Events: what must be put into order, on its way from any thread to the recorder.
pub(crate) mod ring;

use crate::tag::scope::ScopeId;

/// What happened, and to what. `a` to `e` mean something else for every kind; bytes are usable bytes unless said
/// otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// See [`Kind`].
    pub kind: Kind,
    /// The scope that owns the bytes.
    pub scope: ScopeId,
    /// When.
    pub time_ns: u64,
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub d: u64,
    pub e: u64,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Nothing: a place in the ring that its writer gave up.
    #[default]
    Nothing = 0,
    /// A batch of small blocks of one scope. a, b = bytes allocated, freed; c, d = requested bytes allocated, freed;
    /// e = allocations (bits 0-23), frees (24-47), blocks moved in (48-63, signed).
    Delta,
    /// A block that is known by its address was allocated. a = address, b = bytes, c = requested bytes, d = operator call,
    /// e = 1 for a tensor's storage.
    Allocated,
    /// The same, but by a realloc from the small lane, or out of the small lane: no new allocation.
    Adopted,
    /// Such a block is about to be freed. a to c as in `Allocated`, d = operator call of the freeing thread, e = its
    /// active scope + 1, 0 when that is not known.
    Freed,
    /// Such a block is about to be resized: its address is nobody's until `Put`. a to c as in `Allocated`, e = token.
    Taken,
    /// It has been. a = new address, b = bytes, c = requested bytes, e = token of `Taken`. An address of 0: it went on
    /// in the small lane.
    Put,
    /// A block is of this category, and owned by the event's scope, for its whole life. a = address, b = category's
    /// number.
    Labelled,
    /// A named instant. a = name, b = 1 when the table of owners is wanted.
    Mark,
    /// A step begins (a = 1) or ends (a = 0).
    Step,
    /// A phase was left. a = its name.
    Left,
    /// The program pauses the recording (a = 1) or resumes it (a = 0).
    Paused,
    /// A block was sampled, or what a realloc added to it. a = address, b = bytes that the sample stands for, c = number of
    /// the stack, d = bit 0: its free will be told, bit 1: it is what a realloc added; e = its bytes.
    Sampled,
    /// A sampled block is about to be freed. a = address.
    SampleFreed,
    /// A sampled block is about to be resized: its address is nobody's until `SamplePut`. a = address, e = token.
    SampleTaken,
    /// It has been. a = new address, 0 when its free will not be told; b, c = bytes after and before; e = token.
    SamplePut,
}

impl Kind {
    pub(crate) fn from_number(number: u8) -> Kind {
        use Kind::*;
        const KINDS: [Kind; 16] = [
            Nothing,
            Delta,
            Allocated,
            Adopted,
            Freed,
            Taken,
            Put,
            Labelled,
            Mark,
            Step,
            Left,
            Paused,
            Sampled,
            SampleFreed,
            SampleTaken,
            SamplePut,
        ];
        KINDS.get(usize::from(number)).copied().unwrap_or(Nothing)
    }
}
