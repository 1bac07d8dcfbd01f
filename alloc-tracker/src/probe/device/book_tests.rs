//! Books of inputs that lie in `fixtures/gpu/`; its README says where each is from.
use super::*;
use crate::probe::device::inputs::GpuProcess;

const MIB: i64 = 1 << 20;

fn fixture(name: &str) -> DeviceInputs {
    let path = format!("{}/../fixtures/gpu/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a fixture");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines with their MiB; a text in place of those that are unavailable.
fn told(lines: &[BeyondLine]) -> Vec<(&str, Result<i64, &str>)> {
    let bytes = |line: &'_ BeyondLine| line.bytes.map(|bytes| bytes / MIB);
    lines.iter().map(|line| (line.name.as_str(), bytes(line).ok_or(line.source.as_str()))).collect()
}

fn line<'a>(lines: &'a [BeyondLine], name: &str) -> &'a BeyondLine {
    lines.iter().rfind(|line| line.name == name).unwrap_or_else(|| panic!("no line {name}"))
}

/// Wherever all lines between two totals are known, they sum to the second one.
fn assert_sums(lines: &[BeyondLine]) {
    let mut sum: Option<i64> = None;
    for line in lines {
        if line.total {
            if let Some((sum, total)) = sum.zip(line.bytes) {
                assert_eq!(sum, total, "up to {}", line.name);
            }
            sum = line.bytes;
        } else {
            sum = sum.zip(line.bytes).map(|(sum, bytes)| sum + bytes);
        }
    }
}

/// Each line from its own figure: 100 MiB asked for, 104 in blocks, 2 waiting, 14 and 60 free, 180 reserved; the context
/// was 412 and grew by 64; the process has 660, so 4 are unexplained; 1,000 are another's and 300 the driver's; used are
/// 1,662 + 300, 2 more than the lines say.
#[test]
fn every_line_has_its_own_source() {
    let lines = lines(&fixture("handmade-plain"));
    assert_sums(&lines);
    let expected = [
        ("requested", Ok(100)),
        ("rounding", Ok(4)),
        ("allocated", Ok(104)),
        ("cached by the allocator: freed, waits for another stream", Ok(2)),
        ("cached by the allocator: free parts of segments in use", Ok(14)),
        ("cached by the allocator: whole segments", Ok(60)),
        ("reserved", Ok(180)),
        ("context and libraries", Ok(476)),
        ("unexplained", Ok(4)),
        ("NVML process", Ok(660)),
        ("other processes", Ok(1_000)),
        ("driver and firmware", Ok(300)),
        ("unexplained", Ok(2)),
        ("device used", Ok(1_962)),
    ];
    assert_eq!(told(&lines), expected);
    assert!(lines.iter().all(|line| !line.source.is_empty()), "{lines:?}");
    assert_eq!(line(&lines, "unexplained").source, "what is left");
}

/// No driver: what the allocator says stands.
#[test]
fn without_a_driver_the_allocators_part_stands() {
    let inputs = DeviceInputs { driver: Err("unavailable: no library".to_owned()), ..fixture("handmade-plain") };
    let lines = lines(&inputs);
    assert_sums(&lines);
    assert_eq!(told(&lines)[..7], told(&super::lines(&fixture("handmade-plain")))[..7]);
    for name in ["context and libraries", "NVML process", "other processes", "driver and firmware", "device used"] {
        assert_eq!((line(&lines, name).bytes, line(&lines, name).source.as_str()), (None, "unavailable: no library"));
    }
}

/// No allocator that tells anything: the driver's part stands.
#[test]
fn without_an_allocator_the_drivers_part_stands() {
    let inputs = DeviceInputs { allocator: Err("no event".to_owned()), ..fixture("handmade-plain") };
    let lines = lines(&inputs);
    assert_sums(&lines);
    for name in ["requested", "rounding", "allocated", "cached by the allocator", "reserved"] {
        assert_eq!((line(&lines, name).bytes, line(&lines, name).source.as_str()), (None, "unavailable: no event"));
    }
    let context = line(&lines, "context and libraries");
    assert_eq!(context.bytes, None, "as with PyTorch's cudaMallocAsync, which tells of no block: {}", context.source);
    assert_eq!(line(&lines, "NVML process").bytes, Some(660 * MIB));
    assert_eq!(line(&lines, "unexplained").bytes, Some(2 * MIB));
}

