//! Programs in Python that train with PyTorch, unchanged, under `python -m alloc_tracker`. They need a Python with torch: the
//! one that `ALLOC_TRACKER_TEST_PYTHON` names, or `python3`.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use alloc_timeline::{Category, Ending, Timeline};
use tests::{Ran, binary, folder, requested, requested_by_layer, rows, run, tables, text, viewer};

const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../alloc-tracker/python");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/python_torch");

/// A Python that has torch, with the package; `None` when there is none.
pub fn python() -> Option<Command> {
    static HAS_TORCH: OnceLock<Option<String>> = OnceLock::new();
    HAS_TORCH.get_or_init(|| python_that_imports("torch")).as_deref().map(with_package)
}

/// The Python that tests are run with, if it imports all of these modules, which are separated by commas; else a line says that
/// something is skipped.
pub fn python_that_imports(modules: &str) -> Option<String> {
    let named = std::env::var("ALLOC_TRACKER_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let imported = Command::new(&named).args(["-c", &format!("import {modules}")]).output();
    if imported.is_ok_and(|ran| ran.status.success()) {
        return Some(named);
    }
    println!("SKIPPED: {named} has not all of {modules}; ALLOC_TRACKER_TEST_PYTHON may name a Python that has");
    None
}

/// This Python, with the package.
pub fn with_package(named: &str) -> Command {
    let binary = binary("alloc-tracker");
    let folders = format!("{}:{}", text(binary.parent().expect("a folder")), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(named);
    command.env("PYTHONPATH", PACKAGE).env("PYTHONDONTWRITEBYTECODE", "1").env("PATH", folders);
    command.env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS");
    command
}

/// The path of a program in Python.
pub fn script(name: &str) -> String {
    text(&Path::new(SCRIPTS).join(name)).to_owned()
}

/// The program of that name under `python -m alloc_tracker`, which must end well and say nothing; with its timeline.
pub fn recorded(mut python: Command, folder: &Path, name: &str) -> (Ran, Timeline) {
    let out = folder.join("run.timeline.json");
    let ran = run(python.args(["-m", "alloc_tracker", "--stacks", "off", "-o", text(&out), &script(name)]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("alloc_tracker:"), "{}", ran.stderr);
    (ran, alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}")))
}

/// A program that trains one layer, in which the trial has so many rounds.
fn with_rounds(rounds: u32) -> String {
    format!(
        r#"
import alloc_tracker._torch.operators
alloc_tracker._torch.operators._CALLS = alloc_tracker._torch.operators._CALLS[:{rounds}]
import torch
model = torch.nn.Linear(64, 64)
for _ in range(2):
    model(torch.randn(32, 64)).sum().backward()
print("done")
"#
    )
}

/// The layers of the scopes of an operator.
fn layers_of<'a>(timeline: &'a Timeline, op: &str) -> Vec<&'a str> {
    timeline.scopes.iter().filter(|scope| scope.op == op).map(|scope| scope.layer.as_str()).collect()
}

/// Tensors of 8 images, of floats: channels by height by width.
fn maps(channels: u64, side: u64) -> u64 {
    8 * channels * side * side * 4
}

#[test]
fn resnet18_is_told_by_layer_phase_and_operator() {
    if let Some(python) = python() {
        check_resnet18(python);
    }
}

/// The library keeps the modules that run; where Python lacks a function that it needs, the package does, and tells the same.
#[test]
fn modules_that_run_are_told_the_same_with_and_without_functions_of_pythons_kind() {
    // Numbers of 4 bytes, on two threads. The whole keeps some at its start and after each part.
    let by_layer = |of_whole: u64, of_stopped: u64| {
        [
            ("Keeps", 2 * of_whole * 4_000),
            ("parts.0", 2 * 2 * 8_000),
            ("parts.0.parts.0", 2 * 12_000),
            ("parts.0.parts.0.Keeps", 2 * 20_000),
            ("parts.1", 2 * 16_000),
            ("parts.2", 2 * (24_000 + of_stopped * 4_000)),
        ]
        .map(|(layer, bytes)| (layer.to_owned(), bytes))
        .into_iter()
        .collect::<BTreeMap<_, u64>>()
    };
    // The package has hooks, of which none says that a part has ended which was stopped: what is kept then is in that one's layer.
    for (who, expected) in [("functions of Python's kind", by_layer(4, 0)), ("the package", by_layer(3, 1))] {
        let Some(mut python) = python() else { return };
        let folder = folder();
        let out = folder.path().join("run.timeline.json");
        python.args(["-m", "alloc_tracker", "--stacks", "off", "-q", "-o", text(&out), &script("running.py"), who]);
        let ran = run(&mut python);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "done\n", ""), "{who}");
        let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"));
        let kept = timeline.marks[0].snapshot.as_ref().expect("the program asked for it");
        assert_eq!(requested_by_layer(&timeline, kept, Category::Activation), expected, "{who}");
        // Behind the last pass, out of nothing.
        let after = rows(&timeline, kept).find(|(_, row)| row.requested_bytes == 28_000).expect("it was kept");
        assert_eq!((after.0.layer.as_str(), after.1.category), ("", Category::Other), "{who}");
    }
}

