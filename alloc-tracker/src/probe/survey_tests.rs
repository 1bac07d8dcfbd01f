use super::*;

fn parts(list: &[(&str, u64)]) -> Parts {
    list.iter().map(|&(name, bytes)| (name.to_owned(), bytes)).collect()
}

fn mapping(range: Range, kind: Kind, name: &str, rss: u64, anonymous: u64) -> Mapping {
    let (name, writable) = (name.to_owned(), true);
    Mapping { range, kind, name, writable, executable: false, unreserved: false, rss, anonymous }
}

#[test]
fn every_mapping_has_one_kind() {
    let mappings = [
        mapping(0x1000..0x2000, Kind::File, "libc.so", 7, 1),
        mapping(0x2000..0x4000, Kind::Anonymous, "", 10, 10),
        mapping(0x5000..0x6000, Kind::Anonymous, "", 100, 100),
        mapping(0x7000..0x8000, Kind::Anonymous, "", 1_000, 1_000),
        Mapping { executable: true, ..mapping(0x9000..0xa000, Kind::Anonymous, "", 10_000, 10_000) },
        mapping(0xb000..0xc000, Kind::Shared, "/dev/shm/pool", 20_000, 0),
        Mapping { unreserved: true, ..mapping(0xd000..0xf000, Kind::Anonymous, "", 500_000, 500_000) },
        mapping(0x10000..0x14000, Kind::Stack, "[stack]", 3_000, 3_000),
    ];
    let thread = |name: &str, stack_address| Thread { name: name.to_owned(), stack_address, stack_end: 0 };
    let threads = [thread("main (1)", 0x10800), thread("worker (2)", 0x7abc)];
    // 0x5000 is the tracker's, and so is a table of 4 bytes in the zero-initialised data.
    let tracker = [0x3000..0x4000, 0x5000..0x6000];
    let allocators = |mapping: &Mapping| Vec::from_iter(mapping.unreserved.then(|| mapping.range.clone()));
    let resident = |range: &Range| if range.start == 0x3000 { 4 } else { 100 };
    let found = survey(&mappings, &threads, &tracker, allocators, resident);
    let expected = Survey {
        stacks: parts(&[("main (1)", 3_000), ("worker (2)", 1_000)]),
        other: parts(&[("executable (JIT) mapping of 4 KiB at 0x9000", 10_000), ("/dev/shm/pool", 20_000)]),
        shared: 20_000,
        pinned: Parts::default(),
        told: BTreeMap::new(),
        data: parts(&[("libc.so", 6)]),
        written: parts(&[("libc.so", 1)]),
        files: parts(&[("libc.so", 6)]),
        allocator: vec![mappings[6].range.clone()],
        touched: 500_000,
        zeroes: 0,
        tables: None,
        problem: None,
    };
    assert_eq!(found, expected);
}

/// Tables of the tracker's are at 0x3000 and elsewhere. What follows at 0x6000 is not the file's.
#[test]
fn zero_initialised_data_is_parted_at_a_table() {
    let data =
        [0x2000..0x3000, 0x3000..0x4000, 0x4000..0x6000].map(|range| mapping(range, Kind::Anonymous, "", 10, 10));
    let mut mappings = vec![mapping(0x1000..0x2000, Kind::File, "libc.so", 7, 1)];
    mappings.extend(data);
    mappings.push(mapping(0x6000..0x7000, Kind::Anonymous, "", 1_000, 1_000));
    let found = survey(&mappings, &[], &[0x3000..0x4000, 0x9000..0xa000], |_| Vec::new(), |_| 10);
    assert_eq!(found.data, parts(&[("libc.so", 20)]));
    assert_eq!(found.other, parts(&[("unnamed mapping of 4 KiB at 0x6000", 1_000)]));
}

fn parsed(text: &str) -> Vec<Mapping> {
    smaps::parse(text.as_bytes()).expect("mappings")
}

