//! A total taken apart: names with their bytes, biggest first.
use alloc_timeline::{Dimension, Scope, Snapshot};

/// Names with their bytes, biggest first; equals in the order of their names.
pub type Parts = Vec<(String, u64)>;

/// Who owned the bytes of `snapshot`, in one dimension.
pub fn parts(snapshot: &Snapshot, scopes: &[Scope], dimension: Dimension) -> Parts {
    let mut parts: Parts = snapshot.by(scopes, dimension).into_iter().collect();
    parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    parts
}
