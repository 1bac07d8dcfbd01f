//! Revolve: the fewest forward passes with so many slots for maps, every stage being taken as equal (Griewank and Walther,
//! "Algorithm 799: revolve", ACM TOMS 26, 2000).
//!
//! A slot holds what a stage reads; that of the first one, the input, takes a slot too. A stage is run backward right
//! behind a forward pass that saves all of it, and that pass is not counted. Let t(l, c) be the fewest other forward passes
//! for l stages and c slots. With one slot each stage is reached from the input: t(l, 1) = l (l - 1) / 2. Else the
//! next checkpoint lies i stages ahead:
//!
//! ```text
//! t(1, c) = 0
//! t(l, c) = min over 1 <= i < l of  i + t(l - i, c - 1) + t(i, c)
//!           to the checkpoint ---'   behind it ---'        before it
//! ```
//!
//! In closed form t(l, c) = r l - b(c + 1, r - 1), where b(c, r) is the binomial of c + r over c, and r the smallest number
//! with b(c, r) >= l. The slides of Kukreja and Shilova write the same of l + 1 backward passes:
//! Opt\[l, c\] = t(l + 1, c) u_f + (l + 1) u_b.
use crate::schedule::Schedule;

/// t(l, c) by stages and slots, from 0 on; what is meaningless is 0.
fn table(stages: usize, slots: usize) -> Vec<Vec<u64>> {
    let mut table = vec![vec![0; slots + 1]; stages + 1];
    for l in 2..=stages {
        for c in 1..=slots {
            table[l][c] = split(&table, l, c).1;
        }
    }
    table
}

/// Where the next checkpoint lies, and how many forward passes there are then; the nearest of several. With one slot there is
/// none: the last stage is reached, and what is left is a stage shorter.
fn split(table: &[Vec<u64>], l: usize, c: usize) -> (usize, u64) {
    if c == 1 {
        return (l - 1, (l - 1) as u64 + table[l - 1][1]);
    }
    let passes = |i: usize| i as u64 + table[l - i][c - 1] + table[i][c];
    (1..l).map(|i| (i, passes(i))).min_by_key(|&(_, passes)| passes).unwrap_or((1, 0))
}

/// The fewest forward passes that save nothing, for so many stages and slots.
///
/// # Panics
/// When there is no slot.
pub fn forward_steps(stages: usize, slots: usize) -> u64 {
    assert!(slots > 0, "the input takes a slot");
    table(stages, slots)[stages][slots]
}

/// The schedule with the fewest forward passes for a chain of so many stages, the loss included; `None` without a stage or a
/// slot.
pub fn revolve(stages: usize, slots: usize) -> Option<Schedule> {
    if stages == 0 || slots == 0 {
        return None;
    }
    // More slots than stages are of no use.
    let slots = slots.min(stages);
    let table = table(stages, slots);
    let mut schedule = Schedule::default();
    reverse(&mut schedule, &table, 0, stages, slots);
    Some(schedule)
}

/// Runs `length` stages from `first` on backward. What the first one reads is there, in one of the slots.
fn reverse(schedule: &mut Schedule, table: &[Vec<u64>], first: usize, length: usize, slots: usize) {
    if length == 1 {
        return schedule.save_and_reverse(first..first + 1);
    }
    let (ahead, _) = split(table, length, slots);
    schedule.run_through(first..first + ahead);
    if slots == 1 {
        // Nothing may be kept of what lies between: the last stage alone goes backward.
        schedule.save_and_reverse(first + ahead..first + length);
    } else {
        reverse(schedule, table, first + ahead, length - ahead, slots - 1);
    }
    reverse(schedule, table, first, ahead, slots);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Chain, Stage};
    use crate::schedule::{Keep, Operation};
    use crate::simulate::simulate;

    /// How many checkpoints a schedule holds at once, the input among them.
    fn most_slots(schedule: &Schedule) -> usize {
        let mut held: Vec<usize> = vec![0];
        let mut most = 1;
        for &operation in &schedule.0 {
            match operation {
                // What a stage reads is a checkpoint as soon as the stage keeps it.
                Operation::Forward { stage, keep: Keep::Input } if !held.contains(&stage) => held.push(stage),
                Operation::Backward { stage } => held.retain(|&input| input != stage),
                _ => {}
            }
            most = most.max(held.len());
        }
        most
    }

    fn binomial(n: u64, k: u64) -> u64 {
        (0..k).fold(1, |product, i| product * (n - i) / (i + 1))
    }

    /// b(c, r), and 0 for r = -1.
    fn beta(c: u64, r: Option<u64>) -> u64 {
        r.map_or(0, |r| binomial(c + r, c))
    }

    #[test]
    fn the_closed_form() {
        for slots in 1..=12 {
            for stages in 1..=60 {
                let r = (0..).find(|&r| beta(slots, Some(r)) >= stages).expect("it grows");
                let closed = r * stages - beta(slots + 1, r.checked_sub(1));
                assert_eq!(forward_steps(stages as usize, slots as usize), closed, "{stages} stages, {slots} slots");
            }
        }
    }

    /// The formulas of the slides: l (l + 1) / 2 with one slot, and one for a chain of two.
    #[test]
    fn the_formulas_of_the_slides() {
        for l in 1..=20 {
            assert_eq!(forward_steps(l + 1, 1), (l * (l + 1) / 2) as u64);
        }
        assert!((1..=20).all(|slots| forward_steps(2, slots) == 1));
    }

    /// The schedule has as many passes as the recursion says, and keeps to its slots.
    #[test]
    fn the_schedule_is_the_recursions() {
        for stages in 1..=20 {
            let stage = Stage { forward_ns: 1, ..Stage::default() };
            let chain = Chain { fixed_bytes: 0, update_peak_bytes: 0, stages: vec![stage; stages] };
            for slots in 1..=stages + 1 {
                let schedule = revolve(stages, slots).expect("there is a slot");
                let simulated = simulate(&chain, &schedule).expect("valid");
                assert_eq!(
                    simulated.ns,
                    forward_steps(stages, slots) + stages as u64,
                    "{stages} stages, {slots} slots"
                );
                assert!(most_slots(&schedule) <= slots, "{stages} stages, {slots} slots: {schedule}");
            }
        }
        assert_eq!(revolve(3, 0), None);
        assert_eq!(revolve(3, 1).expect("there is a slot").to_string(), "c1 f2 s3 d3 b3 c1 s2 d2 b2 s1 d1 b1");
    }
}