/// A process that uses CUDA, made up after such lists: 64 MiB of pinned memory, 128 KiB of the driver's, a segment of the
/// program's own. Without the driver, /dev/zero is a program's shared memory like any other.
#[test]
fn pinned_memory_has_a_line_of_its_own_and_is_in_no_other() {
    let text = include_str!("../../../fixtures/gpu/handmade-cuda.smaps");
    let found = survey(&parsed(text), &[], &[], |_| Vec::new(), |_| 0);
    assert_eq!(found.pinned, parts(&[("/dev/nvidiactl", 128 << 10), ("/dev/zero", 64 << 20)]));
    assert_eq!(found.other, parts(&[("/dev/shm/pool", 4 << 20)]));
    assert_eq!(found.files, parts(&[("/usr/lib/libcuda.so.1", 8 << 10)]));
    assert_eq!(found.shared, (68 << 20) + (128 << 10));
    let without: Vec<_> = parsed(text).into_iter().filter(|one| !one.name.starts_with(DRIVER)).collect();
    let found = survey(&without, &[], &[], |_| Vec::new(), |_| 0);
    assert_eq!(found.pinned, Parts::default());
    assert_eq!(found.other, parts(&[("/dev/shm/pool", 4 << 20), ("/dev/zero", 64 << 20)]));
}

/// The mappings of devices in a process that holds a pinned tensor of 64 MiB on an H200. The driver has 10 MiB more of the kind that
/// CUDA pins, and its own. Of the registers of the device itself nothing is resident.
#[test]
fn pinned_memory_of_an_h200() {
    let text = include_str!("../../../fixtures/gpu/recorded-h200-580.159.04.smaps");
    let found = survey(&parsed(text), &[], &[], |_| Vec::new(), |_| 0);
    let driver = [("/dev/nvidiactl", 71_680 << 10), ("/dev/nvidia-uvm", 2 << 20)];
    assert_eq!(found.pinned, parts(&[("/dev/zero", 75_776 << 10), driver[0], driver[1]]));
}

/// A stack up to 0x14000, and what the program has mapped directly behind it.
#[test]
fn a_stack_can_be_merged_with_its_neighbour() {
    let range = 0x10000..0x20000;
    let mapping = mapping(range, Kind::Anonymous, "", 0x9000, 0x9000);
    let threads = [Thread { name: "worker (2)".to_owned(), stack_address: 0x13800, stack_end: 0x14000 }];
    let found = survey(&[mapping], &threads, &[], |_| Vec::new(), |range| (range.len() / 2) as u64);
    assert_eq!(found.stacks, parts(&[("worker (2)", 0x3000)]));
    assert_eq!(found.other, parts(&[("unnamed mapping of 48 KiB at 0x14000", 0x6000)]));
}

/// A block of glibc's with a mapping of its own, which has merged with one of the program's.
#[test]
fn a_mapping_can_be_the_allocators_in_part() {
    let range = 0x10000..0x20000;
    let mapping = mapping(range, Kind::Anonymous, "", 0x10000, 0x10000);
    let block = 0x14000..0x18000;
    let found = survey(&[mapping], &[], &[], |_| vec![block.clone()], |range| range.len() as u64);
    assert_eq!(found.other, parts(&[("unnamed mapping of 64 KiB at 0x10000", 0xc000)]));
    assert_eq!(found.allocator, vec![block.clone()]);
}

/// A mapping of the program's that looks like tables of jemalloc's. A survey that has asked smaps counts the pages of zeroes anew.
#[test]
fn only_new_tables_need_smaps() {
    const TABLES: usize = 2 << 20;
    let (reserved, flags) = (8 * TABLES, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, of which a part inside, which nothing else uses, is made writable.
    let looks_like_tables = unsafe {
        let start = libc::mmap(std::ptr::null_mut(), reserved, libc::PROT_NONE, flags, -1, 0);
        assert_ne!(start, libc::MAP_FAILED);
        let first = (start.addr() / TABLES + 1) * TABLES;
        assert_eq!(libc::mprotect(start.with_addr(first), 2 * TABLES, libc::PROT_READ | libc::PROT_WRITE), 0);
        start.with_addr(first).cast::<u8>().write(1);
        first..first + 2 * TABLES
    };
    let has_asked_smaps = |is_known: bool| {
        const ZEROES: u64 = 12_345;
        let known = Survey::take().known().expect("what jemalloc has mapped");
        let tables = if is_known { known.tables } else { known.tables.map(|bytes| bytes - TABLES as u64) };
        let again = Survey::again(&Known { tables, zeroes: ZEROES, ..known });
        assert!(!overlaps_any(&looks_like_tables, &again.allocator));
        again.zeroes != ZEROES
    };
    assert!(has_asked_smaps(false));
    // Tests beside this one may allocate so much that there are new tables.
    assert!((0..10).any(|_| !has_asked_smaps(true)));
}
