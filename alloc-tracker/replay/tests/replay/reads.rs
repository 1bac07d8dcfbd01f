//! Reads: what of the peak nobody read again. Event number N happens at N thousand nanoseconds.
use alloc_replay::{Counts, Event};
use alloc_timeline::{Category, Sums, Unread, UnreadRow};

use crate::program::{CONV1, CONV1_BACKWARD, CONV2, FORWARD, Program, size};

fn unread(program: &Program) -> Unread {
    program.replay.unread().expect("reads were told before the peak")
}

fn sums(usable_bytes: u64, blocks: u64) -> Sums {
    Sums { usable_bytes, requested_bytes: usable_bytes - 10 * blocks, blocks }
}

/// A map of 300 that conv2 reads at 3,000 and the statement's end frees at 7,000; at the peak, 4,000, conv2 makes a map.
#[test]
fn a_map_that_was_read_before_the_peak_is_held_for_nothing() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300).allocate(CONV2, 0x2000, 200);
    program.read(CONV2, 0x1000).allocate(CONV2, 0x3000, 400);
    program.read(CONV2, 0x2000).read(CONV2, 0x3000);
    program.free_in(CONV1, 0x1000, 300, FORWARD).free(CONV2, 0x2000, 200).free(CONV2, 0x3000, 400);
    let row = UnreadRow {
        made_in: Some(CONV1.into()),
        category: Category::Activation,
        read_in: Some(CONV2.into()),
        read_ns: Some(3_000),
        reads: 1,
        freed: true,
        freed_in: Some(FORWARD.into()),
        freed_ns: Some(7_000),
        sums: sums(300, 1),
    };
    let expected = Unread {
        time_ns: 4_000,
        live_bytes: 900,
        read_later: sums(600, 2),
        workspace: Sums::default(),
        unread: sums(300, 1),
        unknown_bytes: 0,
        // Without the 300 there were 500 before they were read, 200 after, and 600 when the last map was made.
        prompt_peak_bytes: 600,
        prompt_peak_ns: 4_000,
        rows: vec![row],
    };
    assert_eq!(unread(&program), expected);
}

/// Operators tell at their ends what they read: the map is read at 4,000, after the operator made its own at 3,000.
#[test]
fn what_an_operator_reads_at_the_peak_is_read_later() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300).read(CONV1, 0x9000);
    program.allocate(CONV2, 0x2000, 400).read(CONV2, 0x1000).free(CONV1, 0x1000, 300);
    let unread = unread(&program);
    assert_eq!((unread.live_bytes, unread.read_later, unread.prompt_peak_bytes), (700, sums(300, 1), 700));
    // The other one nobody ever reads, and it lives.
    let rows: Vec<_> = unread.rows.iter().map(|row| (row.read_in, row.reads, row.freed, row.freed_ns)).collect();
    assert_eq!((rows, unread.unread), (vec![(None, 0, false, None)], sums(400, 1)));
}

/// 100 are saved for backward, 50 are never freed, 64 are in a batch and 70 are no storage: nobody tells who reads those.
#[test]
fn blocks_of_which_nothing_is_told_are_unknown() {
    let mut program = Program::new();
    program.event(Event::Batch { scope: CONV1, counts: Counts::allocation(size(64)) });
    let (scope, address, op_call, category) = (CONV1, 0x4000, 0, None);
    program.event(Event::Allocated { scope, address, size: size(70), op_call, category });
    program.allocate(CONV1, 0x1000, 100).read(CONV2, 0x1000).read(CONV2, 0x1000).allocate(CONV2, 0x2000, 50);
    program.free(CONV1, 0x4000, 70).free_in(CONV1, 0x1000, 100, CONV1_BACKWARD);
    let unread = unread(&program);
    assert_eq!((unread.live_bytes, unread.unknown_bytes, unread.unread), (284, 134, sums(150, 2)));
    let rows: Vec<_> = unread.rows.iter().map(|row| (row.sums.usable_bytes, row.reads, row.freed_in)).collect();
    assert_eq!(rows, [(100, 2, Some(CONV1_BACKWARD.into())), (50, 0, None)]);
}