/// The events of blocks tell allocated and reserved alone.
#[test]
fn events_alone_tell_no_requested_bytes() {
    let allocator = AllocatorInputs { allocated: 104 << 20, reserved: 180 << 20, ..AllocatorInputs::default() };
    let lines = lines(&DeviceInputs { allocator: Ok(allocator), ..fixture("handmade-plain") });
    assert_sums(&lines);
    assert_eq!(line(&lines, "requested").bytes, None);
    assert!(line(&lines, "rounding").source.starts_with("unavailable: only the allocator's statistics"));
    assert_eq!(line(&lines, "cached by the allocator").bytes, Some(76 * MIB));
    assert_eq!(line(&lines, "allocated").source, "the caching allocator's last event");
}

/// In a container: one process, under a number that means nothing here. It is taken to be this one, and the line says so.
#[test]
fn the_only_process_on_the_device_is_this_one() {
    let lines = lines(&fixture("handmade-container-alone"));
    let process = line(&lines, "NVML process");
    assert_eq!(process.bytes, Some(660 * MIB));
    assert!(process.source.contains("taken to be process 40123 of another PID namespace"), "{}", process.source);
    assert_eq!(line(&lines, "other processes").bytes, Some(0));
}

/// In a container with neighbours nobody can tell; and some drivers list nobody. The rest is then one unexplained sum, which
/// says what is in it: 1,962 - 180 - 476 - 300.
#[test]
fn a_process_that_cannot_be_told_is_unavailable() {
    for (name, said) in [
        ("handmade-container-shared", "unavailable: NVML lists 2 processes on this device by their numbers in another"),
        ("handmade-container-hidden", "unavailable: NVML lists no process on this device, although this one uses it"),
    ] {
        let lines = lines(&fixture(name));
        for name in ["NVML process", "other processes"] {
            assert_eq!(line(&lines, name).bytes, None, "never 0");
            assert!(line(&lines, name).source.starts_with(said), "{}", line(&lines, name).source);
        }
        let rest = line(&lines, "unexplained");
        assert_eq!(rest.bytes, Some((1_962 - 180 - 476 - 300) * MIB));
        assert_eq!(rest.source, "what is left, with what is not known: NVML process, other processes");
        assert_eq!(line(&lines, "device used").bytes, Some(1_962 * MIB));
    }
}

/// WDDM: the driver lists the processes without their bytes.
#[test]
fn a_driver_may_not_count_by_process() {
    let mut inputs = fixture("handmade-plain");
    let driver = inputs.driver.as_mut().expect("a driver");
    driver.processes = Ok(vec![GpuProcess { pid: 77, bytes: None, is_visible: true }]);
    assert!(line(&lines(&inputs), "NVML process").source.contains("does not count memory by process"));
    let driver = inputs.driver.as_mut().expect("a driver");
    let other = GpuProcess { pid: 78, bytes: None, is_visible: true };
    driver.processes = Ok(vec![GpuProcess { pid: 77, bytes: Some(660 << 20), is_visible: true }, other]);
    let lines = lines(&inputs);
    assert_eq!(line(&lines, "NVML process").bytes, Some(660 * MIB), "of this one it is known");
    assert!(line(&lines, "other processes").source.contains("of each of them"));
}

/// Jetson: NVML names the device and counts no memory.
#[test]
fn a_device_without_memory_of_its_own_says_so() {
    let lines = lines(&fixture("handmade-jetson"));
    assert_sums(&lines);
    assert_eq!(line(&lines, "reserved").bytes, Some(180 * MIB));
    for name in ["NVML process", "other processes", "driver and firmware", "device used"] {
        assert!(line(&lines, name).source.contains("as on Jetson"), "{}", line(&lines, name).source);
    }
    assert_eq!(line(&lines, "unexplained").source, "unavailable: the total below is not known");
}

