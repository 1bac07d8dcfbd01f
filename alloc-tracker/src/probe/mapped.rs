//! The mappings with their resident bytes, without those of the allocator: from maps and pagemap.
//!
//! For /proc/self/smaps the kernel looks at every page of the process and at who else maps it, which takes 0.2 us a page.
//! Most pages of a large process are its allocator's, and of these nothing is asked here. What is left mostly is as large at
//! the end of a run as it was at its beginning.
use super::resident::Pagemap;
use super::smaps::{self, Kind, Mapping, Range};

/// Pages that may be the kernel's page of zeroes, or shared with a forked child: before Linux 6.7, pagemap does not tell which.
/// With more bytes of them than so many, smaps has to be asked. (The tracker's are left out, which are all known.)
const UNCLEAR: u64 = 256 << 10;

/// What is to be done with a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Its resident bytes are counted.
    Count,
    /// They are not: it counts as `unreserved`, with none.
    LeaveOut,
    /// Only smaps tells what it is.
    AskSmaps,
}

/// All mappings, each treated as `treatment` says. `tracker` are the addresses of the tracker's memory. `None` when only smaps can tell.
pub fn read(pagemap: &Pagemap, tracker: &[Range], treatment: impl Fn(&Mapping) -> Treatment) -> Option<Vec<Mapping>> {
    let mut mappings = smaps::read_addresses().ok()?;
    // Nothing is counted before it is known that no mapping needs smaps: to count takes as long as smaps does.
    for mapping in &mut mappings {
        match treatment(mapping) {
            Treatment::Count => {}
            Treatment::LeaveOut => mapping.unreserved = true,
            Treatment::AskSmaps => return None,
        }
    }
    let mut unclear = 0;
    for mapping in mappings.iter_mut().filter(|mapping| !mapping.unreserved) {
        unclear += count(mapping, pagemap, tracker)?;
    }
    (unclear <= UNCLEAR).then_some(mappings)
}

/// Counts the resident bytes of a mapping. Returns how many more there may be.
fn count(mapping: &mut Mapping, pagemap: &Pagemap, tracker: &[Range]) -> Option<u64> {
    let Range { start, end } = mapping.range;
    match mapping.kind {
        Kind::File | Kind::Shared | Kind::ToldShared(_) => {
            let (of_file, written) = pagemap.of_file(&mapping.range)?;
            (mapping.rss, mapping.anonymous) = (of_file + written, written);
            Some(0)
        }
        Kind::Stack | Kind::Heap | Kind::Named | Kind::Anonymous | Kind::Told(_) => {
            let pages = pagemap.pages(start, end);
            (mapping.rss, mapping.anonymous) = (pages.resident, pages.resident);
            if pages.unclear == 0 {
                return Some(0);
            }
            let within =
                tracker.iter().map(|one| one.start.max(start)..one.end.min(end)).filter(|part| !part.is_empty());
            let trackers: u64 = within.map(|part| pagemap.pages(part.start, part.end).unclear).sum();
            Some(pages.unclear.saturating_sub(trackers))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::cost;

    /// The two ways to count agree for each mapping of this process, but for what its other threads do meanwhile.
    #[test]
    fn as_smaps_has_it() {
        let pagemap = Pagemap::open();
        let Some(ours) = read(&pagemap, &cost::ranges(), |_| Treatment::Count) else {
            return println!("SKIPPED: no /proc/self/pagemap, or many pages of zeroes");
        };
        let theirs = smaps::read().expect("smaps");
        let (mut alike, mut compared) = (0, 0);
        for own in &ours {
            let Some(other) = theirs.iter().find(|other| other.range == own.range) else { continue };
            compared += 1;
            let same = (own.rss, own.anonymous) == (other.rss, other.anonymous);
            if !same {
                println!("{own:?}\n{other:?}");
            }
            alike += u32::from(same);
        }
        assert!(compared >= 20 && compared - alike <= 3, "{alike} of {compared}");
    }

    #[test]
    fn what_is_left_out_is_not_counted() {
        let pagemap = Pagemap::open();
        let treatment =
            |mapping: &Mapping| if mapping.kind == Kind::Anonymous { Treatment::LeaveOut } else { Treatment::Count };
        let Some(mappings) = read(&pagemap, &cost::ranges(), treatment) else {
            return println!("SKIPPED: no /proc/self/pagemap, or many pages of zeroes");
        };
        let is_counted = |kind: Kind| mappings.iter().any(|mapping| mapping.kind == kind && mapping.rss > 0);
        assert!(is_counted(Kind::File) && is_counted(Kind::Stack) && !is_counted(Kind::Anonymous));
    }

    #[test]
    fn a_mapping_that_needs_smaps_ends_it() {
        let treatment =
            |mapping: &Mapping| if mapping.kind == Kind::Stack { Treatment::AskSmaps } else { Treatment::Count };
        assert_eq!(read(&Pagemap::open(), &cost::ranges(), treatment), None);
    }
}
