//! Blocks and their tags: which kind of tag a block gets, how it is written, and how it is found again.
use alloc_replay::{BlockSize, OTHER_SCOPES, ScopeId, TRACKER};

use crate::backend;
use crate::settings::exact;
use crate::sys;
use crate::tag::block::{self, Tag};
use crate::tag::entries::ShadowRef;
use crate::tag::shadow::{self, LARGE_MIN, SHORTEST_BLOCK};
use crate::tag::wide::{Wide, WideRef};
use crate::tag::word::{FINE, SMALL_MAX};
use crate::tag::{class, tiny};

/// The smallest block, in usable bytes, that the recorder can follow by its address: its tag takes four entries.
pub const FOLLOWED_MIN: u64 = 64;

/// The kinds of tags (see `tag/block.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two entries: scope and requested bytes.
    Plain,
    /// One entry: the number of a pair of scope and size.
    Tiny,
    /// Four entries or five: scope, requested bytes, and whether the recorder follows the block.
    Wide,
}

impl Shape {
    /// The kind of tag that a block of this size gets, unless it is followed for another reason than its size.
    pub fn of(size: BlockSize) -> Shape {
        let [usable, requested] = [size.usable, size.requested].map(|bytes| bytes as usize);
        if backend::has_classes() {
            match (class::is_plain(requested, usable), tiny::is_tiny(requested, usable)) {
                (true, _) if requested > 16 => Shape::Plain,
                (_, true) => Shape::Tiny,
                _ => Shape::Wide,
            }
        } else if usable <= 16 {
            Shape::Tiny
        } else if requested <= SMALL_MAX {
            Shape::Plain
        } else {
            Shape::Wide
        }
    }
}

/// A live block, with what its tag says.
#[derive(Clone, Copy)]
pub struct TaggedBlock {
    /// Where it starts.
    pub address: *mut u8,
    /// The entries of its tag.
    pub entries: ShadowRef,
    /// Who owns it.
    pub scope: ScopeId,
    /// How large it is.
    pub size: BlockSize,
    /// Whether the recorder follows it by its address.
    pub followed: bool,
    /// Whether it may be one whose calls are known.
    pub sampled: bool,
}

impl TaggedBlock {
    /// The live block that starts at `address`; `None` when no tracked block starts there.
    pub fn find(address: *mut u8) -> Option<Self> {
        block::find(address.addr()).map(|found| Self::of(address, found))
    }

    /// [`TaggedBlock::find`] for an address that somebody hands over, who need not know where blocks start.
    pub fn find_start(address: *mut u8) -> Option<Self> {
        block::find_start(address.addr()).map(|found| Self::of(address, found))
    }

    fn of(address: *mut u8, (entries, tag): (ShadowRef, Tag)) -> Self {
        // SAFETY: a tagged block is live, because the doors clear the tag before they free the block, and only blocks
        // of the backend or of `Over` are tagged.
        let usable = |requested| unsafe { backend::usable(address, requested) };
        let usable = match tag {
            Tag::Tiny(tiny) if backend::inner::is_counted() => tiny.requested,
            Tag::Tiny(tiny) => tiny.usable,
            Tag::Plain(_, requested) if backend::has_classes() => class::usable(requested),
            Tag::Wide(Wide { requested, natural: true, .. }) => class::usable(requested),
            Tag::Plain(_, requested) | Tag::Wide(Wide { requested, .. }) => usable(requested),
        };
        let (followed, sampled) = match tag {
            Tag::Wide(wide) => (wide.followed, wide.sampled),
            Tag::Tiny(_) | Tag::Plain(..) => (false, true),
        };
        let size = BlockSize { usable: usable as u64, requested: tag.requested() as u64 };
        TaggedBlock { address, entries, scope: tag.scope(), size, followed, sampled }
    }

    /// Whether what happens to the block is an event of its own.
    pub fn is_ordered(&self) -> bool {
        self.followed || exact() && self.scope != TRACKER
    }

    /// The requested bytes, if the block's size class follows from them.
    pub fn class_of(&self) -> Option<usize> {
        let requested = self.size.requested as usize;
        class::is_plain(requested, self.size.usable as usize).then_some(requested)
    }

    /// Writes a wide tag that says that the recorder follows the block.
    pub fn store_followed(&self, entries: WideRef) {
        entries.store(wide_tag(self.scope, self.size, Marks { followed: true, sampled: self.sampled }));
    }
}

/// Whether a block without a tag is the backend's all the same. That happens when the kernel refused memory for the
/// tag.
#[cold]
pub fn is_untagged(block: *const u8) -> bool {
    sys::refused() && backend::owns(block)
}

/// The entry of a tiny block.
fn tiny_entry(scope: ScopeId, size: BlockSize) -> u16 {
    tiny::entry(scope, size.requested as usize, tiny_usable(size))
}

/// The usable bytes of a tiny block as its tag has them. A block of `Over` has as many usable bytes as were requested; its tag is that
/// of the next size class.
fn tiny_usable(size: BlockSize) -> usize {
    (size.usable as usize).next_multiple_of(8).max(8)
}

/// What the wide tag of a block says.
fn wide_tag(scope: ScopeId, size: BlockSize, Marks { followed, sampled }: Marks) -> Wide {
    let [usable, requested] = [size.usable, size.requested].map(|bytes| bytes as usize);
    Wide { scope, requested, followed, sampled, natural: backend::has_classes() && class::is_plain(requested, usable) }
}

/// The scope that the tag of a block of `scope` really names: `other scopes` for a tiny block when the numbers for tiny
/// tags are used up, else `scope`.
pub fn owner(scope: ScopeId, size: BlockSize) -> ScopeId {
    let others = Shape::of(size) == Shape::Tiny && tiny::is_others(tiny_entry(scope, size));
    if others { OTHER_SCOPES } else { scope }
}

/// What only a wide tag can say of a block.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// Whether the recorder follows the block by its address.
    pub followed: bool,
    /// Whether it may be one whose calls are known.
    pub sampled: bool,
}

/// Writes a tag. `false` when the kernel gives no memory for the entries.
#[must_use]
pub fn write(block: *mut u8, scope: ScopeId, size: BlockSize, shape: Shape, marks: Marks) -> bool {
    let requested = size.requested as usize;
    if shape == Shape::Plain && backend::has_classes() {
        // Which door frees the block is not known here, and in the fine layer it does not matter.
        return shadow::store_plain::<false>(block.addr(), scope, requested, FINE);
    }
    if shape == Shape::Wide {
        let entries = wide_entries(block, size.usable);
        return entries.map(|entries| entries.store(wide_tag(scope, size, marks))).is_some();
    }
    let entries = match shape {
        Shape::Tiny if tiny_usable(size) == SHORTEST_BLOCK => shadow::find_or_map_shortest(block.addr()),
        _ => shadow::find_or_map(block.addr()),
    };
    let Some(entries) = entries else { return false };
    if shape == Shape::Tiny {
        entries.store(0, tiny_entry(scope, size));
    } else {
        // Not over jemalloc, and so in the fine layer, whatever the size: other allocators put blocks of all sizes side by side.
        entries.store_plain::<false>(scope + 1, requested);
    }
    true
}

/// The entries for a wide tag of a block of `usable` bytes. `None` when the kernel gives no memory for them.
pub fn wide_entries(block: *const u8, usable: u64) -> Option<WideRef> {
    // Other allocators than jemalloc put large blocks and small ones into one page.
    let large = usable >= LARGE_MIN as u64 && backend::has_classes();
    if large { shadow::find_or_map_large(block.addr()) } else { shadow::find_or_map(block.addr()).map(WideRef::fine) }
}
