//! Regions of a program that `torch.compile` has compiled. Dynamo tells of each run of one as of an operator, and names it by the
//! number of the frame and how often that was compiled: `Torch-Compiled Region: 0/1`. Here that is a layer's name as well,
//! `compiled 0/1`, behind the path of the layer in which the region runs.
use alloc_tracker::hooks::Name;

use crate::hooks::Hooks;

/// What Dynamo's events begin with.
const EVENT: &[u8] = b"Torch-Compiled Region";
/// What the last part of a region's path begins with.
const WORD: &str = "compiled";
/// A longer path than this has the region's own name alone.
const MOST: usize = 512;

/// Whether this operator is a region.
pub fn is_region(operator: &[u8]) -> bool {
    operator.starts_with(EVENT)
}

/// The path of the layer in which regions run, if `layer` is a region's. No module's name has such a part: Python's names have no
/// blank.
fn around_region(layer: &str) -> Option<&str> {
    let (around, last) = layer.rsplit_once('.').unwrap_or(("", layer));
    (last == WORD || last.strip_prefix(WORD).is_some_and(|number| number.starts_with(' '))).then_some(around)
}

/// Whether a layer is that of a region.
///
/// ```
/// assert!(alloc_torch_core::is_compiled_layer("encoder.compiled 0/1"));
/// assert!(!alloc_torch_core::is_compiled_layer("encoder.compiled_head"));
/// ```
pub fn is_compiled_layer(layer: &str) -> bool {
    around_region(layer).is_some()
}

/// The layer of a region that runs in the layer `current`. One within another is beside it.
pub(crate) fn layer(hooks: &impl Hooks, operator: &[u8], current: Name) -> Name {
    let number = String::from_utf8_lossy(operator.strip_prefix(EVENT).unwrap_or_default());
    let number = number.trim_start_matches([':', ' ']);
    let current = hooks.text(current);
    let around = around_region(current).unwrap_or(current);
    // On the stack: this runs on a thread of the program's, whose allocations are told.
    let mut path = [0; MOST];
    let parts =
        [around, if around.is_empty() { "" } else { "." }, WORD, if number.is_empty() { "" } else { " " }, number];
    let length = parts.iter().try_fold(0, |at, part| {
        let end = at + part.len();
        path.get_mut(at..end)?.copy_from_slice(part.as_bytes());
        Some(end)
    });
    length
        .and_then(|length| std::str::from_utf8(&path[..length]).ok())
        .map_or_else(|| hooks.name(WORD), |path| hooks.name(path))
}
