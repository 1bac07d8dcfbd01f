//! The prompt peak: the highest point that the live bytes would have had, had each storage been freed at its last read.
//!
//! When a storage is freed, it is known that it was held for nothing since its last read: at each instant between the two
//! there were that many bytes fewer in need. Which instant was the highest is kept without keeping all of them.
//!
//! ```text
//! bytes ^                     Points, each higher than the one before. A free takes the bytes of the storage off every
//!       |            c        point after the storage's last read: off the last points, always up to the newest. So a
//!       |      b     .        point loses whatever an earlier one loses, and perhaps more. A point that is not higher
//!       |  a   .     .        than one before it can never become the highest again, and goes.
//!       +--+---+--R--+---->   A read at R: a free may take from c alone. Between a and b nobody read: of the two only
//!                  events     b is kept.
//! ```
use crate::high_water::Moment;

/// Points from which on those are joined that nothing can part any more.
const MANY: usize = 4096;

/// An instant that may turn out to be the highest.
#[derive(Clone, Copy, Debug)]
struct Point {
    event: u64,
    time_ns: u64,
    /// By how much it is higher than the point before; the first: than zero. Always above 0.
    rise: i64,
}

/// See the module's description.
#[derive(Debug)]
pub struct PromptPeak {
    points: Vec<Point>,
    /// The height of the last point, which is the highest.
    top: i64,
    /// Number of the event that told the latest read.
    read: u64,
    /// How many points are too many.
    many: usize,
}

impl Default for PromptPeak {
    fn default() -> Self {
        PromptPeak { points: Vec::new(), top: 0, read: 0, many: MANY }
    }
}

impl PromptPeak {
    /// The bytes and the time of the highest point; zeros when nothing was ever live.
    pub fn highest(&self) -> (i64, u64) {
        (self.top, self.points.last().map_or(0, |point| point.time_ns))
    }

    /// `live` bytes are live.
    #[inline]
    pub fn reach(&mut self, live: i64, at: Moment) {
        if live <= self.top {
            return;
        }
        let rise = live - self.top;
        self.top = live;
        match self.points.last_mut().filter(|last| last.event > self.read) {
            Some(last) => *last = Point { event: at.event, time_ns: at.time_ns, rise: last.rise + rise },
            None => self.points.push(Point { event: at.event, time_ns: at.time_ns, rise }),
        }
    }

    /// Event number `event` tells of a read.
    pub fn read(&mut self, event: u64) {
        self.read = event;
    }

    /// A storage of `bytes` is freed that was read last by event number `read`.
    pub fn freed(&mut self, bytes: i64, read: u64) {
        let first = self.points.partition_point(|point| point.event <= read);
        let Some(point) = self.points.get_mut(first) else { return };
        point.rise -= bytes;
        self.top -= bytes;
        // Points that are no longer higher than the one before them.
        let mut end = first;
        let mut rise = 0;
        while let Some(point) = self.points.get(end) {
            rise += point.rise;
            if rise > 0 {
                break;
            }
            end += 1;
        }
        match self.points.get_mut(end) {
            Some(point) => point.rise = rise,
            // The one before `first` is the last now.
            None => self.top -= rise,
        }
        self.points.drain(first..end);
    }

    /// Whether there are so many points that [`join`](PromptPeak::join) is worth its time.
    pub fn has_many_points(&self) -> bool {
        self.points.len() >= self.many
    }

    /// Joins points that no free can part any more: those between two of `reads`, the numbers of the events that read the
    /// storages that live.
    pub fn join(&mut self, mut reads: Vec<u64>) {
        reads.sort_unstable();
        let part = |point: &Point| reads.partition_point(|&read| read < point.event);
        let mut joined: Vec<Point> = Vec::new();
        for point in self.points.drain(..) {
            match joined.last_mut().filter(|last| part(last) == part(&point)) {
                Some(last) => *last = Point { rise: last.rise + point.rise, ..point },
                None => joined.push(point),
            }
        }
        self.many = MANY.max(2 * joined.len());
        self.points = joined;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Storages by their life: events of allocation, last read and free, and bytes.
    fn slow(lives: &[(u64, u64, u64, i64)]) -> i64 {
        let last = lives.iter().map(|life| life.2).max().unwrap_or(0);
        let needed = |event| lives.iter().filter(move |(made, read, ..)| (*made..=*read).contains(&event));
        (0..=last).map(|event| needed(event).map(|life| life.3).sum()).max().unwrap_or(0)
    }

    proptest! {
        /// Against the same computed with every instant at hand. Every event is an allocation, a read or a free.
        #[test]
        fn the_highest_point_is_that_of_all_instants(
            lives in prop::collection::vec((0u64..60, 1u64..20, 1u64..20, 1i64..1_000), 1..20),
            joins in any::<bool>(),
        ) {
            // Numbers that differ: three events for each storage, by its place in the list.
            let count = lives.len() as u64;
            let lives: Vec<_> = (lives.iter().zip(0u64..))
                .map(|(&(made, used, held, bytes), place)| {
                    let number = |time: u64, kind: u64| (time * 3 + kind) * count + place + 1;
                    (number(made, 0), number(made + used, 1), number(made + used + held, 2), bytes)
                })
                .collect();
            let mut events: Vec<(u64, usize, usize)> = Vec::new();
            for (place, &(made, read, freed, _)) in lives.iter().enumerate() {
                events.extend([(made, 0, place), (read, 1, place), (freed, 2, place)]);
            }
            events.sort_unstable();
            let (mut prompt, mut live) = (PromptPeak::default(), 0);
            let mut alive = Vec::new();
            for (event, kind, place) in events {
                let (_, read, _, bytes) = lives[place];
                match kind {
                    0 => {
                        live += bytes;
                        alive.push(place);
                        prompt.reach(live, Moment { event, time_ns: event, step: 0 });
                    }
                    1 => prompt.read(event),
                    _ => {
                        live -= bytes;
                        alive.retain(|&one| one != place);
                        prompt.freed(bytes, read);
                    }
                }
                if joins {
                    let reads = alive.iter().map(|&place| lives[place].1.min(event)).collect();
                    prompt.join(reads);
                }
            }
            prop_assert_eq!(prompt.highest().0, slow(&lives));
            prop_assert_eq!(prompt.points.iter().map(|point| point.rise).sum::<i64>(), prompt.top);
            prop_assert!(prompt.points.iter().all(|point| point.rise > 0));
        }
    }
}
