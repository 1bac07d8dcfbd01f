//! libtorch's events as plain data: an operator that starts, and the storages that it names.
use std::num::NonZeroUsize;

/// The storage of a tensor: the address of the block that its elements lie in. A tensor without such a block is `None`,
/// so that an `Option<Storage>` is what C++ calls a `uintptr_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Storage(NonZeroUsize);

impl Storage {
    /// The storage at `address`; `None` for 0.
    ///
    /// ```
    /// use alloc_torch_core::Storage;
    ///
    /// assert_eq!(Storage::at(0), None);
    /// assert_eq!(Storage::at(4096).map(Storage::address), Some(4096));
    /// ```
    pub const fn at(address: usize) -> Option<Storage> {
        match NonZeroUsize::new(address) {
            Some(address) => Some(Storage(address)),
            None => None,
        }
    }

    /// The address of its first byte.
    pub const fn address(self) -> usize {
        self.0.get()
    }
}

/// Whether the results of an operator will need a gradient, as far as it can be told before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gradient {
    /// The face was not asked for what operators take, or the operator is an autograd node.
    #[default]
    NotTold,
    /// Gradients are switched off on this thread.
    Off,
    /// Gradients are on, but nothing that the operator takes needs one.
    None,
    /// Something that the operator takes needs one, so its results will, if they can.
    ToCome,
}

/// An operator that starts, as `at::RecordFunction` tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Operator<'a> {
    /// Whether it is an autograd node that runs in a backward pass (`BACKWARD_FUNCTION`).
    pub is_backward: bool,
    /// Whether autocast looks at what the operator takes before it runs. Within such an operator that it changes, it is
    /// switched off: a conversion there is one that autocast asked for.
    pub autocasts: bool,
    /// The name, UTF-8 as a rule: `aten::conv2d`, `ConvolutionBackward0`.
    pub name: &'a [u8],
    /// The sequence number: of a forward operator the number that its autograd node will have, of a node its own.
    /// Negative: it has none.
    pub sequence: i64,
    /// libtorch's number of the thread that counted this sequence number: of a forward operator the thread that runs it,
    /// of a node the thread of its forward operator.
    pub thread: u64,
    /// The parameter for which an `AccumulateGrad` node works.
    pub variable: Option<Storage>,
    /// Whether the results of a forward operator will need a gradient.
    pub gradient: Gradient,
    /// The storages that a forward operator takes, of itself first; empty unless the face was asked for them.
    pub inputs: &'a [Storage],
    /// The tensors whose storages `inputs` are, in the same order: numbers that tell one tensor from another, also when it is
    /// given another storage. Empty when the face does not know them.
    pub tensors: &'a [usize],
}
