//! `ALLOC_TRACKER_NEAR_LIMIT`: how little must be left until a limit for a session to say so and to write a copy of its
//! timeline.
use alloc_timeline::size;

const VARIABLE: &str = "ALLOC_TRACKER_NEAR_LIMIT";
const MIB: u64 = 1 << 20;

/// How little must be left of what the process may have, for the session to say so; see
/// [`SessionBuilder::near_limit`](crate::SessionBuilder::near_limit).
///
/// ```no_run
/// use alloc_tracker::{LeastRoom, Session};
///
/// let session = Session::builder().near_limit(LeastRoom::Bytes(256 << 20)).start()?;
/// # Ok::<(), alloc_tracker::SessionError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum LeastRoom {
    /// Less than 5 % of the limit, but at least 64 MiB, which a program can fill in some ticks, and at most 1 GiB, for
    /// which it needs long enough. Of a small limit it is a quarter: 64 MiB of 512 MiB, 16 MiB of 64 MiB.
    #[default]
    Usual,
    /// Less than so many bytes, whatever the limit is.
    Bytes(u64),
    /// Less than this share of the limit, such as 0.1.
    Share(f64),
    /// The session watches no limits.
    Never,
}

impl LeastRoom {
    /// The same in bytes, for a limit in bytes.
    pub(crate) fn of(self, limit: u64) -> u64 {
        match self {
            LeastRoom::Usual => (limit / 20).clamp(64 * MIB, 1024 * MIB).min(limit / 4),
            LeastRoom::Bytes(bytes) => bytes,
            LeastRoom::Share(share) => (limit as f64 * share.clamp(0.0, 1.0)) as u64,
            LeastRoom::Never => 0,
        }
    }

    fn parse(text: &str) -> Result<Self, size::SizeError> {
        let share = text.strip_suffix('%').and_then(|percent| percent.trim().parse::<f64>().ok());
        match share {
            _ if text == "off" => Ok(LeastRoom::Never),
            Some(percent) => Ok(LeastRoom::Share(percent / 100.0)),
            None => size::parse(text).map(LeastRoom::Bytes),
        }
    }
}

/// What the environment sets, which goes before what the program sets. For a text that means nothing, a sentence is
/// added to `losses`.
pub fn least_room(losses: &mut Vec<String>) -> Option<LeastRoom> {
    let text = std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty())?;
    let parsed = LeastRoom::parse(text.trim());
    if let Err(problem) = parsed {
        losses.push(format!("{VARIABLE}: '{text}' is no size, no share such as 10%, and not 'off': {problem}"));
    }
    parsed.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_room_depends_on_the_limit() {
        let gib = 1 << 30;
        for (limit, room) in [
            (64 * MIB, 16 * MIB),
            (512 * MIB, 64 * MIB),
            (gib, 64 * MIB),
            (8 * gib, 8 * gib / 20),
            (1024 * gib, gib),
            (0, 0),
        ] {
            assert_eq!(LeastRoom::Usual.of(limit), room, "{limit}");
        }
        assert_eq!(
            [LeastRoom::Share(0.1), LeastRoom::Bytes(7), LeastRoom::Never].map(|room| room.of(1_000)),
            [100, 7, 0]
        );
    }

    #[test]
    fn the_environment_may_say_it_in_three_ways() {
        assert_eq!(LeastRoom::parse("off"), Ok(LeastRoom::Never));
        assert_eq!(LeastRoom::parse("12.5 %"), Ok(LeastRoom::Share(0.125)));
        assert_eq!(LeastRoom::parse("256MiB"), Ok(LeastRoom::Bytes(256 * MIB)));
        for text in ["", "on", "%", "x%", "-5"] {
            assert!(LeastRoom::parse(text).is_err(), "{text}");
        }
    }
}
