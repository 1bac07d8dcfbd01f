//! Equal segments, as PyTorch's `torch.utils.checkpoint.checkpoint_sequential` makes them: each has as many stages as the
//! quotient, the last one the rest as well. All but the last keep only what they read and are run again, whole, when
//! their turn backward comes. The last one is saved at once.
//!
//! ```text
//! 7 stages, 3 segments    1 2 | 3 4 | 5 6 7   loss
//! ```
//!
//! The loss is no stage of the network: PyTorch computes it behind the segments.
use crate::schedule::Schedule;

/// For a chain of so many stages, the loss included, and so many segments; `None` when there are not so many stages, or
/// no segment is asked for.
pub fn sequential(stages: usize, segments: usize) -> Option<Schedule> {
    let network = stages.checked_sub(1)?;
    if segments == 0 || segments > network {
        return None;
    }
    let length = network / segments;
    let last = (segments - 1) * length;
    let mut schedule = Schedule::default();
    for begin in (0..last).step_by(length) {
        schedule.run_through(begin..begin + length);
    }
    schedule.save_and_reverse(last..stages);
    for begin in (0..last).step_by(length).rev() {
        schedule.save_and_reverse(begin..begin + length);
    }
    Some(schedule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::{Chain, Stage};
    use crate::simulate::simulate;

    #[test]
    fn five_stages_in_two_segments() {
        let schedule = sequential(6, 2).expect("enough stages");
        assert_eq!(schedule.to_string(), "c1 f2 s3 s4 s5 s6 d6 b6 b5 b4 b3 s1 s2 d2 b2 b1");
        assert_eq!(sequential(6, 6), None);
        assert_eq!(sequential(6, 0), None);
        assert_eq!(sequential(0, 1), None);
    }

    /// What the slides of Kukreja and Shilova say of equal stages, counted in maps: s - 1 checkpoints, the first of which is
    /// the input, which is there anyway, and the last segment, l - (s - 1) floor(l / s) stages long, saved whole. All but the
    /// last segment are run forward twice.
    #[test]
    fn equal_stages() {
        for stages in 1..=24u64 {
            // A map is 1, and a graph keeps the map that its stage leaves. The loss takes nothing.
            let stage =
                Stage { output_bytes: 1, saved_bytes: 1, saved_and_output_bytes: 1, forward_ns: 1, ..Stage::default() };
            let mut chain = Chain { fixed_bytes: 1, update_peak_bytes: 0, stages: vec![stage; stages as usize] };
            chain.stages.push(Stage::default());
            for segments in 1..=stages {
                let schedule = sequential(chain.stages.len(), segments as usize).expect("enough stages");
                let simulated = simulate(&chain, &schedule).expect("valid");
                let length = stages / segments;
                let last = stages - (segments - 1) * length;
                // The input (1), a checkpoint before each further segment, the last segment's maps; and at the first backward pass
                // of all, that of the loss, the gradient of the last map.
                let expected = 1 + (segments - 1) + last + 1;
                assert_eq!(simulated.peak_bytes, expected, "{stages} stages, {segments} segments");
                assert_eq!(simulated.recomputed, (segments - 1) * length);
                assert_eq!(simulated.ns, stages + (segments - 1) * length);
            }
        }
    }
}
