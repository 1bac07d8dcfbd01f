//! Programs in Python that train with PyTorch, unchanged, under `python -m alloc_tracker`. They need a Python with torch: the
//! one that `ALLOC_TRACKER_TEST_PYTHON` names, or `python3`.
use std::path::Path;
use std::process::Command;

use alloc_timeline::{Category, Ending, Timeline};
use tests::{Ran, binary, folder, requested, requested_by_layer, rows, run, tables, text};

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../alloc-tracker/python");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python_torch");

/// A Python that has torch, with the package; `None` when there is none.
fn python() -> Option<Command> {
    let named = std::env::var("ALLOC_TRACKER_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imports = Command::new(&named).args(["-c", "import torch"]).output();
    if !imports.is_ok_and(|ran| ran.status.success()) {
        println!("SKIPPED: {named} has no torch; ALLOC_TRACKER_TEST_PYTHON may name a Python that has");
        return None;
    }
    let binary = binary("alloc-tracker");
    let folders = format!("{}:{}", text(binary.parent().expect("a folder")), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(named);
    command.env("PYTHONPATH", PACKAGE).env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", folders);
    command.env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS");
    Some(command)
}

fn script(name: &str) -> String {
    text(&Path::new(SCRIPTS).join(name)).to_owned()
}

fn recorded(mut python: Command, folder: &Path, name: &str) -> (Ran, Timeline) {
    let out = folder.join("run.timeline.json");
    let ran = run(python.args(["-m", "alloc_tracker", "--stacks", "off", "-o", text(&out), &script(name)]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("alloc_tracker:"), "{}", ran.stderr);
    (ran, alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}")))
}

/// Tensors of 8 images, of floats: channels by height by width.
fn maps(channels: u64, side: u64) -> u64 {
    8 * channels * side * side * 4
}

#[test]
fn resnet18_is_told_by_layer_and_phase() {
    let folder = folder();
    let Some(python) = python() else { return };
    let (ran, timeline) = recorded(python, folder.path(), "resnet18.py");
    assert_eq!(ran.stdout, "11689512\n");
    assert_eq!((timeline.steps.len(), timeline.ending), (3, Ending::Exit));
    let parameters = 11_689_512 * 4;
    // Of the third step: in the first there is no momentum.
    let [.., forward] = tables(&timeline, "after forward")[..] else { panic!("no table") };
    assert_eq!(requested(forward, Category::Parameter), parameters);
    assert_eq!(requested(forward, Category::OptimizerState), parameters);
    // The batch and its labels.
    assert_eq!(requested(forward, Category::Input), maps(3, 224) + 8 * 8);
    // Outputs of modules that the backward pass needs: the convolution's, which batch norm keeps; batch norm's, in which ReLU
    // writes; in a block the sum, in which ReLU writes as well; not what is only added, nor the logits, of which the loss keeps
    // the logarithms.
    let blocks = [(64, 56, 8), (128, 28, 9), (256, 14, 9), (512, 7, 9)];
    let blocks: u64 = blocks.iter().map(|&(channels, side, kept)| kept * maps(channels, side)).sum();
    let activations = 2 * maps(64, 112) + maps(64, 56) + blocks + maps(512, 1);
    assert_eq!(requested(forward, Category::Activation), activations);
    let by_layer = requested_by_layer(&timeline, forward, Category::Activation);
    assert_eq!(by_layer["layer3.0.downsample.0"], maps(256, 14));
    assert_eq!(by_layer["conv1"], maps(64, 112));
    assert!(
        rows(&timeline, forward).all(|(scope, row)| row.category != Category::Activation || scope.phase == "forward")
    );

    let [.., backward] = tables(&timeline, "after backward")[..] else { panic!("no table") };
    assert_eq!(requested(backward, Category::Gradient), parameters);
    let gradients = requested_by_layer(&timeline, backward, Category::Gradient);
    assert_eq!(gradients, requested_by_layer(&timeline, backward, Category::Parameter));
    assert_eq!(gradients, requested_by_layer(&timeline, backward, Category::OptimizerState));
    assert_eq!(gradients["fc"], (512 * 1000 + 1000) * 4);
    assert!(
        rows(&timeline, backward).all(|(scope, row)| row.category != Category::Gradient || scope.phase == "backward")
    );
    // What PyTorch's own import holds is told apart.
    let import = rows(&timeline, forward).filter(|(scope, _)| scope.phase == "import");
    assert!(import.map(|(_, row)| row.requested_bytes).sum::<u64>() > 50 << 20);
}

#[test]
fn what_a_program_does_stays_what_it_is() {
    let folder = folder();
    let (Some(mut plain), Some(python)) = (python(), python()) else { return };
    let plain = run(plain.arg(script("unchanged.py")));
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let (ran, _) = recorded(python, folder.path(), "unchanged.py");
    // Processes that the program starts print at the same time as it does.
    let lines = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&ran.stdout), lines(&plain.stdout), "{}", ran.stderr);
}
