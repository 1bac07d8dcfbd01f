//! Sizes and segments that PyTorch's source gives, worked out by hand, and properties of the arithmetic.
use proptest::prelude::*;

use super::segments::Pool;
use super::{CachingAllocator, DeviceBlock, DeviceFigures, DeviceSegment, OutOfMemory, Settings};

const MIB: u64 = 1 << 20;

fn with(text: &str) -> CachingAllocator {
    CachingAllocator::new(Settings::parse(text).expect("settings"))
}

fn take(allocator: &mut CachingAllocator, bytes: u64) -> DeviceBlock {
    allocator.allocate(bytes).expect("room")
}

fn figures(requested_bytes: u64, allocated_bytes: u64, reserved_bytes: u64) -> DeviceFigures {
    DeviceFigures { requested_bytes, allocated_bytes, reserved_bytes }
}

#[test]
fn one_byte_takes_512_of_a_segment_of_2_mib() {
    let mut allocator = with("");
    let block = take(&mut allocator, 1);
    assert_eq!(allocator.now(), figures(1, 512, 2 * MIB));
    allocator.free(block);
    assert_eq!(allocator.now(), figures(0, 0, 2 * MIB), "the segment stays");
    allocator.empty_cache();
    assert_eq!((allocator.now(), allocator.most()), (figures(0, 0, 0), figures(1, 512, 2 * MIB)));
}

#[test]
fn nothing_takes_nothing() {
    let mut allocator = with("");
    let block = take(&mut allocator, 0);
    allocator.free(block);
    assert_eq!(allocator.most(), figures(0, 0, 0));
}

