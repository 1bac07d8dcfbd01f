//! Tensors in shared memory, in words.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, NONE};

use crate::model::{Run, exact, size, time};

/// So many phases or categories are named.
const MOST: usize = 4;

/// Sentences on the tensors in shared memory. None where nobody told of any.
pub fn shared_memory_sentences(run: &Run) -> Vec<String> {
    let Some(shared) = &run.timeline.shared_memory else { return Vec::new() };
    let (peak, scopes) = (&shared.peak, run.scopes());
    let by = |dimension| list(peak.by(scopes, dimension));
    vec![
        format!(
            "{} bytes ({}) at most at once, at {}: {}; by phase: {}.",
            exact(peak.live_bytes),
            size(peak.live_bytes),
            time(peak.time_ns),
            by(Dimension::Category),
            by(Dimension::Phase),
        ),
        format!(
            "{} were mapped, and {} of them unmapped or handed over since. They are mapped, so they are not in the live bytes; \
             what of them is resident is a line of the account.",
            exact(shared.mapped),
            exact(shared.ended)
        ),
    ]
}

/// Names with their bytes, the biggest first.
fn list(parts: BTreeMap<String, u64>) -> String {
    let mut parts: Vec<(String, u64)> = parts.into_iter().filter(|part| part.1 > 0).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.1));
    let rest: u64 = parts.iter().skip(MOST).map(|part| part.1).sum();
    parts.truncate(MOST);
    if rest > 0 {
        parts.push(("others".to_owned(), rest));
    }
    let one = |(name, bytes): &(String, u64)| {
        format!("{} {}", if name == NONE { "in none" } else { name.as_str() }, exact(*bytes))
    };
    if parts.is_empty() { "none".to_owned() } else { parts.iter().map(one).collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Category, Row, Scope, SharedMemory, Snapshot};

    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_most_at_once_is_told_by_category_and_phase() {
        let mut timeline = tiny();
        assert_eq!(shared_memory_sentences(&Run::new("x", timeline.clone())), Vec::<String>::new());
        timeline.scopes.push(Scope { phase: "data".into(), ..Scope::default() });
        let scope = timeline.scopes.len() as u32 - 1;
        let (usable_bytes, requested_bytes) = (9_633_792, 9_633_792);
        let row = Row { scope, category: Category::Input, usable_bytes, requested_bytes, blocks: 2 };
        let peak =
            Snapshot { time_ns: 1_230_000_000, live_bytes: usable_bytes, rows: vec![row], ..Snapshot::default() };
        timeline.shared_memory = Some(SharedMemory { mapped: 12, ended: 10, peak });
        let said = shared_memory_sentences(&Run::new("x", timeline));
        assert_eq!(
            said[0],
            "9,633,792 bytes (9.2 MiB) at most at once, at 1.23 s: input 9,633,792; by phase: data 9,633,792."
        );
        assert!(said[1].starts_with("12 were mapped, and 10 of them unmapped or handed over since. "), "{said:?}");
    }
}
