//! Events as words: the form that events have in the ring, and nowhere else.
//!
//! ```text
//! word 0   bits 0-7: kind; 8-23: scope; of a device's events also 24-31: category, 32-63: the device's name
//! word 1   time in nanoseconds, 0 for none
//! word 2-6 the fields of the kind, see `encode`
//! ```
use alloc_replay::{BlockSize, Counts, DeviceTotals, Event, NameId, ScopeId};
use alloc_timeline::Category;

/// The words of one event.
pub type Words = [u64; 7];

/// No event: the words of a place in the ring that stays empty.
pub const NOTHING: Words = [0; 7];

const BATCH: u8 = 1;
const ALLOCATED: u8 = 2;
const ADOPTED: u8 = 3;
const FREED: u8 = 4;
const RESIZE_BEGAN: u8 = 5;
const RESIZE_ENDED: u8 = 6;
const LABELLED: u8 = 7;
const MARK: u8 = 8;
const STEP_BEGAN: u8 = 9;
const STEP_ENDED: u8 = 10;
const PHASE_LEFT: u8 = 11;
const PAUSED: u8 = 12;
const RESUMED: u8 = 13;
const SAMPLED: u8 = 14;
const SAMPLE_FREED: u8 = 15;
const SAMPLE_RESIZE_BEGAN: u8 = 16;
const SAMPLE_RESIZE_ENDED: u8 = 17;
const READ: u8 = 18;
const DEVICE_ALLOCATED: u8 = 19;
const DEVICE_FREED: u8 = 20;
const DEVICE_LABELLED: u8 = 21;
const DEVICE_OUT_OF_MEMORY: u8 = 22;
const DERIVED_STEP_BEGAN: u8 = 23;
const THREAD_ENDED: u8 = 24;

/// Where the first word of a device's event has its category and its device.
const CATEGORY_SHIFT: u32 = 24;
const DEVICE_SHIFT: u32 = 32;

/// A batch's last word holds its number of allocations in this many bits, its number of frees in as many, and
/// `moved_in` in the rest.
const COUNT_BITS: u32 = 24;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const MOVED_SHIFT: u32 = 2 * COUNT_BITS;

/// Flags of a sample, above the number of its stack.
const CUT: u64 = 1 << 32;
const FRESH: u64 = 1 << 33;
const FOLLOWED: u64 = 1 << 34;

/// Whether the counts of a batch fit into an event.
pub fn fits(counts: &Counts) -> bool {
    counts.allocations <= COUNT_MASK && counts.frees <= COUNT_MASK && i16::try_from(counts.moved_in as i64).is_ok()
}

/// The first part of counts that do not fit into an event, with all bytes, and the blocks that are left. `None` for counts that fit, and for a
/// number of blocks below zero.
pub fn split(counts: &Counts) -> Option<(Counts, Counts)> {
    let is_negative = ((counts.allocations | counts.frees) as i64) < 0;
    if fits(counts) || is_negative {
        return None;
    }
    let moved_in = (counts.moved_in as i64).clamp(i16::MIN.into(), i16::MAX.into()) as u64;
    let [allocations, frees] = [counts.allocations, counts.frees].map(|blocks| blocks.min(COUNT_MASK));
    let rest = Counts {
        allocations: counts.allocations - allocations,
        frees: counts.frees - frees,
        moved_in: counts.moved_in.wrapping_sub(moved_in),
        ..Counts::default()
    };
    Some((Counts { allocations, frees, moved_in, ..*counts }, rest))
}