/// Up to 1 MiB: 2 MiB; below 10 MiB: 20 MiB; from there on the next 2 MiB.
#[test]
fn the_segment_depends_on_the_size() {
    for (bytes, segment) in [
        (MIB, 2 * MIB),
        (MIB + 1, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (10 * MIB + 1, 12 * MIB),
        (196 * 2 * MIB, 392 * MIB),
        (196 * 2 * MIB + 1, 394 * MIB),
    ] {
        let mut allocator = with("");
        take(&mut allocator, bytes);
        assert_eq!(allocator.now().reserved_bytes, segment, "for {bytes} bytes");
    }
}

/// 8 MiB twice fit into one segment of 20 MiB; of the 4 MiB left, 3 leave no more than 1 MiB, which is not split off.
#[test]
fn what_is_left_of_a_large_block_is_split_off_above_1_mib() {
    let mut allocator = with("");
    take(&mut allocator, 8 * MIB);
    take(&mut allocator, 8 * MIB);
    assert_eq!(allocator.now(), figures(16 * MIB, 16 * MIB, 20 * MIB));
    take(&mut allocator, 3 * MIB);
    assert_eq!(allocator.now(), figures(19 * MIB, 20 * MIB, 20 * MIB));
    assert_eq!(allocator.most_segments(), 1);
}

/// Two free neighbours are one block again; the block between them and a used one is not.
#[test]
fn free_neighbours_become_one() {
    let mut allocator = with("");
    let blocks: Vec<_> = (0..4).map(|_| take(&mut allocator, 5 * MIB)).collect();
    allocator.free(blocks[0]);
    allocator.free(blocks[2]);
    take(&mut allocator, 9 * MIB);
    assert_eq!(allocator.now().reserved_bytes, 40 * MIB, "5 and 5 MiB that do not touch hold no 9");
    let mut allocator = with("");
    let blocks: Vec<_> = (0..4).map(|_| take(&mut allocator, 5 * MIB)).collect();
    allocator.free(blocks[1]);
    allocator.free(blocks[2]);
    take(&mut allocator, 9 * MIB);
    assert_eq!(allocator.now(), figures(19 * MIB, 20 * MIB, 20 * MIB), "1 MiB is too little to be split off");
}

/// The smallest free block that is large enough serves, wherever it lies.
#[test]
fn the_best_fit_serves() {
    let mut allocator = with("");
    let large = take(&mut allocator, 40 * MIB);
    let small = take(&mut allocator, 12 * MIB);
    allocator.free(large);
    allocator.free(small);
    take(&mut allocator, 11 * MIB);
    take(&mut allocator, 39 * MIB);
    assert_eq!(allocator.now(), figures(50 * MIB, 52 * MIB, 52 * MIB));
}

/// With max_split_size_mb:32 a block of 40 MiB is not split, serves no smaller request, and serves a large one only if it
/// is less than 20 MiB larger.
#[test]
fn oversize_blocks_are_not_split() {
    let mut allocator = with("max_split_size_mb:32");
    let block = take(&mut allocator, 40 * MIB);
    allocator.free(block);
    take(&mut allocator, 12 * MIB);
    assert_eq!(allocator.now().reserved_bytes, 52 * MIB, "12 MiB may not come out of 40");
    let block = take(&mut allocator, 33 * MIB);
    assert_eq!(allocator.now(), figures(45 * MIB, 52 * MIB, 52 * MIB), "33 MiB take all 40");
    allocator.free(block);
    let block = take(&mut allocator, 60 * MIB);
    allocator.free(block);
    take(&mut allocator, 41 * MIB);
    assert_eq!(allocator.now().reserved_bytes, 112 * MIB, "60 is 19 more than 41: it serves");
    take(&mut allocator, 32 * MIB);
    assert_eq!(allocator.now().reserved_bytes, 112 * MIB, "40 is 8 more than 32");
}

/// Two requests of 11 MiB take segments of 12 MiB each; in one that grows they take 40 MiB, which has room for three.
#[test]
fn an_expandable_segment_grows_by_20_mib() {
    let mut allocator = with("expandable_segments:True");
    let blocks: Vec<_> = (0..3).map(|_| take(&mut allocator, 11 * MIB)).collect();
    assert_eq!(allocator.now(), figures(33 * MIB, 33 * MIB, 40 * MIB));
    blocks.into_iter().for_each(|block| allocator.free(block));
    // 45 MiB begin in the 40 that are free: 20 more are enough.
    take(&mut allocator, 45 * MIB);
    assert_eq!((allocator.now(), allocator.most_segments()), (figures(45 * MIB, 45 * MIB, 60 * MIB), 1));
    take(&mut allocator, 100);
    assert_eq!(allocator.now().reserved_bytes, 62 * MIB, "small requests have a segment of their own");
}

/// A block at the end counts as large as the segment can grow: one inside that fits is better, though larger.
#[test]
fn an_expandable_segment_keeps_its_end() {
    let mut allocator = with("expandable_segments:True");
    let hole = take(&mut allocator, 12 * MIB);
    take(&mut allocator, 2 * MIB);
    allocator.free(hole);
    // Free are 12 MiB at the beginning and 6 at the end.
    take(&mut allocator, 5 * MIB);
    take(&mut allocator, 7 * MIB);
    assert_eq!(allocator.now().reserved_bytes, 20 * MIB, "5 and 7 fill the 12");
}

#[test]
fn a_full_device_gives_back_free_segments_before_it_fails() {
    let mut allocator = CachingAllocator::with_capacity(Settings::default(), 30 * MIB);
    let block = take(&mut allocator, 16 * MIB);
    allocator.free(block);
    take(&mut allocator, 20 * MIB);
    assert_eq!(allocator.now().reserved_bytes, 20 * MIB);
    let failed = allocator.allocate(11 * MIB);
    let expected = OutOfMemory { requested_bytes: 11 * MIB, reserved_bytes: 20 * MIB, capacity_bytes: 30 * MIB };
    assert_eq!(failed, Err(expected));
}

/// A segment of 20 MiB as a recording found it: 4 MiB free, 8 handed out, 8 free. 7 MiB fit behind the block; then the hole
/// of 4 serves 3, whole, because 1 MiB is too little to be split off.
#[test]
fn a_recorded_state_can_be_taken_over() {
    let (mut allocator, start) = (with(""), 0x7f00_0000_0000);
    allocator.adopt_segment(start, false, 20 * MIB);
    let block = allocator.adopt(start + 4 * MIB, 8 * MIB, 8 * MIB - 1).expect("room");
    assert_eq!(allocator.now(), figures(8 * MIB - 1, 8 * MIB, 20 * MIB));
    assert_eq!(allocator.adopt(start + 11 * MIB, 2 * MIB, MIB), None, "its first byte is handed out");
    assert_eq!(allocator.adopt(start + 19 * MIB, 2 * MIB, MIB), None, "it ends behind the segment");
    assert_eq!(take(&mut allocator, 7 * MIB).address(), start + 12 * MIB);
    assert_eq!(take(&mut allocator, 3 * MIB).address(), start);
    allocator.next_segment_at(Some(0x7e00_0000_0000));
    let other = take(&mut allocator, 12 * MIB);
    assert_eq!(other.address(), 0x7e00_0000_0000);
    let segment = |address, bytes, allocated_bytes| DeviceSegment { address, is_small: false, bytes, allocated_bytes };
    let expected = [segment(other.address(), 12 * MIB, 12 * MIB), segment(start, 20 * MIB, 20 * MIB)];
    assert_eq!(allocator.segments_now(), expected);
    allocator.free(block);
    allocator.free(other);
    assert!(!allocator.release_segment(start), "7 and 3 MiB of it are handed out");
    assert!(allocator.release_segment(other.address()) && !allocator.release_segment(other.address()));
    assert_eq!(allocator.now(), figures(10 * MIB, 12 * MIB, 20 * MIB));
}

#[test]
fn sizes_round_to_divisions_of_powers_of_two() {
    let settings = Settings::parse("roundup_power2_divisions:4").expect("settings");
    // PyTorch's documentation: 1200 with 4 divisions is the next of 1024, 1280, 1536, 1792, 2048. Small ones stay at 512.
    assert_eq!(settings.block_bytes(1_200), 1_536, "1200 is not above 4 x 512");
    assert_eq!(settings.block_bytes(4_100), 5_120);
    assert_eq!(settings.block_bytes(5 * MIB + 1), 6 * MIB);
    assert_eq!(settings.block_bytes(8 * MIB), 8 * MIB);
    let settings = Settings::parse("roundup_power2_divisions:[2:1, 4:2, >:8]").expect("settings");
    // The intervals are numbered by the logarithm of their size: below 2, from 2, and, as `>` begins at the last, from 4.
    assert_eq!(settings.power2_divisions[..4], [1, 1, 8, 8]);
}

#[test]
fn bad_settings_are_named() {
    for (text, said) in [
        ("max_split_size_mb:many", "`max_split_size_mb` is `many`, not a number of MiB"),
        ("expandable_segments", "`expandable_segments` has no value: write key:value"),
        ("expandable_segments:1", "`expandable_segments` is `1`, not True or False"),
        ("roundup_power2_divisions:[256:1", "the list of `roundup_power2_divisions` does not end: a `]` is missing"),
        (
            "roundup_power2_divisions:3",
            "`roundup_power2_divisions` is `3`, not a power of two, or a list such as [256:1,512:2,>:8]",
        ),
    ] {
        assert_eq!(Settings::parse(text).expect_err(text).to_string(), said);
    }
    let ignored = Settings::parse("backend:native, garbage_collection_threshold:0.8,").expect("other keys");
    assert_eq!(ignored, Settings::default());
}

/// The sizes of tensors, small and large.
fn sizes() -> impl Strategy<Value = u64> {
    prop_oneof![1..4_096u64, 1..2 * MIB, 1..64 * MIB]
}

fn settings() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just(""),
        Just("expandable_segments:True"),
        Just("max_split_size_mb:24"),
        Just("roundup_power2_divisions:8"),
        Just("large_segment_size_mb:32")
    ]
}

