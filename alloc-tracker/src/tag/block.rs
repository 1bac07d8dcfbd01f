//! Finding the tag of a block: its kind, what it says, and in which entries of the shadow map it stands.
use alloc_replay::ScopeId;

use super::shadow::{self, ShadowRef, TINY};
use super::tiny::{self, Tiny};

/// What a tag says, by the kind of the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A small block, larger than a tiny one: scope and requested bytes. Over jemalloc it is of the size class that the
    /// request gets at natural alignment.
    Plain(ScopeId, usize),
    /// A block for a request of at most 16 bytes.
    Tiny(Tiny),
    /// Any other block: scope, requested bytes, and whether the recorder follows the block by its address.
    Wide(ScopeId, usize, bool),
}

impl Tag {
    /// Who owns the block.
    pub fn scope(&self) -> ScopeId {
        match *self {
            Tag::Plain(scope, _) | Tag::Wide(scope, ..) => scope,
            Tag::Tiny(tiny) => tiny.scope,
        }
    }

    /// The bytes that were asked for.
    pub fn requested(&self) -> usize {
        match *self {
            Tag::Plain(_, requested) | Tag::Wide(_, requested, _) => requested,
            Tag::Tiny(tiny) => tiny.requested,
        }
    }
}

/// The tag of the block that starts at `address`, and its entries; `None` when no tracked block starts there.
pub fn find(address: usize) -> Option<(ShadowRef, Tag)> {
    for place in shadow::find_coarser(address) {
        if let Some((tag, requested)) = place.load_plain() {
            return Some((place, Tag::Plain(tag - 1, requested)));
        }
    }
    if let Some(place) = shadow::find_large(address)
        && let Some((scope, requested, followed)) = place.load_wide()
    {
        return Some((place, Tag::Wide(scope, requested, followed)));
    }
    let place = shadow::find(address)?;
    let first = place.load(0);
    let tag = match place.load_wide() {
        Some((scope, requested, followed)) => Tag::Wide(scope, requested, followed),
        None if first & TINY != 0 => Tag::Tiny(tiny::pair(first)),
        None => {
            let (tag, requested) = place.load_plain()?;
            Tag::Plain(tag - 1, requested)
        }
    };
    Some((place, tag))
}
