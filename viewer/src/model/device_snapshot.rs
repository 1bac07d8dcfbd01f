//! A snapshot of PyTorch's caching allocator, as `torch.cuda.memory._dump_snapshot(FILE)` writes it: a pickle of plain
//! dictionaries and lists.
//!
//! Only what the comparison with the model needs is kept. Keys that are not named here, such as the frames of the calls,
//! are left out, so that snapshots of older and newer versions of PyTorch 2 are read alike.
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

/// The allocator's pool of a segment; `(0, 0)` is the common one, others belong to CUDA graphs and to programs.
pub type PoolId = (u64, u64);

/// The whole snapshot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct DeviceSnapshot {
    /// All segments of all devices when the snapshot was taken.
    pub segments: Vec<SnapshotSegment>,
    /// What the allocator did before that, by device; empty where its history was not recorded.
    #[serde(default)]
    pub device_traces: Vec<Vec<TraceEntry>>,
    /// The allocator's settings; older versions write none.
    #[serde(default)]
    pub allocator_settings: SnapshotSettings,
}

/// The settings of the allocator: what the environment said, under the name that the version of PyTorch has for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SnapshotSettings {
    #[serde(default, rename = "PYTORCH_ALLOC_CONF")]
    text: Text,
    #[serde(default, rename = "PYTORCH_CUDA_ALLOC_CONF")]
    cuda_text: Text,
}

impl SnapshotSettings {
    /// These settings.
    pub fn new(text: &str) -> Self {
        SnapshotSettings { text: Text(text.to_owned()), cuda_text: Text::default() }
    }

    /// As in `PYTORCH_ALLOC_CONF`; empty for the defaults.
    pub fn text(&self) -> &str {
        if self.text.0.is_empty() { &self.cuda_text.0 } else { &self.text.0 }
    }
}

/// A text, or nothing in place of an empty one: Python has one empty text, which the frames share (see
/// [`DeviceSnapshot::from_pickle`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text or nothing")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_unit<E>(self) -> Result<Text, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A piece of the device's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SnapshotSegment {
    /// The number of the device.
    pub device: usize,
    /// Where it begins on the device.
    pub address: u64,
    /// Its size, in bytes.
    pub total_size: u64,
    /// The stream that it belongs to.
    #[serde(default)]
    pub stream: u64,
    /// `small` or `large`.
    pub segment_type: String,
    /// The pool that it belongs to.
    #[serde(default)]
    pub segment_pool_id: PoolId,
    /// Whether it can grow.
    #[serde(default)]
    pub is_expandable: bool,
    /// Its blocks, in order, without gaps.
    pub blocks: Vec<SnapshotBlock>,
}

/// A part of a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SnapshotBlock {
    /// Its size, in bytes.
    pub size: u64,
    /// What the program asked for; of a free block what it was last used for.
    #[serde(default)]
    pub requested_size: u64,
    /// `inactive` when it is free; `active_allocated`, or `active_pending_free` while another stream may still use it.
    pub state: String,
}

/// One thing that the allocator did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct TraceEntry {
    /// `alloc`, `free_requested`, `free_completed`, `segment_alloc`, `segment_free`, `segment_map`, `segment_unmap`,
    /// `snapshot` or `oom`.
    pub action: String,
    /// Where on the device.
    #[serde(default)]
    pub addr: u64,
    /// How many bytes: those that the program asked for, or the segment's.
    #[serde(default)]
    pub size: u64,
    /// On which stream.
    #[serde(default)]
    pub stream: u64,
}

impl SnapshotSegment {
    /// Whether it serves requests of up to 1 MiB.
    pub fn is_small(&self) -> bool {
        self.segment_type == "small"
    }

    /// The blocks that are not free, with their addresses.
    pub fn in_use(&self) -> impl Iterator<Item = (u64, &SnapshotBlock)> {
        let starts = self.blocks.iter().scan(self.address, |next, block| {
            let start = *next;
            *next = next.saturating_add(block.size);
            Some((start, block))
        });
        starts.filter(|(_, block)| block.state != "inactive")
    }
}

impl DeviceSnapshot {
    /// Reads a snapshot from the bytes of a pickle. Classes in it are refused, not made: no code of the file runs.
    ///
    /// # Errors
    /// A sentence that says what the bytes are not.
    pub fn from_pickle(bytes: &[u8]) -> Result<Self, String> {
        // Frames are shared by many entries, and the reader takes those that are shared twice over (a list and the frames
        // in it) for recursive. They are left out anyway: in their place there may be nothing. Where it took a text that
        // matters for one of these, reading fails with an error.
        let options = serde_pickle::DeOptions::new().replace_recursive_structures();
        serde_pickle::from_slice(bytes, options).map_err(|error| match error {
            serde_pickle::Error::Syntax(error) => {
                format!("not a snapshot of PyTorch's allocator, but another pickle ({error})")
            }
            error => format!("not a pickle, or a damaged one ({error})"),
        })
    }
}
