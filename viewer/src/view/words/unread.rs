//! What of the peak nobody read again, in sentences.
use std::collections::BTreeMap;

use alloc_timeline::{NONE, Unread};

use crate::analysis::{Release, UnreadStorages, releases};
use crate::model::{ScopeNames, exact, size, time};
use crate::view::words::names::owner_name;

/// The text for a timeline that says nothing about reads.
pub(in crate::view) const NOT_TOLD: &str =
    "Not recorded: nobody told which storages operators read (a program without libtorch, or an older recorder)\n";
/// Releases that have a sentence of their own.
const MOST_RELEASES: usize = 3;

/// The parts of the peak; who freed late what; what was held; what prompt frees would have saved.
pub(in crate::view) fn unread_sentences(unread: &Unread, storages: &[UnreadStorages]) -> Vec<String> {
    let mut sentences = vec![parts(unread)];
    let releases = releases(storages);
    sentences.extend(releases.iter().take(MOST_RELEASES).map(release_sentence));
    let others = releases.get(MOST_RELEASES..).unwrap_or_default();
    if !others.is_empty() {
        let bytes = others.iter().map(|release| release.sums.usable_bytes).fold(0, u64::saturating_add);
        sentences.push(format!("{} more were freed in {} other places.", size(bytes), others.len()));
    }
    sentences.extend(held_sentence(storages));
    sentences.push(prompt_sentence(unread));
    sentences
}

fn parts(unread: &Unread) -> String {
    let [later, workspace, never] = [unread.read_later, unread.workspace, unread.unread].map(|sums| sums.usable_bytes);
    format!(
        "At the peak {} were live: {} were read later, {} were workspace of the operator that ran, and {} nobody read \
         again. Of the other {} nobody tells who reads them.",
        size(unread.live_bytes),
        size(later),
        size(workspace),
        precise(never),
        size(unread.unknown_bytes)
    )
}

/// Bytes as a size, and to the byte where that says more.
fn precise(bytes: u64) -> String {
    if bytes < 1024 { size(bytes) } else { format!("{} ({} bytes)", size(bytes), exact(bytes)) }
}

fn release_sentence(release: &Release) -> String {
    let held = match release.held_ns {
        Some((least, most)) if time(least) == time(most) => format!(", {} after their last read", time(least)),
        Some((least, most)) => format!(", {} to {} after their last read", time(least), time(most)),
        None => " and had never been read".to_owned(),
    };
    let by = release.freed_in.as_ref().map_or("where is not known".to_owned(), freed_place);
    let storages = match release.sums.blocks {
        1 => "1 storage, was".to_owned(),
        many => format!("{} storages, were", exact(many)),
    };
    format!(
        "{} of that, {storages} freed from {} on{held}: {by}.",
        precise(release.sums.usable_bytes),
        time(release.first_ns)
    )
}

/// Where something was freed. What is freed in no layer and no operator, the program itself had held.
fn freed_place(scope: &ScopeNames) -> String {
    let ScopeNames { layer, phase, op } = scope;
    let named = |kind: &str, name: &str| (name != NONE).then(|| format!("{kind} {name}"));
    let names = [named("phase", phase), named("layer", layer), named("operator", op)];
    let place = names.into_iter().flatten().collect::<Vec<_>>().join(", ");
    match (layer.as_str(), op.as_str()) {
        (NONE, NONE) if place.is_empty() => {
            "outside of any phase, layer and operator, by the program itself".to_owned()
        }
        (NONE, NONE) => format!("{place}, outside of any layer and operator, by the program itself"),
        _ => place,
    }
}

/// Who read storages last, and who freed them, as a clause.
pub(in crate::view) fn history(storages: &UnreadStorages) -> String {
    let read = match (&storages.read_in, storages.read_ns) {
        (Some(scope), Some(ns)) => format!("last read by {} at {}", owner_name(scope), time(ns)),
        (Some(scope), None) => format!("last read by {}", owner_name(scope)),
        (None, _) => "never read".to_owned(),
    };
    let held = storages.held_ns.map_or_else(String::new, |ns| format!(" {} later", time(ns)));
    match (storages.freed, &storages.freed_in) {
        (false, _) => read,
        (true, None) => format!("{read}; freed{held}"),
        (true, Some(scope)) if owner_name(scope) == NONE => format!("{read}; freed{held} by the program itself"),
        (true, Some(scope)) => format!("{read}; freed{held} in {}", owner_name(scope)),
    }
}

fn held_sentence(storages: &[UnreadStorages]) -> Option<String> {
    let mut by_category: BTreeMap<_, u64> = BTreeMap::new();
    for storages in storages.iter().filter(|storages| !storages.freed) {
        let bytes = by_category.entry(storages.category).or_default();
        *bytes = bytes.saturating_add(storages.sums.usable_bytes);
    }
    let all = by_category.values().copied().fold(0, u64::saturating_add);
    let mut categories: Vec<_> = by_category.into_iter().collect();
    categories.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let list: Vec<String> = categories.iter().map(|(category, bytes)| format!("{category} {}", size(*bytes))).collect();
    (!list.is_empty()).then(|| {
        format!(
            "{} were held to the end of the recording ({}): a longer run may read them again.",
            size(all),
            list.join(", ")
        )
    })
}

fn prompt_sentence(unread: &Unread) -> String {
    let (prompt, live) = (unread.prompt_peak_bytes, unread.live_bytes);
    if prompt >= live {
        return "The peak would be as high if each storage were freed at its last read.".to_owned();
    }
    format!(
        "Had each storage that was freed been freed at its last read, the peak would have been {}, at {}: {} less.",
        precise(prompt),
        time(unread.prompt_peak_ns),
        precise(live - prompt)
    )
}
