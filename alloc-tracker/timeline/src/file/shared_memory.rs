//! Memory that processes share, of which a framework told.
use serde::{Deserialize, Serialize};

use super::snapshot::Snapshot;

/// What shared memory is called where blocks of devices and of it are told apart.
pub const SHARED_MEMORY: &str = "shared memory";

/// Tensors in shared memory: batches that a loader's workers hand to their parent, and what else a program shares. They are mapped and not
/// allocated, so they are in no live bytes. A worker's batch is the worker's until it is handed over, and then of the process that
/// maps it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedMemory {
    /// How many tensors' storages were mapped.
    pub mapped: u64,
    /// How many of them were unmapped or handed over since.
    pub ended: u64,
    /// The instant at which most was mapped here, and who owned it. The bytes are those of the storages.
    pub peak: Snapshot,
}