/// Nothing was seen of the context: what it has is in the unexplained bytes, and the line says so.
#[test]
fn a_context_that_was_not_seen_is_not_the_remainder() {
    let context = ContextInputs::default();
    let lines = lines(&DeviceInputs { context, ..fixture("handmade-plain") });
    let rest = lines.iter().find(|line| line.name == "unexplained").expect("a line");
    assert_eq!((line(&lines, "context and libraries").bytes, rest.bytes), (None, Some(480 * MIB)));
    assert_eq!(rest.source, "what is left, with what is not known: context and libraries");
}

/// A count that fell back: that line says so, and the sign of what is left is kept.
#[test]
fn a_counter_that_jumps_back_is_shown_with_its_sign() {
    let mut inputs = fixture("handmade-plain");
    inputs.context.problem = Some("NVML's count of this process fell back: 5 bytes".to_owned());
    inputs.driver.as_mut().expect("a driver").processes =
        Ok(vec![GpuProcess { pid: 77, bytes: Some(5), is_visible: true }]);
    let lines = lines(&inputs);
    assert_sums(&lines);
    assert!(line(&lines, "context and libraries").source.contains("fell back"));
    let rest = lines.iter().find(|line| line.name == "unexplained").expect("a line");
    assert_eq!(rest.bytes, Some(5 - 180 * MIB));
}

/// A device that is doubtful, and a driver that keeps its own part to itself.
#[test]
fn doubts_are_part_of_the_source() {
    let mut inputs = fixture("handmade-plain");
    let driver = inputs.driver.as_mut().expect("a driver");
    driver.doubt = "; perhaps".to_owned();
    driver.reserved = Err("unavailable: NVML: an old driver".to_owned());
    let lines = lines(&inputs);
    assert_eq!(line(&lines, "NVML process").source, "NVML's used memory of this process; perhaps");
    assert_eq!(line(&lines, "device used").bytes, Some(1_662 * MIB));
    assert_eq!(line(&lines, "unexplained").source, "what is left, with what is not known: driver and firmware");
}

/// What the recorder writes is what these tests read.
#[test]
fn inputs_survive_json() {
    for name in ["handmade-plain", "handmade-jetson", "handmade-container-hidden"] {
        let inputs = fixture(name);
        let text = serde_json::to_string(&inputs).expect("JSON");
        assert_eq!(serde_json::from_str::<DeviceInputs>(&text).expect("inputs"), inputs);
    }
}

/// As an H200 told it while the trainer trained ResNet-18 with batch 32 (the file's line in `fixtures/gpu/README.md` says how). nvidia-smi
/// showed 2,248 MiB for the process and 2,257 MiB as used, besides 616 MiB (615.06) as reserved: these are the totals. What was added while the allocator
/// reserved segments is unexplained: kernels that CUDA loads when they are first called.
#[test]
fn the_book_of_an_h200() {
    let lines = lines(&fixture("recorded-h200-580.159.04"));
    assert_sums(&lines);
    let bytes: Vec<(&str, i64)> =
        lines.iter().map(|line| (line.name.as_str(), line.bytes.unwrap_or_else(|| panic!("{line:?}")))).collect();
    let expected = [
        ("requested", 890_990_056),
        ("rounding", 3_502_104),
        ("allocated", 894_492_160),
        ("cached by the allocator: freed, waits for another stream", 0),
        ("cached by the allocator: free parts of segments in use", 76_489_216),
        ("cached by the allocator: whole segments", 591_396_864),
        ("reserved", 1_562_378_240),
        ("context and libraries", 650_117_120),
        ("unexplained", 144_703_488),
        ("NVML process", 2_357_198_848),
        ("other processes", 0),
        ("driver and firmware", 644_939_776),
        ("unexplained", 9_240_576),
        ("device used", 3_011_379_200),
    ];
    assert_eq!(bytes, expected);
    assert_eq!(line(&lines, "NVML process").bytes, Some(2_248 * MIB));
}
