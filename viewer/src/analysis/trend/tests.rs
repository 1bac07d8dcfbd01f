//! Trends of made-up owners.
use proptest::prelude::*;

use super::{FEWEST_STEPS, Trend, trend};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The trend over `count` steps, counted from 1.
fn trend_over(count: u64, bytes: impl Fn(u64) -> u64) -> Trend {
    let steps: Vec<u64> = (1..=count).collect();
    let bytes: Vec<u64> = steps.iter().map(|&step| bytes(step)).collect();
    trend(&steps, &bytes)
}

/// Numbers below `below` that look random and are the same in each run.
fn noise(step: u64, below: u64) -> u64 {
    let mixed = (step ^ 0x9e37_79b9).wrapping_mul(0xff51_afd7_ed55_8ccd);
    ((mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53) >> 16) % below
}

#[test]
fn a_leak_is_dated_and_measured() {
    let leak = trend_over(60, |step| 100 * MIB + step.saturating_sub(11) * 4 * MIB);
    assert_eq!(leak, Trend::Grows { since_step: 12, bytes_per_step: 4 * MIB as i64, slowing: false });
    let always = trend_over(40, |step| step * KIB);
    assert_eq!(always, Trend::Grows { since_step: 1, bytes_per_step: 1024, slowing: false });
}

/// A warm-up of two steps and 40 MiB does not hide a leak of 64 bytes a step from step 20 on.
#[test]
fn a_small_leak_behind_a_large_warm_up() {
    let both = trend_over(60, |step| step.min(2) * 20 * MIB + step.saturating_sub(19) * 64);
    assert_eq!(both, Trend::Grows { since_step: 20, bytes_per_step: 64, slowing: false });
}

/// The leak is 40 MiB in every tenth step, the last time 9 steps ago. The last flat stretch is no longer than those before.
#[test]
fn a_leak_in_lumps_is_not_over_because_the_next_lump_is_not_due() {
    let lumps = trend_over(69, |step| step / 10 * 40 * MIB);
    let Trend::Grows { bytes_per_step, .. } = lumps else { panic!("{lumps:?}") };
    assert!((3_800_000..4_600_000).contains(&bytes_per_step), "{bytes_per_step}");
}

#[test]
fn what_stopped_is_no_leak() {
    assert_eq!(trend_over(60, |step| step.min(3) * 8 * MIB), Trend::WarmUp { until_step: 3 });
    assert_eq!(trend_over(60, |_| 7), Trend::Steady);
    // A cache that takes half of what it still lacks in every eighth step.
    let cache = trend_over(100, |step| (100.0 * MIB as f64 * (1.0 - (-(step as f64) / 12.0).exp())) as u64);
    let Trend::LevelledOff { until_step } = cache else { panic!("{cache:?}") };
    assert!((15..60).contains(&until_step), "{until_step}");
    // One late block.
    assert_eq!(trend_over(60, |step| if step >= 50 { MIB } else { 0 }), Trend::LevelledOff { until_step: 50 });
}

#[test]
fn noise_is_no_growth() {
    let noisy = trend_over(60, |step| 10 * MIB + noise(step, 8 * MIB));
    assert_eq!(noisy, Trend::Uneven);
    let saw = trend_over(64, |step| step % 10 * MIB);
    assert!(!saw.is_growth(), "{saw:?}");
    let down = trend_over(60, |step| (60 - step) * MIB);
    assert_eq!(down, Trend::Shrinks);
}

/// A list gets one record of 1 KiB in each step. It holds 4, 8, 16, 32 and then 64 KiB; the last lump was in step 33.
#[test]
fn a_list_that_doubles_grows() {
    let list = trend_over(60, |step| step.next_power_of_two().max(4) * KIB);
    assert_eq!(list, Trend::Doubles { since_step: 5, bytes_per_step: 1041, last_step: 33 });
    // Nothing was added for long: 33 to 160 is more than 2.7 times as far as 17 to 33.
    let full = trend_over(160, |step| step.min(40).next_power_of_two().max(4) * KIB);
    assert_eq!(full, Trend::LevelledOff { until_step: 33 });
}

#[test]
fn few_steps_say_nothing() {
    assert_eq!(trend_over(FEWEST_STEPS as u64 - 1, |step| step * MIB), Trend::TooFewSteps);
    assert_eq!(trend(&[], &[]), Trend::TooFewSteps);
    assert!(trend_over(FEWEST_STEPS as u64, |step| step * MIB).is_growth());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A leak without noise is dated to the step and measured to the byte, whatever it starts from.
    #[test]
    fn leaks_are_exact(count in 20u64..200, late in 0.0..0.7f64, rate in 16u64..64 * MIB, base in 0u64..1 << 40) {
        let since = 1 + (count as f64 * late) as u64;
        let found = trend_over(count, |step| base + (step + 1).saturating_sub(since) * rate);
        // Growth since the first step looks the same as growth since the second: nothing before the first is known.
        prop_assert!(matches!(found, Trend::Grows { since_step, bytes_per_step, slowing: false }
            if bytes_per_step == rate as i64 && (since_step == since || since <= 2 && since_step <= 2)), "{since} {rate} {:?}", found);
    }

    /// A leak with noise of up to two steps' growth is found; its rate is right to a tenth, its beginning to some steps.
    #[test]
    fn noisy_leaks_are_found(count in 60u64..200, rate in KIB..16 * MIB, seed in any::<u32>()) {
        let since = count / 3;
        let found = trend_over(count, |step| (step + 1).saturating_sub(since) * rate + noise(step ^ u64::from(seed) << 20, 2 * rate));
        let Trend::Grows { since_step, bytes_per_step, .. } = found else { panic!("{found:?}") };
        prop_assert!(since_step.abs_diff(since) <= 6, "{since_step} for {since}");
        prop_assert!(bytes_per_step.abs_diff(rate as i64) <= rate / 10, "{bytes_per_step} for {rate}");
    }

    /// Bytes that did not change in the last half of the steps do not grow.
    #[test]
    fn what_is_flat_for_half_of_the_time_has_stopped(
        count in 24usize..120,
        rises in prop::collection::vec(0u64..MIB, 12),
    ) {
        let mut held = 0;
        let bytes: Vec<u64> = (0..count).map(|step| { held += rises.get(step).copied().unwrap_or(0); held }).collect();
        let steps: Vec<u64> = (1..=count as u64).collect();
        let found = trend(&steps, &bytes);
        prop_assert!(!found.is_growth(), "{found:?} {bytes:?}");
    }

    /// Nothing panics, and each step that is named is one of the steps.
    #[test]
    fn anything_goes(bytes in prop::collection::vec(prop_oneof![0u64..100, any::<u64>()], 0..80), stride in 1u64..50) {
        let steps: Vec<u64> = (0..bytes.len() as u64).map(|step| 1 + step * stride).collect();
        match trend(&steps, &bytes) {
            Trend::Grows { since_step: step, .. }
            | Trend::Doubles { last_step: step, .. }
            | Trend::WarmUp { until_step: step }
            | Trend::LevelledOff { until_step: step } => prop_assert!(steps.contains(&step), "{step} {steps:?}"),
            _ => {}
        }
    }
}
