//! The order of runs that are repeated in rounds.

/// The order of the runs, as (point, repeat) with repeats counted from 1: every point once, then every point again, so that
/// what changes on the machine meets all of them. The seed decides the order within each round.
pub(crate) fn order(points: usize, repeats: u64, seed: u64) -> Vec<(usize, u64)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut all = Vec::new();
    for repeat in 1..=repeats {
        let mut round: Vec<usize> = (0..points).collect();
        rng.shuffle(&mut round);
        all.extend(round.into_iter().map(|point| (point, repeat)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_have_every_point_once() {
        let order = order(5, 3, 7);
        for round in order.chunks(5) {
            let mut points: Vec<usize> = round.iter().map(|(point, _)| *point).collect();
            points.sort_unstable();
            assert_eq!(points, [0, 1, 2, 3, 4]);
        }
        assert_eq!(order, super::order(5, 3, 7), "the seed decides");
        assert_ne!(order, super::order(5, 3, 8));
    }
}