/// The words of an event. The counts of a batch must fit, see [`fits`].
#[inline]
pub fn encode(time_ns: u64, event: &Event) -> Words {
    let words = |kind: u8, scope: ScopeId, [a, b, c, d, e]: [u64; 5]| {
        [u64::from(kind) | u64::from(scope) << 8, time_ns, a, b, c, d, e]
    };
    // In a field that may be absent, 0 stands for `None`.
    let category = |category: Option<Category>| category.map_or(0, |category| category as u64 + 1);
    match *event {
        Event::Batch { scope, counts } => {
            debug_assert!(fits(&counts));
            let blocks = counts.allocations | counts.frees << COUNT_BITS | counts.moved_in << MOVED_SHIFT;
            words(BATCH, scope, [counts.allocated, counts.freed, counts.requested, counts.requested_freed, blocks])
        }
        Event::Allocated { scope, address, size, op_call, category: made_for } => {
            words(ALLOCATED, scope, [address, size.usable, size.requested, op_call, category(made_for)])
        }
        Event::Adopted { scope, address, size, op_call, category: made_for } => {
            words(ADOPTED, scope, [address, size.usable, size.requested, op_call, category(made_for)])
        }
        Event::Freed { scope, address, size, op_call, freed_in } => {
            let freed_in = freed_in.map_or(0, |scope| u64::from(scope) + 1);
            words(FREED, scope, [address, size.usable, size.requested, op_call, freed_in])
        }
        Event::ResizeBegan { scope, address, size, token } => {
            words(RESIZE_BEGAN, scope, [address, size.usable, size.requested, token, 0])
        }
        Event::ResizeEnded { address, size, token } => {
            words(RESIZE_ENDED, 0, [address.unwrap_or(0), size.usable, size.requested, token, 0])
        }
        Event::Labelled { scope, address, category: label } => {
            words(LABELLED, scope, [address, category(Some(label)), 0, 0, 0])
        }
        Event::Read { scope, addresses } => words(READ, scope, addresses),
        Event::Mark { name, with_owners } => words(MARK, 0, [name.into(), with_owners.into(), 0, 0, 0]),
        Event::StepBegan => words(STEP_BEGAN, 0, [0; 5]),
        Event::DerivedStepBegan => words(DERIVED_STEP_BEGAN, 0, [0; 5]),
        Event::StepEnded => words(STEP_ENDED, 0, [0; 5]),
        Event::PhaseLeft { phase } => words(PHASE_LEFT, 0, [phase.into(), 0, 0, 0, 0]),
        Event::Paused => words(PAUSED, 0, [0; 5]),
        Event::Resumed => words(RESUMED, 0, [0; 5]),
        Event::Sampled { scope, address, bytes, weight, stack, cut, fresh, followed, thread } => {
            let flag = |flag: u64, is_set: bool| if is_set { flag } else { 0 };
            let stack = u64::from(stack) | flag(CUT, cut) | flag(FRESH, fresh) | flag(FOLLOWED, followed);
            words(SAMPLED, scope, [address, bytes, weight, stack, thread.into()])
        }
        Event::ThreadEnded { thread, name } => {
            let [low, high] = halves(u128::from_ne_bytes(name));
            words(THREAD_ENDED, 0, [thread.into(), low, high, 0, 0])
        }
        Event::SampleFreed { address } => words(SAMPLE_FREED, 0, [address, 0, 0, 0, 0]),
        Event::SampleResizeBegan { address, token } => words(SAMPLE_RESIZE_BEGAN, 0, [address, token, 0, 0, 0]),
        Event::SampleResizeEnded { address, before, after, token } => {
            words(SAMPLE_RESIZE_ENDED, 0, [address.unwrap_or(0), before, after, token, 0])
        }
        Event::DeviceAllocated { device, scope, address, bytes, totals, op_call, category: made_for } => {
            let head = category(made_for) << CATEGORY_SHIFT | u64::from(device) << DEVICE_SHIFT;
            with_head(
                head,
                words(DEVICE_ALLOCATED, scope, [address, bytes, totals.allocated, totals.reserved, op_call]),
            )
        }
        Event::DeviceFreed { device, address, bytes, totals, op_call } => {
            let head = u64::from(device) << DEVICE_SHIFT;
            with_head(head, words(DEVICE_FREED, 0, [address, bytes, totals.allocated, totals.reserved, op_call]))
        }
        Event::DeviceLabelled { scope, address, category: label } => {
            let scope = scope.map_or(0, |scope| u64::from(scope) + 1);
            words(DEVICE_LABELLED, 0, [address, category(Some(label)), scope, 0, 0])
        }
        Event::DeviceOutOfMemory { device, bytes, totals } => {
            let head = u64::from(device) << DEVICE_SHIFT;
            with_head(head, words(DEVICE_OUT_OF_MEMORY, 0, [0, bytes, totals.allocated, totals.reserved, 0]))
        }
    }
}

/// The lower and the upper 64 bits.
fn halves(number: u128) -> [u64; 2] {
    [number as u64, (number >> 64) as u64]
}

