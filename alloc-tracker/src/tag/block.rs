//! Where a block's tag stands, whatever its kind.
use super::scope::ScopeId;
use super::shadow::{self, Place, TINY};
use super::tiny::{self, Tiny};

/// What a tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// A block of the size class that its request asks for at natural alignment, above 16 bytes.
    Plain(ScopeId, usize),
    /// A request of at most 16 bytes.
    Tiny(Tiny),
    /// Any other: scope, requested bytes, and whether the recorder knows it by its address.
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
}

/// The tag of the block that starts at `address`, and where it stands; `None` for addresses at which none of ours starts.
pub fn find(address: usize) -> Option<(Place, Tag)> {
    if let Some(place) = shadow::find_coarse(address)
        && let Some((tag, requested)) = place.load_plain()
    {
        return Some((place, Tag::Plain(tag - 1, requested)));
    }
    if let Some(place) = shadow::find_large(address)
        && let Some((scope, requested, identified)) = place.load_wide()
    {
        return Some((place, Tag::Wide(scope, requested, identified)));
    }
    let place = shadow::find(address)?;
    let first = place.load(0);
    let tag = match place.load_wide() {
        Some((scope, requested, identified)) => Tag::Wide(scope, requested, identified),
        None if first & TINY != 0 => Tag::Tiny(tiny::pair(first)),
        None => {
            let (tag, requested) = place.load_plain()?;
            Tag::Plain(tag - 1, requested)
        }
    };
    Some((place, tag))
}
