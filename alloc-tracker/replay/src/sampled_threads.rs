//! Who allocates, by thread: what samples say of each thread that took some.
use alloc_timeline::SiteSums;
use rustc_hash::FxHashMap;

use crate::event::ThreadName;
use crate::high_water::HighWaterMarks;
use crate::sampled::Sampled;
use crate::site_table::ThreadRow;

/// Threads that are kept apart; all later ones are one.
const MOST_THREADS: usize = 16 * 1024;
/// Where the samples of later threads are. It has no number of its own, and no row.
const LATER: usize = 0;

/// See the module's description.
#[derive(Debug)]
pub struct SampledThreads {
    /// The one of all later threads, then each thread in the order of its first sample.
    threads: Vec<Thread>,
    index: FxHashMap<u32, usize>,
}

#[derive(Debug, Default)]
struct Thread {
    number: u32,
    /// What it was called at its end; `None` while it runs.
    name: Option<ThreadName>,
    sampled: Sampled,
}

impl Default for SampledThreads {
    fn default() -> Self {
        SampledThreads { threads: vec![Thread::default()], index: FxHashMap::default() }
    }
}

impl SampledThreads {
    /// The index of the thread with this number, which has taken a sample.
    pub fn index(&mut self, number: u32) -> usize {
        if let Some(&index) = self.index.get(&number) {
            return index;
        }
        if self.threads.len() > MOST_THREADS {
            return LATER;
        }
        let index = self.threads.len();
        self.threads.push(Thread { number, ..Thread::default() });
        self.index.insert(number, index);
        index
    }

    /// What the samples of the thread with this index add up to.
    pub fn sampled(&mut self, index: usize) -> &mut Sampled {
        &mut self.threads[index].sampled
    }

    /// The thread with this number has ended, and was called so.
    pub fn ended(&mut self, number: u32, name: ThreadName) {
        if let Some(&index) = self.index.get(&number) {
            self.threads[index].name = Some(name);
        }
    }

    /// The threads as the table has them.
    pub fn rows(&self, marks: &HighWaterMarks) -> Vec<ThreadRow> {
        let row = |thread: &Thread| ThreadRow {
            number: thread.number,
            name: thread.name.map(text),
            sums: thread.sampled.sums(marks),
        };
        self.threads[LATER + 1..].iter().map(row).collect()
    }

    /// What the samples of all later threads add up to.
    pub fn later(&self, marks: &HighWaterMarks) -> SiteSums {
        self.threads[LATER].sampled.sums(marks)
    }
}

/// A name as text: its bytes up to the first zero.
fn text(name: ThreadName) -> String {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &[u8]) -> ThreadName {
        let mut name = ThreadName::default();
        name[..text.len()].copy_from_slice(text);
        name
    }

    /// A thread that ends before it has taken a sample is nobody's row, and a thread that has not ended has no name.
    #[test]
    fn a_thread_has_its_name_when_it_has_ended() {
        let mut threads = SampledThreads::default();
        threads.ended(3, name(b"early"));
        for number in [7, 3, 7] {
            let index = threads.index(number);
            threads.sampled(index).add(1, 10, true);
        }
        threads.ended(7, name(b"fifteen letters"));
        let rows = threads.rows(&HighWaterMarks::default());
        let told: Vec<(u32, Option<&str>, u64)> =
            rows.iter().map(|row| (row.number, row.name.as_deref(), row.sums.allocated_bytes)).collect();
        assert_eq!(told, [(7, Some("fifteen letters"), 20), (3, None, 10)]);
    }

    #[test]
    fn later_threads_are_one() {
        let mut threads = SampledThreads::default();
        for number in 1..=MOST_THREADS as u32 + 2 {
            let index = threads.index(number);
            threads.sampled(index).add(1, 1, true);
        }
        let marks = HighWaterMarks::default();
        assert_eq!((threads.rows(&marks).len(), threads.later(&marks).samples), (MOST_THREADS, 2));
    }
}