/// `words` with more in the first of them.
fn with_head(head: u64, mut words: Words) -> Words {
    words[0] |= head;
    words
}

/// The time and the event of words that [`encode`] made; `None` for other words.
pub fn decode(words: Words) -> Option<(u64, Event)> {
    let [head, time_ns, a, b, c, d, e] = words;
    let (scope, address, size) = ((head >> 8) as ScopeId, a, BlockSize { usable: b, requested: c });
    let category = |number: u64| Category::ALL.get(usize::try_from(number.checked_sub(1)?).ok()?).copied();
    let some_address = (a != 0).then_some(a);
    let (device, totals) = ((head >> DEVICE_SHIFT) as NameId, DeviceTotals { allocated: c, reserved: d });
    let event = match head as u8 {
        BATCH => {
            let (allocations, frees) = (e & COUNT_MASK, e >> COUNT_BITS & COUNT_MASK);
            let moved_in = (e as i64 >> MOVED_SHIFT) as u64;
            Event::Batch { scope, counts: Counts::from_array([a, b, c, d, allocations, frees, moved_in]) }
        }
        ALLOCATED => Event::Allocated { scope, address, size, op_call: d, category: category(e) },
        ADOPTED => Event::Adopted { scope, address, size, op_call: d, category: category(e) },
        FREED => {
            Event::Freed { scope, address, size, op_call: d, freed_in: e.checked_sub(1).map(|scope| scope as ScopeId) }
        }
        RESIZE_BEGAN => Event::ResizeBegan { scope, address, size, token: d },
        RESIZE_ENDED => Event::ResizeEnded { address: some_address, size, token: d },
        LABELLED => Event::Labelled { scope, address, category: category(b)? },
        READ => Event::Read { scope, addresses: [address, b, c, d, e] },
        MARK => Event::Mark { name: a as u32, with_owners: b != 0 },
        STEP_BEGAN => Event::StepBegan,
        DERIVED_STEP_BEGAN => Event::DerivedStepBegan,
        STEP_ENDED => Event::StepEnded,
        PHASE_LEFT => Event::PhaseLeft { phase: a as u32 },
        PAUSED => Event::Paused,
        RESUMED => Event::Resumed,
        SAMPLED => Event::Sampled {
            scope,
            address,
            bytes: b,
            weight: c,
            stack: d as u32,
            cut: d & CUT != 0,
            fresh: d & FRESH != 0,
            followed: d & FOLLOWED != 0,
            thread: e as u32,
        },
        THREAD_ENDED => {
            Event::ThreadEnded { thread: a as u32, name: (u128::from(b) | u128::from(c) << 64).to_ne_bytes() }
        }
        SAMPLE_FREED => Event::SampleFreed { address },
        SAMPLE_RESIZE_BEGAN => Event::SampleResizeBegan { address, token: b },
        SAMPLE_RESIZE_ENDED => Event::SampleResizeEnded { address: some_address, before: b, after: c, token: d },
        DEVICE_ALLOCATED => {
            let (op_call, category) = (e, category(head >> CATEGORY_SHIFT & 0xff));
            Event::DeviceAllocated { device, scope, address, bytes: b, totals, op_call, category }
        }
        DEVICE_FREED => Event::DeviceFreed { device, address, bytes: b, totals, op_call: e },
        DEVICE_LABELLED => {
            let scope = c.checked_sub(1).map(|scope| scope as ScopeId);
            Event::DeviceLabelled { scope, address, category: category(b)? }
        }
        DEVICE_OUT_OF_MEMORY => Event::DeviceOutOfMemory { device, bytes: b, totals },
        _ => return None,
    };
    Some((time_ns, event))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of event, with the largest and the smallest of each field and every `None`.
    #[test]
    fn words_give_back_the_event() {
        assert!(decode(NOTHING).is_none());
        let size = BlockSize { usable: 1 << 47, requested: (1 << 47) - 1 };
        let most = Counts { frees: COUNT_MASK, moved_in: i16::MAX as u64, ..Counts::allocation(size) };
        let least = Counts { allocations: COUNT_MASK, moved_in: i64::from(i16::MIN) as u64, ..Counts::free(size) };
        let (scope, address, op_call, token) = (u16::MAX, 1 << 46, u64::MAX, 7);
        let mut events = vec![
            Event::Batch { scope, counts: most },
            Event::Batch { scope, counts: least },
            Event::ResizeBegan { scope, address, size, token },
            Event::ResizeEnded { address: Some(address), size, token },
            Event::ResizeEnded { address: None, size, token },
            Event::Read { scope, addresses: [address, 2, 3, 4, 5] },
            Event::Read { scope, addresses: [address, 0, 0, 0, 0] },
            Event::Mark { name: 65_535, with_owners: true },
            Event::Mark { name: 0, with_owners: false },
            Event::StepBegan,
            Event::DerivedStepBegan,
            Event::StepEnded,
            Event::PhaseLeft { phase: 9 },
            Event::Paused,
            Event::Resumed,
            Event::SampleFreed { address },
            Event::SampleResizeBegan { address, token },
            Event::SampleResizeEnded { address: Some(address), before: 1, after: 2, token },
            Event::SampleResizeEnded { address: None, before: 2, after: 1, token },
        ];
        for category in Category::ALL {
            events.push(Event::Allocated { scope, address, size, op_call, category: Some(category) });
            events.push(Event::Labelled { scope, address, category });
            events.push(Event::DeviceLabelled { scope: Some(scope), address, category });
        }
        events.push(Event::Allocated { scope: 0, address, size, op_call: 0, category: None });
        events.push(Event::Adopted { scope, address, size, op_call, category: None });
        for freed_in in [None, Some(0), Some(u16::MAX)] {
            events.push(Event::Freed { scope, address, size, op_call, freed_in });
        }
        for flags in 0..8u32 {
            let [cut, fresh, followed] = [flags & 1 != 0, flags & 2 != 0, flags & 4 != 0];
            let (bytes, weight, stack, thread) = (1, 2, u32::MAX, u32::MAX - flags);
            events.push(Event::Sampled { scope, address, bytes, weight, stack, cut, fresh, followed, thread });
        }
        events.push(Event::ThreadEnded { thread: u32::MAX, name: *b"fifteen letters\0" });
        let (bytes, totals) = (1 << 40, DeviceTotals { allocated: u64::MAX, reserved: 1 });
        for (device, category) in [(u32::MAX, Some(Category::ALL[0])), (1, Category::ALL.last().copied()), (7, None)] {
            events.push(Event::DeviceAllocated { device, scope, address, bytes, totals, op_call, category });
            events.push(Event::DeviceFreed { device, address, bytes, totals, op_call });
            events.push(Event::DeviceOutOfMemory { device, bytes, totals });
        }
        events.push(Event::DeviceLabelled { scope: None, address, category: Category::ALL[0] });
        for event in events {
            assert_eq!(decode(encode(123, &event)), Some((123, event)));
        }
        assert_eq!(decode([0; 7]), None);
        assert_eq!(decode([255; 7]), None);
    }

    #[test]
    fn counts_that_do_not_fit_come_in_parts() {
        let whole = Counts {
            allocated: 1 << 40,
            freed: 7,
            allocations: 3 * COUNT_MASK + 5,
            frees: COUNT_MASK,
            moved_in: 70_000_u64.wrapping_neg(),
            ..Counts::default()
        };
        let (mut left, mut sum) = (whole, Counts::default());
        let mut parts = 0;
        while let Some((first, rest)) = split(&left) {
            assert!(fits(&first));
            sum += first;
            left = rest;
            parts += 1;
        }
        sum += left;
        assert_eq!((sum, parts), (whole, 3));
        assert_eq!(split(&Counts { allocations: 1_u64.wrapping_neg(), ..whole }), None);
    }

    #[test]
    fn counts_that_do_not_fit_are_told() {
        assert!(fits(&Counts { allocations: COUNT_MASK, frees: COUNT_MASK, ..Counts::default() }));
        assert!(!fits(&Counts { allocations: COUNT_MASK + 1, ..Counts::default() }));
        assert!(!fits(&Counts { frees: COUNT_MASK + 1, ..Counts::default() }));
        assert!(!fits(&Counts { moved_in: 1 << 15, ..Counts::default() }));
        assert!(fits(&Counts { moved_in: (1u64 << 15).wrapping_neg(), ..Counts::default() }));
    }
}
