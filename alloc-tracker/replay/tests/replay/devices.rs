//! The blocks of devices: owners at the peak, labels, workspace, and what nobody told of.
use alloc_replay::{DeviceTotals, Event, NOBODY, ScopeId};
use alloc_timeline::{Category, DeviceMemory, Record};

use crate::program::{CONV1, CONV1_BACKWARD, CONV1_OP, CONV2, Program, rows};

/// The numbers of names in the made-up program; any two texts will do as devices.
const DEVICES: [u32; 2] = [4, 5];
const FIRST: u32 = DEVICES[0];

struct Gpu {
    program: Program,
    allocated: u64,
}

impl Gpu {
    /// One that has `before` bytes handed out already.
    fn new(before: u64) -> Gpu {
        Gpu { program: Program::new(), allocated: before }
    }

    fn totals(&self) -> DeviceTotals {
        DeviceTotals { allocated: self.allocated, reserved: self.allocated.next_multiple_of(2 << 20) }
    }

    fn allocate(&mut self, scope: ScopeId, address: u64, bytes: u64, op_call: u64) -> &mut Gpu {
        self.allocated += bytes;
        let (totals, category) = (self.totals(), Some(Category::Activation));
        self.program.event(Event::DeviceAllocated { device: FIRST, scope, address, bytes, totals, op_call, category });
        self
    }

    fn free(&mut self, address: u64, bytes: u64, op_call: u64) -> &mut Gpu {
        self.allocated -= bytes;
        let totals = self.totals();
        self.program.event(Event::DeviceFreed { device: FIRST, address, bytes, totals, op_call });
        self
    }

    fn label(&mut self, scope: Option<ScopeId>, address: u64, category: Category) -> &mut Gpu {
        self.program.event(Event::DeviceLabelled { scope, address, category });
        self
    }

    fn memory(&self) -> DeviceMemory {
        let [memory] = <[_; 1]>::try_from(self.program.replay.device_memory()).expect("one device");
        memory
    }

    /// Scope, category, bytes and blocks at the peak.
    fn at_peak(&self) -> Vec<(ScopeId, Category, u64, u64)> {
        rows(&self.memory().peak.expect("a peak"))
    }
}

#[test]
fn who_owned_the_peak_of_a_device() {
    let mut gpu = Gpu::new(0);
    gpu.allocate(CONV1, 0x1000, 512, 0).allocate(CONV2, 0x2000, 1024, 0).free(0x1000, 512, 0);
    gpu.allocate(CONV2, 0x1000, 256, 0);
    let memory = gpu.memory();
    let peak = memory.peak.as_ref().expect("a peak");
    assert_eq!((peak.live_bytes, peak.requested_bytes, peak.time_ns, peak.slack_bytes), (1536, 1536, 2_000, 0));
    assert_eq!(rows(peak), [(CONV1, Category::Activation, 512, 1), (CONV2, Category::Activation, 1024, 1)]);
    assert_eq!((memory.allocations, memory.frees, memory.reserved_bytes), (Some(3), Some(1), Some(2 << 20)));
    assert_eq!(memory.source, "events of the caching allocator");
    assert_eq!(gpu.program.replay.live_bytes(), 0, "none of it is the host's");
}

/// A label moves the block at the peak as well; workspace is what the call that allocated it freed, unless it is labelled.
#[test]
fn labels_and_workspace_count_at_the_peak() {
    let mut gpu = Gpu::new(0);
    gpu.allocate(CONV1_OP, 0x1000, 512, 1).allocate(CONV1_OP, 0x2000, 1024, 1).allocate(CONV1_OP, 0x3000, 2048, 1);
    gpu.label(Some(CONV1_BACKWARD), 0x1000, Category::Gradient).label(None, 0x3000, Category::Parameter);
    gpu.free(0x2000, 1024, 1).free(0x3000, 2048, 1).free(0x1000, 512, 2);
    let expected = [
        (CONV1_BACKWARD, Category::Gradient, 512, 1),
        (CONV1_OP, Category::Parameter, 2048, 1),
        (CONV1_OP, Category::Workspace, 1024, 1),
    ];
    let mut rows = gpu.at_peak();
    rows.sort_by_key(|&(.., bytes, _)| bytes);
    let mut sorted = expected.to_vec();
    sorted.sort_by_key(|&(.., bytes, _)| bytes);
    assert_eq!(rows, sorted);
}

/// The allocator said 4,096 bytes with the first event, of which 1,024 are known; a block of before is freed later.
#[test]
fn what_nobody_told_of_belongs_to_nobody() {
    let mut gpu = Gpu::new(3072);
    gpu.allocate(CONV1, 0x1000, 1024, 0).free(0x9000, 3072, 0).free(0x1000, 1024, 0);
    assert_eq!(gpu.at_peak(), [(NOBODY, Category::Other, 3072, 0), (CONV1, Category::Activation, 1024, 1)]);
    let expected = "events of the caching allocator; 3072 bytes at the peak were handed out before the recording, or \
                    without an event; 1 frees were of such blocks";
    assert_eq!(gpu.memory().source, expected);
    gpu.allocate(CONV2, 0x1000, 8192, 0);
    assert_eq!(gpu.at_peak(), [(CONV2, Category::Activation, 8192, 1)], "nothing of before is left");
}

/// The free of the first block at an address was dropped.
#[test]
fn an_address_that_is_handed_out_again_is_free() {
    let mut gpu = Gpu::new(0);
    gpu.allocate(CONV1, 0x1000, 512, 0);
    gpu.allocated -= 512;
    gpu.allocate(CONV2, 0x1000, 1024, 0);
    assert_eq!(gpu.at_peak(), [(CONV2, Category::Activation, 1024, 1)]);
}

/// Blocks of two devices and of the host may have one address.
#[test]
fn each_device_has_addresses_of_its_own() {
    let mut program = Program::new();
    program.allocate(CONV1, 0x1000, 300);
    for (device, bytes) in DEVICES.into_iter().zip([512, 1024]) {
        let totals = DeviceTotals { allocated: bytes, reserved: bytes };
        let category = Some(Category::Activation);
        let (scope, address, op_call) = (CONV2, 0x1000, 0);
        program.event(Event::DeviceAllocated { device, scope, address, bytes, totals, op_call, category });
    }
    let peaks: Vec<u64> =
        program.replay.device_memory().iter().map(|memory| memory.peak.as_ref().expect("a peak").live_bytes).collect();
    assert_eq!((program.replay.live_bytes(), peaks), (300, vec![512, 1024]));
}

#[test]
fn no_instant_of_a_pause_is_a_peak_and_a_failure_is_a_mark() {
    let mut gpu = Gpu::new(0);
    gpu.allocate(CONV1, 0x1000, 512, 0).program.event(Event::Paused);
    gpu.allocate(CONV1, 0x2000, 512, 0).free(0x2000, 512, 0).program.event(Event::Resumed);
    assert_eq!(gpu.at_peak(), [(CONV1, Category::Activation, 512, 1)]);
    gpu.program.replay.take_records(0);
    let totals = gpu.totals();
    gpu.program.event(Event::DeviceOutOfMemory { device: FIRST, bytes: 1 << 40, totals });
    let marks = gpu.program.replay.take_records(0);
    let [Record::Mark(mark)] = &marks[..] else { panic!("one mark: {marks:?}") };
    assert!(mark.name.ends_with(" has no room for 1099511627776 bytes"), "{}", mark.name);
}