/// A label adopts a block of before the recording. Once it is read, it is known that reads of it are told.
#[test]
fn a_labelled_block_is_known_from_its_first_read_on() {
    let mut program = Program::new();
    let (scope, address, op_call) = (CONV1, 0x1000, 0);
    program.event(Event::Adopted { scope, address, size: size(100), op_call, category: None });
    program.label(CONV1, 0x1000, Category::Parameter).read(CONV1, 0x9000).allocate(CONV2, 0x2000, 50);
    assert_eq!((unread(&program).unknown_bytes, unread(&program).unread), (100, sums(50, 1)));
    program.read(CONV1, 0x1000);
    assert_eq!((unread(&program).unknown_bytes, unread(&program).read_later), (0, sums(100, 1)));
}

/// The operator's own block is in use until it frees it, whoever tells of reads.
#[test]
fn workspace_is_apart() {
    let mut program = Program::new();
    program.read(CONV1, 0x9000).allocate_in_call(CONV1, 0x1000, 300, 7).allocate_in_call(CONV1, 0x2000, 200, 7);
    program.free_in_call(CONV1, 0x1000, 300, 7);
    let unread = unread(&program);
    assert_eq!((unread.workspace, unread.unread, unread.prompt_peak_bytes), (sums(300, 1), sums(200, 1), 500));
}

/// At 4,000 500 bytes are a peak, of which 300 are freed unread. At 8,000 there are 600: what was is forgotten.
#[test]
fn a_higher_peak_begins_anew() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300).read(CONV1, 0x1000).read(CONV1, 0x1000).allocate(CONV1, 0x2000, 200);
    program.free(CONV1, 0x1000, 300);
    assert_eq!((unread(&program).time_ns, unread(&program).unread), (4_000, sums(500, 2)));
    program.read(CONV1, 0x2000).event(Event::StepBegan).allocate(CONV2, 0x1000, 400);
    assert_eq!((unread(&program).time_ns, unread(&program).unread), (8_000, sums(600, 2)));
    program.read(CONV2, 0x1000);
    let unread = unread(&program);
    assert_eq!((unread.read_later, unread.unread), (sums(400, 1), sums(200, 1)));
    // At 4,000 there would have been 200, had the first been freed at once.
    assert_eq!((unread.prompt_peak_bytes, unread.prompt_peak_ns), (600, 8_000));
}

/// After the peak it has another size; how many of its bytes were there at the peak is not known any more.
#[test]
fn a_block_that_was_resized_after_the_peak_is_unknown() {
    let mut program = Program::new();
    program.read(CONV1, 0x9000).allocate(CONV1, 0x1000, 300).resize(CONV1, (0x1000, 300), (Some(0x3000), 100));
    let unread = unread(&program);
    assert_eq!((unread.live_bytes, unread.unknown_bytes, unread.rows), (300, 300, vec![]));
}

#[test]
fn where_nobody_tells_of_reads_nothing_is_said() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300);
    assert_eq!(program.replay.unread(), None);
    // Nothing is known of the reads before this one.
    program.read(CONV1, 0x1000);
    assert_eq!(program.replay.unread(), None);
}

/// 300 histories, no two alike: the 256 largest have rows of their own.
#[test]
fn what_finds_no_room_is_the_rest() {
    let mut program = Program::new();
    let scopes = [CONV1, CONV2, FORWARD, CONV1_BACKWARD];
    program.read(CONV1, 0x9000);
    let blocks: Vec<_> = (0..300).map(|number| (0x10_000 + number * 0x1000, 1_000 + number)).collect();
    for &(address, bytes) in &blocks {
        program.allocate(scopes[bytes as usize % 4], address, bytes);
    }
    for (number, &(address, _)) in blocks.iter().enumerate() {
        if number % 5 > 0 {
            program.read(scopes[number % 5 - 1], address);
        }
        program.label(scopes[number % 4], address, Category::ALL[number % 9]);
    }
    let peak_ns = program.now() + 1_000;
    program.allocate(CONV1, 0x9000, 1);
    for (number, &(address, bytes)) in blocks.iter().enumerate() {
        program.free_in(CONV1, address, bytes, scopes[number / 180]);
    }
    let unread = unread(&program);
    assert_eq!((unread.time_ns, unread.rows.len() > 256), (peak_ns, true), "{}", unread.rows.len());
    assert_eq!(unread.rows.iter().map(|row| row.sums).sum::<Sums>(), unread.unread);
    assert_eq!(unread.unread.usable_bytes + unread.workspace.usable_bytes, unread.live_bytes);
    assert!(unread.rows[..256].iter().all(|row| row.made_in.is_some()));
    assert!(unread.rows[256..].iter().all(|row| row.made_in.is_none()));
}
