//! What an optimizer of PyTorch's takes for a moment, by how it works.
use alloc_timeline::{Category, Row};
use tests::{folder, run, text};

use super::python_torch::{python, recorded, script};

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

/// PyTorch does not say that a step has ended which raises. From the next phase on nothing is the optimizer's: a pass is in its own phase, with the layer's
/// result of 1,000 times 64 numbers of 4 bytes, and what is made behind it in the derived phase `loss`.
#[test]
fn what_comes_after_a_step_that_raised_is_not_the_optimizers() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "step_raises.py");
    let after = timeline.marks[0].snapshot.as_ref().expect("the program asked for it");
    let in_phase = |bytes: u64, category| -> Vec<(&str, &str)> {
        let of_bytes = |row: &&Row| row.requested_bytes == bytes && row.category == category;
        let scopes = after.rows.iter().filter(of_bytes);
        scopes.map(|row| &timeline.scopes[row.scope as usize]).map(|scope| (&*scope.phase, &*scope.layer)).collect()
    };
    assert_eq!(in_phase(256_000, Category::Activation), [("forward", "Linear")]);
    // What is made out of nothing there need be no part of the loss.
    assert_eq!(in_phase(1_200_000, Category::Other), [("loss", "")]);
}