/// Numbers of 4 bytes: 1,000 times 250, 250 times 500, and 3,000. A hook of the program's sees a gradient that has its label, and parameters have
/// no other hook. Where libtorch does not tell, they have one of the package's each, which comes behind the program's and knows no tensor
/// that is of no module.
#[test]
fn gradients_are_told_by_libtorch_and_else_by_hooks() {
    let layers = |layers: &[(&str, u64)]| layers.iter().map(|&(layer, bytes)| (layer.to_owned(), bytes)).collect();
    let (first, second, alone) = (("0", 1_000_000), ("1", 500_000), ("", 12_000));
    for (who, hooks, in_hook, after) in [
        ("libtorch", "hooks [1, 0, 0]\n", Some([first, second]), vec![second, alone]),
        ("package", "hooks [2, 1, 0]\n", None, vec![second]),
    ] {
        let Some(mut python) = python() else { return };
        let folder = folder();
        let out = folder.path().join("run.timeline.json");
        python.args(["-m", "alloc_tracker", "--stacks", "off", "-q", "-o", text(&out), &script("gradients.py"), who]);
        let ran = run(&mut python);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), hooks, ""), "{who}");
        let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"));
        let gradients = |mark: usize| -> BTreeMap<String, u64> {
            let kept = timeline.marks[mark].snapshot.as_ref().expect("the program asked for it");
            requested_by_layer(&timeline, kept, Category::Gradient)
        };
        if let Some(expected) = in_hook {
            let mut told = gradients(0);
            told.remove("");
            assert_eq!(told, layers(&expected), "{who}, in the hook");
        }
        assert_eq!(gradients(1), layers(&after), "{who}, after the pass");
    }
}

/// What `viewer growth` says of 10,000 steps.
fn growth(mut python: Command, what: &str) -> serde_json::Value {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let steps = "10000";
    python.args(["-m", "alloc_tracker", "-q", "--stacks", "off", "-o", text(&out), &script("grows.py"), what, steps]);
    let ran = run(&mut python);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let told = viewer(&["growth", text(&out), "--json"]);
    serde_json::from_str::<serde_json::Value>(&told.stdout).expect("one JSON object")["growth"].take()
}

#[test]
fn what_grows_in_a_long_loop_is_told() {
    let (Some(leaking), Some(clean)) = (python(), python()) else { return };
    let growth_of_clean = growth(clean, "no leaks");
    // What torch imports in the first step has cycles, which Python lets go of when it looks for such.
    let others = growth_of_clean["owners"].as_array().expect("owners");
    let is_import = |owner: &&serde_json::Value| owner["phase"] == "import" && owner["trend"]["kind"] == "shrinks";
    assert_eq!(others.iter().find(|owner| !is_import(owner)), None, "nothing grows");
    let growth = growth(leaking, "leaks");
    let owners = growth["owners"].as_array().expect("owners");
    let bytes_per_step = |phase: &str, layer: &str, op: &str, category: &str| {
        let place = |owner: &&serde_json::Value| {
            [("phase", phase), ("layer", layer), ("op", op), ("category", category)]
                .iter()
                .all(|(key, value)| owner[key] == *value)
        };
        let owner = owners.iter().find(place).unwrap_or_else(|| panic!("no {phase} {layer} {op} {category}: {growth}"));
        assert_eq!(owner["trend"]["kind"], "grows", "{owner}");
        owner["trend"]["bytes_per_step"].clone()
    };
    // The cache has four images of 32 floats, the closure the 64 floats that the first layer made of each of them, and the
    // list a float, for which libtorch's allocator takes 64 bytes.
    assert_eq!(bytes_per_step("data", "(none)", "aten::randn", "input"), 4 * 32 * 4);
    assert_eq!(bytes_per_step("forward", "0", "aten::linear", "activation"), 4 * 64 * 4);
    assert_eq!(bytes_per_step("loss", "(none)", "aten::mean", "activation"), 64);
}

