//! Programs in Python that train with `torch.compile`, unchanged: regions are layers, compiling is a phase, compilers are not recorded.
use std::path::Path;

use alloc_timeline::{Category, Timeline};
use tests::{Ran, folder, requested, requested_by_layer, rows, run, tables, text};

use super::python_torch::{python, script};

/// The layer of the region, in `Net`.
const REGION: &str = "Net.compiled 0/0";
/// A batch of 16 through 64, 128 and 32 features.
const BATCH: u64 = 16;
/// Weight and bias of each layer.
const PARAMETERS: [(&str, u64); 2] = [("a", (64 * 128 + 128) * 4), ("b", (128 * 32 + 32) * 4)];
/// What the compiled forward pass leaves: what `a` and the GELU make, for the backward pass, and the result.
const KEPT: u64 = BATCH * (128 + 128 + 32) * 4;

/// Runs a script for a backend under the recorder; `None` without torch. What Inductor compiled before is not used again.
fn recorded(name: &str, backend: &str, folder: &Path) -> Option<(Ran, Timeline)> {
    let mut python = python()?;
    let out = folder.join("run.timeline.json");
    python.env("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor"));
    let ran =
        run(python.args(["-m", "alloc_tracker", "-q", "--stacks", "off", "-o", text(&out), &script(name), backend]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("alloc_tracker:"), "{}", ran.stderr);
    Some((ran, alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"))))
}

/// The three steps of `compiled.py`, by any backend.
fn check_training(backend: &str) {
    let folder = folder();
    let Some((ran, timeline)) = recorded("compiled.py", backend, folder.path()) else { return };
    if backend == "saved" {
        // What AOTAutograd's graph returns that it has made. Beside what is kept, that is the gradient's own graph's.
        assert_eq!(ran.stdout, format!("saved 3 {KEPT}\n"));
    }
    assert_eq!(timeline.steps.len(), 3);
    let parameters = PARAMETERS.map(|(layer, bytes)| (layer.to_owned(), bytes)).into();
    // Of the third step: nothing is compiled in it.
    let [.., forward] = tables(&timeline, "after forward")[..] else { panic!("no table") };
    let activations = requested_by_layer(&timeline, forward, Category::Activation);
    assert_eq!(activations.get(REGION), Some(&KEPT), "{backend}: {activations:?}");
    let regions =
        rows(&timeline, forward).filter(|(scope, row)| row.category == Category::Activation && scope.layer == REGION);
    for (scope, _) in regions {
        assert_eq!((scope.phase.as_str(), scope.op.as_str()), ("forward", "Torch-Compiled Region: 0/0"));
    }
    assert_eq!(requested_by_layer(&timeline, forward, Category::Parameter), parameters);
    assert_eq!(requested_by_layer(&timeline, forward, Category::OptimizerState), parameters);
    assert_eq!(requested(forward, Category::Input), BATCH * 64 * 4);

    let [.., backward] = tables(&timeline, "after backward")[..] else { panic!("no table") };
    assert_eq!(requested_by_layer(&timeline, backward, Category::Gradient), parameters, "{backend}");
    let mut gradients = rows(&timeline, backward).filter(|(_, row)| row.category == Category::Gradient);
    assert!(gradients.all(|(scope, _)| scope.phase == "backward"));
    // Only the result is still held, by the program's variable.
    assert_eq!(requested_by_layer(&timeline, backward, Category::Activation).get(REGION), Some(&(BATCH * 32 * 4)));
    // What compiling left: objects of Dynamo's, in no phase of the training.
    let compiling: u64 = rows(&timeline, backward)
        .filter(|(scope, _)| scope.phase == "compile" && scope.layer == REGION)
        .map(|(_, row)| row.requested_bytes)
        .sum();
    assert!(compiling > 100 << 10, "{backend}: {compiling}");
    // No module of a compiler's own is a layer.
    assert!(
        !timeline.scopes.iter().any(|scope| scope.layer.contains("GraphModule") || scope.layer.contains("_orig_mod"))
    );
    // Neither compilers nor workers: one process.
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).expect("a folder").map(|file| file.expect("a file").file_name()).collect();
    let timelines = files.iter().filter(|name| name.to_string_lossy().contains(".timeline.json"));
    assert_eq!(timelines.count(), 1, "{backend}: {files:?}");
}

#[test]
fn a_region_of_dynamos_is_a_layer() {
    check_training("eager");
}

#[test]
fn a_region_of_aot_autograds_is_a_layer_that_keeps_what_it_saves() {
    check_training("aot_eager");
    check_training("saved");
}

#[test]
fn a_region_of_inductors_is_a_layer_and_its_compilers_are_not_recorded() {
    let Some(mut python) = python() else { return };
    let headers =
        "import os, sysconfig; assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h'))";
    let has_headers = run(python.args(["-c", headers])).code == Some(0);
    if !has_headers || std::process::Command::new("c++").arg("--version").output().is_err() {
        println!("SKIPPED: Inductor needs a C++ compiler and Python's headers");
        return;
    }
    check_training("inductor");
}

/// Results, graphs, graph breaks, compilations, warnings and errors.
#[test]
fn what_dynamo_does_stays_what_it_is() {
    for backend in ["eager", "aot_eager"] {
        let folder = folder();
        let Some(mut plain) = python() else { return };
        let plain = run(plain.args([&script("compiled_unchanged.py"), backend]));
        assert_eq!(plain.code, Some(0), "{}", plain.stderr);
        let Some((ran, _)) = recorded("compiled_unchanged.py", backend, folder.path()) else { return };
        let differ = plain.stdout.lines().zip(ran.stdout.lines()).find(|(plain, recorded)| plain != recorded);
        assert_eq!(differ, None, "{backend}: plain, recorded");
        assert_eq!(plain.stdout.lines().count(), ran.stdout.lines().count());
        assert_eq!(plain.stdout.lines().count(), 14, "thirteen ways, and what the profiler sees");
    }
}
