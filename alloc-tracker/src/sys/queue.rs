//! A queue between two threads of the tracker. The standard library's channels have a thread-local value with a destructor, and a
//! thread that makes its first one waits for the loader's lock: which a thread of the program's may have while it waits for the
//! tracker's, in the constructor of a library.
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Values, first in, first out, until it is closed.
pub struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    values: VecDeque<T>,
    is_closed: bool,
}

impl<T> std::fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let state = Mutex::new(State { values: VecDeque::new(), is_closed: false });
        Queue { state, changed: Condvar::new() }
    }
}

impl<T> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a value at the end. It allocates.
    pub fn send(&self, value: T) {
        self.state().values.push_back(value);
        self.changed.notify_one();
    }

    /// The first value, if there is one now.
    pub fn take(&self) -> Option<T> {
        self.state().values.pop_front()
    }

    /// Waits for the first value; `None` when there is none and none will come.
    pub fn wait(&self) -> Option<T> {
        let mut state = self.state();
        while state.values.is_empty() && !state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.values.pop_front()
    }

    /// No more values will come.
    pub fn close(&self) {
        self.state().is_closed = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_in_order_and_then_the_end() {
        let queue = Queue::default();
        assert_eq!(queue.take(), None);
        let sum = std::thread::scope(|threads| {
            let sum = threads.spawn(|| std::iter::from_fn(|| queue.wait()).fold(0, |sum, value| sum * 10 + value));
            (1..=3).for_each(|value| queue.send(value));
            queue.close();
            sum.join().expect("the sum")
        });
        assert_eq!((sum, queue.wait()), (123, None));
    }
}