proptest! {
    /// Blocks tile their segments, neighbours are not both free, and the figures are the sums of the blocks.
    #[test]
    fn the_figures_are_the_sums_of_the_blocks(
        text in settings(),
        actions in prop::collection::vec((any::<bool>(), sizes(), any::<prop::sample::Index>()), 1..120),
    ) {
        let mut allocator = with(text);
        let mut live = Vec::new();
        for (frees, bytes, index) in actions {
            if frees && !live.is_empty() {
                allocator.free(live.swap_remove(index.index(live.len())));
            } else {
                live.push(take(&mut allocator, bytes));
            }
            let mut sums = DeviceFigures::default();
            let mut free = [Vec::new(), Vec::new()];
            for (start, segment, blocks) in allocator.segments().all() {
                let mut address = start;
                for block in &blocks {
                    if block.is_free {
                        free[segment.pool as usize].push((address, block.bytes));
                    }
                    address += block.bytes;
                }
                prop_assert_eq!(blocks.iter().map(|block| block.bytes).sum::<u64>(), segment.bytes);
                prop_assert!(!blocks.windows(2).any(|pair| pair[0].is_free && pair[1].is_free));
                prop_assert!(segment.pool == Pool::Large || blocks.iter().all(|b| b.is_free || b.bytes <= MIB));
                let used = blocks.iter().filter(|block| !block.is_free);
                prop_assert!(used.clone().all(|block| block.requested <= block.bytes));
                sums.reserved_bytes += segment.bytes;
                sums.allocated_bytes += used.clone().map(|block| block.bytes).sum::<u64>();
                sums.requested_bytes += used.map(|block| block.requested).sum::<u64>();
            }
            for pool in [Pool::Small, Pool::Large] {
                let mut found: Vec<_> = allocator.segments().fitting(pool, 0).collect();
                found.sort_unstable();
                prop_assert_eq!(&found, &free[pool as usize], "the free blocks by size are those of the segments");
            }
            prop_assert_eq!(allocator.now(), sums);
            let (most, at_peak) = (allocator.most(), allocator.at_peak());
            prop_assert!(most.reserved_bytes >= sums.reserved_bytes && most.allocated_bytes >= sums.allocated_bytes);
            prop_assert_eq!(at_peak.allocated_bytes, most.allocated_bytes);
        }
        live.into_iter().for_each(|block| allocator.free(block));
        allocator.empty_cache();
        prop_assert_eq!(allocator.now(), DeviceFigures::default());
    }
}
