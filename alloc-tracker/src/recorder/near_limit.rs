//! Watches what the process may still take, and says when that becomes little: once at a time, and again only when it
//! is half of what it was at the last time. So a program that lives near a limit is told so a few times, not for ever.
use std::collections::BTreeMap;

use alloc_timeline::Snapshot;

use super::state::with_replay;
use crate::probe::limits::{Bound, Limits, Room};
use crate::settings::LeastRoom;

/// No program is expected to take more than so many bytes in a nanosecond (8 GB/s): as long as more is left than what
/// it can take until then, the next look can wait ...
const MOST_SPEED: u64 = 8;
/// ... but for so many nanoseconds at most, because others use the machine's memory too.
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;
/// Room that is this much less than the least one is not told again: by then the program is at its limit.
const NEAREST: u64 = 16;
/// Snapshots to compare with are taken after so many nanoseconds.
const BETWEEN_SNAPSHOTS_NS: u64 = 1_000_000_000;

/// The limits, and when they are looked at.
#[derive(Debug)]
pub struct NearLimits {
    limits: Limits,
    watch: Watch,
    next_ns: u64,
    /// Two snapshots from when the limits were far, the older one first.
    far: [Option<Snapshot>; 2],
}

impl NearLimits {
    /// Begins to watch.
    pub fn open(least: LeastRoom) -> Self {
        let watch = Watch { least, told: BTreeMap::new() };
        NearLimits { limits: Limits::open(), watch, next_ns: 0, far: [None, None] }
    }

    /// Looks at the limits, if a look is due at the clock's time `now_ns`. Returns the limit that has come near.
    pub fn look(&mut self, now_ns: u64) -> Option<Room> {
        if self.watch.least == LeastRoom::Never || now_ns < self.next_ns {
            return None;
        }
        let rooms = self.limits.rooms(|limit, left| left < self.watch.least.of(limit));
        self.next_ns = now_ns.saturating_add(self.watch.pause_ns(&rooms));
        let near = self.watch.look(&rooms);
        if near.is_none() {
            self.remember(now_ns);
        }
        near
    }

    /// Takes a snapshot for a later comparison, if the latest is old enough.
    fn remember(&mut self, now_ns: u64) {
        let is_old = |snapshot: &Snapshot| now_ns.saturating_sub(snapshot.time_ns) >= BETWEEN_SNAPSHOTS_NS;
        if self.far[1].as_ref().is_none_or(is_old) {
            self.far[0] = self.far[1].take();
            self.far[1] = with_replay(|replay| replay.snapshot_now(now_ns, 0));
        }
    }

    /// A snapshot from a second or two before the limits came near, if there is one.
    pub fn far(&self) -> Option<&Snapshot> {
        self.far.iter().flatten().next()
    }

    /// The instruments, for what else they know of a limit.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// What was told so far.
#[derive(Debug)]
struct Watch {
    least: LeastRoom,
    /// What each limit left when it was told.
    told: BTreeMap<Bound, u64>,
}

impl Watch {
    /// Of the limits that have come near, the one that leaves least.
    fn look(&mut self, rooms: &[Room]) -> Option<Room> {
        let near: Vec<&Room> = rooms.iter().filter(|room| room.left_bytes < self.least.of(room.limit_bytes)).collect();
        let is_new = |room: &&&Room| match self.told.get(&room.bound) {
            None => true,
            Some(&told) => {
                let nearest = self.least.of(room.limit_bytes) / NEAREST;
                room.left_bytes <= told / 2 && room.left_bytes >= nearest
            }
        };
        let due = near.iter().filter(is_new).min_by_key(|room| room.left_bytes).map(|room| **room)?;
        // All limits that are near now are told by this one line.
        for room in near {
            let told = self.told.entry(room.bound).or_insert(room.left_bytes);
            *told = room.left_bytes.min(*told);
        }
        Some(due)
    }

    /// How long the next look can wait, in nanoseconds.
    fn pause_ns(&self, rooms: &[Room]) -> u64 {
        let until_near = |room: &Room| room.left_bytes.saturating_sub(self.least.of(room.limit_bytes)) / MOST_SPEED;
        rooms.iter().map(until_near).min().unwrap_or(LONGEST_PAUSE_NS).min(LONGEST_PAUSE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch() -> Watch {
        Watch { least: LeastRoom::Bytes(1_000), told: BTreeMap::new() }
    }

    fn room(bound: Bound, left_bytes: u64) -> Room {
        Room { bound, limit_bytes: 10_000, left_bytes }
    }

    #[test]
    fn it_is_told_once_and_again_at_half_of_it() {
        let mut watch = watch();
        let mut told = |left| watch.look(&[room(Bound::Group(0), left)]).map(|room| room.left_bytes);
        assert_eq!([told(5_000), told(1_000)], [None; 2], "exactly the least room is enough");
        assert_eq!(told(900), Some(900));
        assert_eq!([told(900), told(451), told(5_000), told(700)], [None; 4], "it may come and go");
        assert_eq!([told(450), told(100)], [Some(450), Some(100)]);
        assert_eq!([told(60), told(0)], [None; 2], "a sixteenth of 1,000 is 62: that is at the limit");
    }

    #[test]
    fn a_jump_to_the_limit_is_told() {
        assert_eq!(watch().look(&[room(Bound::AddressSpace, 0)]), Some(room(Bound::AddressSpace, 0)));
    }

    /// The group and the machine come near together: one line, about the one that leaves less.
    #[test]
    fn limits_that_come_near_together_are_told_once() {
        let mut watch = watch();
        let rooms = [room(Bound::Group(0), 800), room(Bound::Machine, 300), room(Bound::Data, 2_000)];
        assert_eq!(watch.look(&rooms).map(|room| room.bound), Some(Bound::Machine));
        assert_eq!(watch.look(&rooms), None);
        assert_eq!(watch.look(&[room(Bound::Group(0), 400)]).map(|room| room.bound), Some(Bound::Group(0)));
        assert_eq!(watch.look(&[room(Bound::Data, 999)]).map(|room| room.bound), Some(Bound::Data));
    }

    #[test]
    fn the_pause_ends_before_the_room_can_be_used_up() {
        let pause = |left| watch().pause_ns(&[room(Bound::Machine, left)]);
        assert_eq!([pause(500), pause(1_000), pause(9_000)], [0, 0, 1_000]);
        assert_eq!(pause(1 << 40), LONGEST_PAUSE_NS);
        assert_eq!(watch().pause_ns(&[]), LONGEST_PAUSE_NS);
    }
}
