//! A timeline: read, checked, summed up and drawn.
#![no_main]
use libfuzzer_sys::fuzz_target;

#[path = "../../../viewer/tests/end_to_end/common/reading.rs"]
#[allow(dead_code, reason = "each target needs one of the two")]
mod reading;

fuzz_target!(|input: &[u8]| {
    reading::read_timeline(input);
});
