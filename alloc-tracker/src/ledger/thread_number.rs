//! The numbers by which samples name threads: 1, 2, 3, ... in the order in which threads take their first samples, as long as the
//! process lives. The kernel's numbers would not do: those of threads that have ended are used again.
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the next thread that has none yet.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// A thread's number, which only that thread and its signal handlers ask for and change.
#[derive(Debug, Default)]
pub struct ThreadNumber(AtomicU32);

impl ThreadNumber {
    /// The number; a thread without one gets the next.
    pub fn get(&self) -> u32 {
        if let Some(number) = self.known() {
            return number;
        }
        // A signal handler that interrupts this between the two takes a number of its own, which is then the thread's.
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        self.0.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed).map_or_else(|known| known, |_| next)
    }

    /// The number; `None` when no sample has asked for it.
    pub fn known(&self) -> Option<u32> {
        let number = self.0.load(Ordering::Relaxed);
        (number != 0).then_some(number)
    }

    /// Another thread has the slot from now on.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_number_and_the_next_thread_another() {
        let number = ThreadNumber::default();
        assert_eq!(number.known(), None);
        let first = number.get();
        assert_eq!((number.get(), number.known()), (first, Some(first)));
        number.reset();
        assert_eq!(number.known(), None);
        assert!(number.get() > first);
    }
}
