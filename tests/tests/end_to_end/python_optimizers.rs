//! What an optimizer of PyTorch's takes for a moment, by how it works.
use tests::{folder, run, text};

use super::python_torch::{python, script};

/// Parameters in bytes: three layers of 256 x 256 weights and 256 biases.
const PARAMETERS: u64 = 3 * (256 * 256 + 256) * 4;
const LARGEST: u64 = 256 * 256 * 4;
/// Python's own objects, and the counters of Adam's steps.
const BESIDES: u64 = 64 << 10;

/// Adam's state is twice the parameters. One parameter at a time takes two temporaries of the largest, all at once one of all
/// parameters, and the fused operator nothing.
#[test]
fn adams_temporaries_are_those_of_its_way() {
    for (way, temporaries) in [("loop", 2 * LARGEST), ("foreach", PARAMETERS), ("fused", 0)] {
        let Some(mut python) = python() else { return };
        let folder = folder();
        let out = folder.path().join("run.timeline.json");
        python.args(["-m", "alloc_tracker", "--exact", "--stacks", "off", "-q", "-o", text(&out)]);
        let ran = run(python.args([&script("optimizer.py"), way]));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"));
        let high = timeline.high_waters.iter().find(|high| high.name == "optimizer").expect("the phase");
        let bytes = high.requested_bytes.expect("it is recorded");
        let expected = 2 * PARAMETERS + temporaries;
        assert!((expected..expected + BESIDES).contains(&bytes), "{way}: {bytes}, expected {expected}");
    }
}