/// On request, in each Python that `ALLOC_TRACKER_TEST_PYTHONS` names, by `:`; prints a table of versions.
#[test]
#[ignore = "needs several versions of PyTorch: ALLOC_TRACKER_TEST_PYTHONS=/path/to/one/python:/path/to/another"]
fn resnet18_is_told_the_same_by_all_versions() {
    let pythons = std::env::var("ALLOC_TRACKER_TEST_PYTHONS").expect("ALLOC_TRACKER_TEST_PYTHONS names the Pythons");
    let mut table = String::from("torch | parameters | activations after forward | peak\n");
    for python in pythons.split(':') {
        let timeline = check_resnet18(with_package(python));
        let [.., forward] = tables(&timeline, "after forward")[..] else { panic!("no table") };
        let [parameters, activations] = [Category::Parameter, Category::Activation].map(|of| requested(forward, of));
        let at_peak = requested(&timeline.peak, Category::Activation);
        let version = timeline.run["torch"].as_str().expect("a text");
        table += &format!("{version} | {parameters} | {activations} | {at_peak}\n");
    }
    println!("{table}");
}

/// Runs it, and holds it to what is known of ResNet-18.
fn check_resnet18(python: Command) -> Timeline {
    let folder = folder();
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
    assert_eq!(timeline.run["operators"], "told");
    // What the backward pass needs. Outputs of modules: the convolution's, which batch norm keeps; batch norm's, in which ReLU
    // writes; in a block the sum, in which ReLU writes as well; not what is only added, nor the logits.
    let blocks = [(64, 56, 8), (128, 28, 9), (256, 14, 9), (512, 7, 9)];
    let blocks: u64 = blocks.iter().map(|&(channels, side, kept)| kept * maps(channels, side)).sum();
    let outputs = 2 * maps(64, 112) + maps(64, 56) + blocks + maps(512, 1);
    // And what is no module's output: where max pooling found its largest (a number of 8 bytes each), mean and deviation of
    // each batch norm's channels, the logarithms of the loss, the loss itself, and the weight of all labels.
    let channels = 64 * 5 + 128 * 5 + 256 * 5 + 512 * 5;
    let activations = outputs + 2 * maps(64, 56) + 2 * channels * 4 + maps(1000, 1) + 2 * 4;
    assert_eq!(requested(forward, Category::Activation), activations);
    let by_layer = requested_by_layer(&timeline, forward, Category::Activation);
    assert_eq!(by_layer["layer3.0.downsample.0"], maps(256, 14));
    assert_eq!(by_layer["conv1"], maps(64, 112));
    assert_eq!(by_layer["maxpool"], 3 * maps(64, 56));
    assert_eq!(by_layer["bn1"], maps(64, 112) + 2 * 64 * 4);
    // In no layer: what the loss keeps.
    assert_eq!(by_layer[""], maps(1000, 1) + 2 * 4);
    let made_by = |layer: &str| {
        let of_layer = rows(&timeline, forward).filter(|(scope, _)| scope.layer == layer && scope.phase == "forward");
        let tensors = of_layer.filter(|(_, row)| row.category == Category::Activation);
        tensors.map(|(scope, _)| scope.op.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(made_by("conv1"), ["aten::conv2d"]);
    assert_eq!(made_by("maxpool"), ["aten::max_pool2d"]);

    let [.., backward] = tables(&timeline, "after backward")[..] else { panic!("no table") };
    assert_eq!(requested(backward, Category::Gradient), parameters);
    let gradients = requested_by_layer(&timeline, backward, Category::Gradient);
    assert_eq!(gradients, requested_by_layer(&timeline, backward, Category::Parameter));
    assert_eq!(gradients, requested_by_layer(&timeline, backward, Category::OptimizerState));
    assert_eq!(gradients["fc"], (512 * 1000 + 1000) * 4);
    assert!(
        rows(&timeline, backward).all(|(scope, row)| row.category != Category::Gradient || scope.phase == "backward")
    );
    // Backward operators work for the layer of their forward operator; those of the loss for none.
    let of_layers =
        ["AddmmBackward0", "ConvolutionBackward0", "MaxPool2DWithIndicesBackward0", "NativeBatchNormBackward0"];
    for op in of_layers {
        let layers = layers_of(&timeline, op);
        assert!(!layers.is_empty() && layers.iter().all(|layer| !layer.is_empty()), "{op}: {layers:?}");
    }
    let convolutions: BTreeSet<&str> = layers_of(&timeline, "ConvolutionBackward0").into_iter().collect();
    let named: BTreeSet<&str> = layers_of(&timeline, "aten::conv2d").into_iter().collect();
    assert_eq!((convolutions.len(), convolutions), (20, named));
    assert_eq!(layers_of(&timeline, "NllLossBackward0"), [""]);
    // What PyTorch's own import holds is told apart.
    let import = rows(&timeline, forward).filter(|(scope, _)| scope.phase == "import");
    let torchs = import.filter(|(scope, _)| scope.layer.starts_with("import torch"));
    assert!(torchs.map(|(_, row)| row.requested_bytes).sum::<u64>() > 50 << 20);
    timeline
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
        let mut lines = BTreeMap::<String, i32>::new();
        text.lines().for_each(|line| *lines.entry(line.to_owned()).or_default() += 1);
        lines
    };
    let (plain, recorded) = (lines(&plain.stdout), lines(&ran.stdout));
    let only_in = |these: &BTreeMap<String, i32>, others: &BTreeMap<String, i32>| {
        let differ = these.iter().filter(|(line, count)| others.get(*line) != Some(count));
        differ.map(|(line, count)| format!("{count} x {line}")).collect::<Vec<_>>()
    };
    let (lost, new) = (only_in(&plain, &recorded), only_in(&recorded, &plain));
    assert!(lost.is_empty() && new.is_empty(), "plain {lost:?}, recorded {new:?}\n{}", ran.stderr);
    assert!(!ran.stderr.contains("are not told"), "{}", ran.stderr);
}

/// What the trial does not show is not believed: with three rounds instead of four, the places of the numbers are not sure; with
/// none, nothing is known.
#[test]
fn without_a_trial_that_passes_less_is_told() {
    let folder = folder();
    for (rounds, fact, message) in [
        (4, "told", ""),
        (
            3,
            "names only: the self-test failed",
            "backward operators are told without their layers: the self-test failed",
        ),
        (0, "not told: the self-test failed", "operators are not told: the self-test failed"),
    ] {
        let Some(mut python) = python() else { return };
        let (program, out) = (folder.path().join("program.py"), folder.path().join(format!("{rounds}.timeline.json")));
        std::fs::write(&program, with_rounds(rounds)).expect("a script");
        let ran = run(python.args(["-m", "alloc_tracker", "--stacks", "off", "-o", text(&out), text(&program)]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
        let told: Vec<&str> = ran.stderr.lines().filter_map(|line| line.strip_prefix("alloc_tracker: ")).collect();
        assert_eq!(told, if message.is_empty() { vec![] } else { vec![message] });
        let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(timeline.run["operators"], fact);
        let [forward, backward] = match rounds {
            4 => [vec!["Linear"], vec!["Linear"]],
            // A gradient has its parameter's layer all the same, by its label.
            3 => [vec!["Linear"], vec!["", "Linear"]],
            _ => [vec![], vec![]],
        };
        assert_eq!(layers_of(&timeline, "aten::linear"), forward);
        assert_eq!(layers_of(&timeline, "AddmmBackward0"), backward);
    }
}
