//! Splits what an interval cost among the scopes that were active in it.
//!
//! ```text
//! interval of 10 ms     |--------------------------|
//! thread 1               aaaaaabbbbbbbb............     a: 2 ms, b: 3 ms, nothing: 5 ms
//! shares                 a 0.2, b 0.3, no scope 0.5
//! ```

/// The number of the scope in which nothing is active.
pub const NO_SCOPE: u32 = 0;

/// The share that each scope has in an interval of `interval_ns`. `active` are scopes with the nanoseconds for which they
/// were active in it, summed over threads. The shares sum to 1.
///
/// Time in no scope counts only as far as no thread was in one: threads that wait for work must not take energy from
/// those that do it. When several threads were in scopes for longer than the interval, their times are the weights.
pub fn split(interval_ns: u64, active: &[(u32, u64)]) -> impl Iterator<Item = (u32, f64)> {
    let in_scopes: u64 = active.iter().filter(|(scope, _)| *scope != NO_SCOPE).map(|(_, ns)| ns).sum();
    let whole = in_scopes.max(interval_ns);
    let share = move |ns: u64| ns as f64 / whole as f64;
    let in_none = match whole {
        0 => Some((NO_SCOPE, 1.0)),
        whole => (whole > in_scopes).then(|| (NO_SCOPE, share(whole - in_scopes))),
    };
    let in_scope = active.iter().filter(|(scope, ns)| *scope != NO_SCOPE && *ns > 0);
    in_none.into_iter().chain(in_scope.map(move |&(scope, ns)| (scope, share(ns))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(interval_ns: u64, active: &[(u32, u64)]) -> Vec<(u32, f64)> {
        split(interval_ns, active).collect()
    }

    #[test]
    fn time_in_no_scope_is_what_is_left() {
        assert_eq!(all(10, &[(1, 2), (2, 3)]), [(0, 0.5), (1, 0.2), (2, 0.3)]);
        assert_eq!(all(10, &[]), [(0, 1.0)]);
        assert_eq!(all(0, &[]), [(0, 1.0)]);
    }

    /// Two threads are in scopes all the time and six wait: the two share the interval.
    #[test]
    fn threads_that_wait_take_nothing() {
        assert_eq!(all(10, &[(0, 60), (1, 10), (2, 10)]), [(1, 0.5), (2, 0.5)]);
    }

    proptest! {
        #[test]
        fn shares_sum_to_one(interval in 0..1u64 << 40, active in prop::collection::vec((0..9u32, 0..1u64 << 40), 0..9)) {
            let sum: f64 = split(interval, &active).map(|(_, share)| share).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }
}
