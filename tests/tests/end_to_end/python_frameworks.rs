//! ONNX Runtime and TensorFlow under `alloc-tracker record`, unchanged: they have no hook that tells nodes and operators, so they are told
//! by stack and shared library. They need a Python that has them, which `ALLOC_TRACKER_TEST_PYTHON` names, or `python3`.
use std::path::Path;
use std::process::Command;

use tests::{Ran, binary, folder, run, text, viewer};

use super::python_torch::python_that_imports;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/python_frameworks");

/// A script, plainly and recorded, with the timeline at `out`. Both must print the same.
fn recorded(python: &str, script: &str, argument: &str, out: &Path) -> Ran {
    let script = Path::new(SCRIPTS).join(script);
    let plain = run(Command::new(python).arg(&script).arg(argument));
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let mut command = Command::new(binary("alloc-tracker"));
    command.args(["record", "-q", "-o", text(out), "--", python, text(&script), argument]);
    let ran = run(command.env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS"));
    assert_eq!((ran.code, ran.stdout.as_str()), (plain.code, plain.stdout.as_str()), "{}", ran.stderr);
    ran
}

/// The first row of the table of objects is that of one whose name begins so.
fn holds_most(out: &Path, object: &str) {
    let told = viewer(&["stacks", text(out), "--by", "object"]);
    let mut rows = told.stdout.lines().skip_while(|line| !line.starts_with('─')).skip(1);
    let first = rows.next().unwrap_or_default();
    assert!(first.contains(object), "{}", told.stdout);
}

/// The bytes at the peak of the layers of imports that begin so.
fn of_imports(out: &Path, beginning: &str) -> u64 {
    let timeline = alloc_timeline::load(out).unwrap_or_else(|error| panic!("{error}"));
    let rows = tests::rows(&timeline, &timeline.peak).filter(|(scope, _)| scope.layer.starts_with(beginning));
    rows.map(|(_, row)| row.requested_bytes).sum()
}

#[test]
fn onnx_runtime_is_told_by_shared_library() {
    let Some(python) = python_that_imports("onnxruntime, onnx") else { return };
    let folder = folder();
    let (model, out) = (folder.path().join("three.onnx"), folder.path().join("run.timeline.json"));
    let written = run(Command::new(&python).arg(Path::new(SCRIPTS).join("onnx_model.py")).arg(&model));
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let ran = recorded(&python, "onnx_runtime.py", text(&model), &out);
    // Three matrices whose rows are 1, 2 and 3 parts of their length, one behind the other.
    assert_eq!(ran.stdout, "(256, 2048) 6.0\n");
    holds_most(&out, "onnxruntime");
    assert!(of_imports(&out, "import onnxruntime") > 1 << 20);
}

#[test]
fn tensorflow_is_told_by_shared_library() {
    let Some(python) = python_that_imports("tensorflow") else { return };
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    recorded(&python, "tensorflow_loop.py", "", &out);
    holds_most(&out, "libtensorflow");
    assert!(of_imports(&out, "import tensorflow") > 10 << 20);
}
