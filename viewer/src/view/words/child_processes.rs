//! What the child processes have of memory, in words.
use alloc_timeline::{ChildProcesses, Timeline};

use crate::model::{size, time};

/// Sentences on the child processes: how many, their resident sets, what they take in truth, and what is not known. None where there were
/// none.
pub fn child_process_sentences(timeline: &Timeline) -> Vec<String> {
    let Some(children) = &timeline.child_processes else { return Vec::new() };
    let mut sentences = vec![taken(children)];
    sentences.extend(with_own(children));
    if children.pss_bytes.is_some() {
        sentences.push(
            "PSS counts a page that n processes map as one nth in each of them, so a sum of PSS is what they take together; \
             RSS counts it n times."
                .to_owned(),
        );
    }
    sentences
}

fn taken(children: &ChildProcesses) -> String {
    let &ChildProcesses { processes, unread, readings, .. } = children;
    let counted = if processes == 1 { "1 child process".to_owned() } else { format!("{processes} child processes") };
    let chosen = if readings == 1 { "the only reading".to_owned() } else { format!("the most of {readings} readings") };
    let rss = size(children.rss_bytes);
    let mut text = format!("{counted} at {} ({chosen}): {rss} RSS", time(children.time_ns));
    let known = children.pss_bytes.zip(children.private_bytes);
    match known {
        Some((pss, private)) => {
            let of = if unread > 0 { format!("; of {} of them ", processes - unread) } else { ", ".to_owned() };
            let (pss, private) = (size(pss), size(private));
            text.push_str(&format!("{of}{pss} PSS, {private} of it in pages that no other process maps"));
        }
        None => text.push_str("; their PSS is not known"),
    }
    if unread > 0 {
        text.push_str(&format!(" ({unread} could not be read: {})", children.reasons.join("; ")));
    }
    text.push('.');
    text
}

fn with_own(children: &ChildProcesses) -> Option<String> {
    let together = children.pss_with_own().filter(|_| children.unread == 0)?;
    let own = children.own_pss_bytes.map(size)?;
    Some(format!("Together with this process, which has {own} PSS: {} PSS.", size(together)))
}

#[cfg(test)]
mod tests {
    use alloc_timeline::Assembler;

    use super::*;

    fn sentences(children: ChildProcesses) -> Vec<String> {
        child_process_sentences(&Timeline { child_processes: Some(children), ..Assembler::new().timeline() })
    }

    fn read() -> ChildProcesses {
        ChildProcesses {
            time_ns: 12_340_000_000,
            processes: 4,
            rss_bytes: 12 << 30,
            pss_bytes: Some(3 << 30),
            private_bytes: Some(1 << 30),
            own_rss_bytes: Some(4 << 30),
            own_pss_bytes: Some(512 << 20),
            unread: 0,
            reasons: Vec::new(),
            readings: 9,
        }
    }

    #[test]
    fn what_they_take_is_said_with_this_process() {
        let said = sentences(read());
        assert_eq!(
            said[..2],
            [
                "4 child processes at 12.34 s (the most of 9 readings): 12,288.0 MiB RSS, 3,072.0 MiB PSS, 1,024.0 MiB of it in pages \
                 that no other process maps.",
                "Together with this process, which has 512.0 MiB PSS: 3,584.0 MiB PSS.",
            ]
        );
        assert_eq!(said.len(), 3);
        assert_eq!(child_process_sentences(&Assembler::new().timeline()), Vec::<String>::new());
    }

    /// A sum that lacks one of them is not called the sum of all, and with this process there is none.
    #[test]
    fn what_could_not_be_read_is_said() {
        let reasons = vec!["/proc/7/smaps_rollup: Permission denied".to_owned()];
        let part = ChildProcesses { unread: 1, reasons: reasons.clone(), ..read() };
        assert_eq!(
            sentences(part)[0],
            "4 child processes at 12.34 s (the most of 9 readings): 12,288.0 MiB RSS; of 3 of them 3,072.0 MiB PSS, 1,024.0 MiB of it in \
             pages that no other process maps (1 could not be read: /proc/7/smaps_rollup: Permission denied)."
        );
        let (pss_bytes, private_bytes) = (None, None);
        let none = ChildProcesses { processes: 1, unread: 1, reasons, pss_bytes, private_bytes, readings: 1, ..read() };
        assert_eq!(
            sentences(none),
            [
                "1 child process at 12.34 s (the only reading): 12,288.0 MiB RSS; their PSS is not known (1 could not be read: \
              /proc/7/smaps_rollup: Permission denied)."
            ]
        );
    }
}
