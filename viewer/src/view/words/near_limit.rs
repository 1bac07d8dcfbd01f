//! When a run came near what it may have, in words.
use alloc_timeline::{Ending, Timeline};

use crate::analysis::grew_after_near_limit;
use crate::model::{size, time};

/// One line for the last time that the run came near a limit, as the recorder printed it, and for a run that was killed
/// another one about what grew from then on. Empty for a run that never came near one.
pub fn near_limit_text(timeline: &Timeline) -> String {
    let Some(near) = timeline.near_limits.last() else { return String::new() };
    let mut text = match timeline.near_limits.len() {
        1 => format!("near a limit: {near}\n"),
        count => format!("near a limit {count} times, the last: {near}\n"),
    };
    if timeline.ending == Ending::Recovered
        && let Some(grown) = grew_after_near_limit(timeline)
    {
        text.push_str(&format!(
            "{} {} broke the limit, if it was the limit that ended the run: it grew by {} until the last sample at {}\n",
            grown.dimension,
            grown.name,
            size(grown.bytes),
            time(grown.until_ns)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Assembler, Holder, NearLimit};

    use super::*;

    #[test]
    fn a_killed_run_says_what_grew_last() {
        let mut timeline = Assembler::new().timeline();
        assert_eq!(near_limit_text(&timeline), "");
        let layer = Some(Holder { name: "fc".into(), bytes: 300 << 20 });
        let (limit_bytes, room_bytes, limit) = (512 << 20, 60 << 20, "RLIMIT_AS".to_owned());
        let near = NearLimit { time_ns: 15, limit, limit_bytes, room_bytes, layer, ..NearLimit::default() };
        timeline.near_limits = vec![near.clone()];
        timeline.series.time_ns = vec![10, 2_000_000_000];
        timeline.series.by_layer = [("fc".to_owned(), vec![300 << 20, 350 << 20])].into();
        let line = "60.0 MiB left of 512.0 MiB (RLIMIT_AS) after 0.0 s; held most: layer fc 300.0 MiB\n";
        let grew = "layer fc broke the limit, if it was the limit that ended the run: it grew by 50.0 MiB until the last \
                    sample at 2.00 s\n";
        assert_eq!(near_limit_text(&timeline), format!("near a limit: {line}{grew}"));
        timeline.ending = Ending::Finished;
        timeline.near_limits.insert(0, near);
        assert_eq!(near_limit_text(&timeline), format!("near a limit 2 times, the last: {line}"));
    }
}
