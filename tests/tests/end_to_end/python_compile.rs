//! Programs in Python that train with `torch.compile`, unchanged: regions are layers, compiling is a phase, compilers are not recorded.
use std::collections::BTreeMap;
use std::path::Path;

use alloc_timeline::{Category, Timeline};
use tests::{Ran, folder, requested, requested_by_layer, rows, run, tables, text};

use super::python_torch::{python, script};

/// A batch of 16 through 64, 128 and 32 features.
const BATCH: u64 = 16;
/// Weight and bias of each layer.
const PARAMETERS: [(&str, u64); 2] = [("a", (64 * 128 + 128) * 4), ("b", (128 * 32 + 32) * 4)];
/// What the compiled forward pass leaves: what `a` and the GELU make, for the backward pass, and the result.
const KEPT: [(&str, u64); 3] = [("a", BATCH * 128 * 4), ("act", BATCH * 128 * 4), ("b", BATCH * 32 * 4)];

/// Runs a script with these words under the recorder; `None` without torch. What Inductor compiled outside of the folder is not used.
fn recorded(name: &str, words: &[&str], folder: &Path) -> Option<(Ran, Timeline)> {
    let (ran, timeline) = recorded_aloud(name, words, folder)?;
    assert!(!ran.stderr.contains("alloc_tracker:"), "{}", ran.stderr);
    Some((ran, timeline))
}

/// The same for a script of which something is said on standard error.
fn recorded_aloud(name: &str, words: &[&str], folder: &Path) -> Option<(Ran, Timeline)> {
    let mut python = python()?;
    let out = folder.join("run.timeline.json");
    // Up to PyTorch 2.4 Inductor takes code from its cache only where this says so.
    python.env("TORCHINDUCTOR_CACHE_DIR", folder.join("inductor")).env("TORCHINDUCTOR_FX_GRAPH_CACHE", "1");
    let ran =
        run(python.args(["-m", "alloc_tracker", "-q", "--stacks", "off", "-o", text(&out), &script(name)]).args(words));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    Some((ran, alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"))))
}

/// The first two numbers of PyTorch's version.
fn version(timeline: &Timeline) -> (u32, u32) {
    let version = timeline.run["torch"].as_str().expect("a text");
    let mut parts = version.split('.').map(|part| part.parse().expect("a number"));
    (parts.next().expect("2"), parts.next().expect("a minor version"))
}

/// The number of the first region, as names have it: none up to PyTorch 2.5.
fn number(timeline: &Timeline) -> &'static str {
    if version(timeline) < (2, 6) { "" } else { " 0/0" }
}

/// The layer of the region, in `Net`.
fn region(timeline: &Timeline) -> String {
    format!("Net.compiled{}", number(timeline))
}

/// Bytes by layer.
fn by_layer(layers: &[(&str, u64)]) -> BTreeMap<String, u64> {
    layers.iter().map(|&(layer, bytes)| (layer.to_owned(), bytes)).collect()
}

/// The three steps of `compiled.py`, by any backend, in a folder where Inductor keeps what it has compiled.
fn check_training(backend: &str, folder: &Path) {
    let Some((ran, timeline)) = recorded("compiled.py", &[backend], folder) else { return };
    let kept: u64 = KEPT.iter().map(|(_, bytes)| bytes).sum();
    let region = region(&timeline);
    if backend == "saved" {
        // What AOTAutograd's graph returns that it has made. Beside what is kept, that is the gradient's own graph's.
        assert_eq!(ran.stdout, format!("saved 3 {kept}\n"));
    }
    // The code that Inductor writes tells which module of the region it is in, and a graph that calls modules does.
    let calls_modules = backend == "modules" || backend == "eager" && version(&timeline) < (2, 5);
    let (after_forward, after_backward) = if backend == "inductor" || calls_modules {
        (by_layer(&KEPT), by_layer(&KEPT[2..]))
    } else {
        (by_layer(&[(&region, kept)]), by_layer(&[(&region, KEPT[2].1)]))
    };
    assert_eq!(timeline.steps.len(), 3);
    let parameters = PARAMETERS.map(|(layer, bytes)| (layer.to_owned(), bytes)).into();
    // Of the third step: nothing is compiled in it.
    let [.., forward] = tables(&timeline, "after forward")[..] else { panic!("no table") };
    let activations = requested_by_layer(&timeline, forward, Category::Activation);
    assert_eq!(activations, after_forward, "{backend}");
    for (scope, _) in rows(&timeline, forward).filter(|(_, row)| row.category == Category::Activation) {
        let number = number(&timeline).replace(' ', ": ");
        assert_eq!((scope.phase.as_str(), &scope.op), ("forward", &format!("Torch-Compiled Region{number}")));
    }
    assert_eq!(requested_by_layer(&timeline, forward, Category::Parameter), parameters);
    assert_eq!(requested_by_layer(&timeline, forward, Category::OptimizerState), parameters);
    assert_eq!(requested(forward, Category::Input), BATCH * 64 * 4);

    let [.., backward] = tables(&timeline, "after backward")[..] else { panic!("no table") };
    assert_eq!(requested_by_layer(&timeline, backward, Category::Gradient), parameters, "{backend}");
    let mut gradients = rows(&timeline, backward).filter(|(_, row)| row.category == Category::Gradient);
    assert!(gradients.all(|(scope, _)| scope.phase == "backward"));
    // Only the result is still held, by the program's variable.
    assert_eq!(requested_by_layer(&timeline, backward, Category::Activation), after_backward, "{backend}");
    // What compiling left: objects of Dynamo's and Inductor's, in no phase of the training.
    let compiling: u64 = rows(&timeline, backward)
        .filter(|(scope, _)| scope.phase == "compile" && scope.layer == region)
        .map(|(_, row)| row.requested_bytes)
        .sum();
    assert!(compiling > 100 << 10, "{backend}: {compiling}");
    // No module of a compiler's own is a layer.
    assert!(
        !timeline.scopes.iter().any(|scope| scope.layer.contains("GraphModule") || scope.layer.contains("_orig_mod"))
    );
    // Neither compilers nor workers: one process.
    let files: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name()).collect();
    let timelines = files.iter().filter(|name| name.to_string_lossy().contains(".timeline.json"));
    assert_eq!(timelines.count(), 1, "{backend}: {files:?}");
}

#[test]
fn a_region_of_dynamos_is_a_layer() {
    check_training("eager", folder().path());
}

#[test]
fn modules_that_a_graph_calls_are_layers() {
    check_training("modules", folder().path());
}

#[test]
fn a_region_of_aot_autograds_is_a_layer_that_keeps_what_it_saves() {
    check_training("aot_eager", folder().path());
    check_training("saved", folder().path());
}

/// Whether Inductor can compile here; else a line says that something is skipped.
fn has_inductor() -> bool {
    let Some(mut python) = python() else { return false };
    let headers =
        "import os, sysconfig; assert os.path.exists(os.path.join(sysconfig.get_path('include'), 'Python.h'))";
    let has_headers = run(python.args(["-c", headers])).code == Some(0);
    let has = has_headers && std::process::Command::new("c++").arg("--version").output().is_ok();
    if !has {
        println!("SKIPPED: Inductor needs a C++ compiler and Python's headers");
    }
    has
}

#[test]
fn code_of_inductors_has_the_layers_of_its_modules_and_its_compilers_are_not_recorded() {
    if !has_inductor() {
        return;
    }
    let folder = folder();
    check_training("inductor", folder.path());
    // Now from Inductor's cache.
    check_training("inductor", folder.path());
}

/// Code in Inductor's cache that has no file of paths beside it, as a run without the recorder leaves it, is its region's, and the user reads
/// what to do.
#[test]
fn code_that_was_compiled_without_the_recorder_is_its_regions() {
    if !has_inductor() {
        return;
    }
    let folder = folder();
    if recorded("compiled.py", &["inductor"], folder.path()).is_none() {
        return;
    }
    // The forward and the backward graph.
    assert_eq!(remove_paths(&folder.path().join("inductor")), 2);
    let Some((ran, timeline)) = recorded_aloud("compiled.py", &["inductor"], folder.path()) else { return };
    let said: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("alloc_tracker:")).collect();
    assert!(said.len() == 1 && said[0].contains("TORCHINDUCTOR_CACHE_DIR"), "{}", ran.stderr);
    let [.., forward] = tables(&timeline, "after forward")[..] else { panic!("no table") };
    let kept = KEPT.iter().map(|(_, bytes)| bytes).sum();
    assert_eq!(requested_by_layer(&timeline, forward, Category::Activation), by_layer(&[(&region(&timeline), kept)]));
}

/// Removes the recorder's files from Inductor's cache; returns how many there were.
fn remove_paths(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let removed = entries.map(|path| {
        if path.is_dir() {
            return remove_paths(&path);
        }
        let is_ours = path.to_string_lossy().ends_with(".alloc_tracker.json");
        if is_ours {
            std::fs::remove_file(&path).expect("a file of the recorder's");
        }
        usize::from(is_ours)
    });
    removed.sum()
}

/// Results, graphs, graph breaks, compilations, warnings and errors.
#[test]
fn what_dynamo_does_stays_what_it_is() {
    for backend in ["eager", "aot_eager"] {
        let folder = folder();
        let Some(mut plain) = python() else { return };
        let plain = run(plain.args([&script("compiled_unchanged.py"), backend]));
        assert_eq!(plain.code, Some(0), "{}", plain.stderr);
        let Some((ran, _)) = recorded("compiled_unchanged.py", &[backend], folder.path()) else { return };
        let differ = plain.stdout.lines().zip(ran.stdout.lines()).find(|(plain, recorded)| plain != recorded);
        assert_eq!(differ, None, "{backend}: plain, recorded");
        assert_eq!(plain.stdout.lines().count(), ran.stdout.lines().count());
        assert_eq!(plain.stdout.lines().count(), 14, "thirteen ways, and what the profiler sees");
    }
}

/// Blocks that share one code, which are compiled one by one, and a function that calls the network. All bytes are a module's that has parameters, or the
/// region's. In the function, they are so from the second step on.
#[test]
fn blocks_and_functions_have_the_layers_of_their_modules() {
    if !has_inductor() {
        return;
    }
    let norm_up_down = |block| {
        let bytes = [("norm", 2 * 64 * 4), ("up", (64 * 256 + 256) * 4), ("down", (256 * 64 + 64) * 4)];
        bytes.map(|(part, bytes)| (format!("blocks.{block}.{part}"), bytes))
    };
    let mut gradients: BTreeMap<String, u64> = (0..3).flat_map(norm_up_down).collect();
    gradients.insert("head".to_owned(), (64 * 4 + 4) * 4);
    for (way, words) in [("blocks", &[][..]), ("function", &[]), ("function", &["modules"])] {
        let folder = folder();
        let words: Vec<&str> = [way, "inductor"].iter().chain(words).copied().collect();
        let Some((_, timeline)) = recorded("compiled_in_ways.py", &words, folder.path()) else { return };
        let [.., backward] = tables(&timeline, "after backward")[..] else { panic!("no table") };
        assert_eq!(requested_by_layer(&timeline, backward, Category::Gradient), gradients, "{way}");
        let [.., forward] = tables(&timeline, "after forward")[..] else { panic!("no table") };
        let activations = requested_by_layer(&timeline, forward, Category::Activation);
        for block in 0..3 {
            // What the ReLU makes takes the place of what `up` has made.
            assert_eq!(activations.get(&format!("blocks.{block}.up")), Some(&(32 * 256 * 4)), "{way}: {activations:?}");
            let norm = activations.get(&format!("blocks.{block}.norm"));
            assert!(norm.is_some_and(|&bytes| bytes >= 32 * 64 * 4), "{way}: {activations:?}");
        }
        assert_eq!(activations.get("head"), Some(&(32 * 4 * 4)), "{way}");
    }
}

/// The loss, and how many graphs are made, where these are the first that the program has compiled.
#[test]
fn whatever_is_compiled_first() {
    for way in ["blocks", "itself", "function"] {
        let folder = folder();
        let Some(mut plain) = python() else { return };
        let plain = run(plain.args([&script("compiled_in_ways.py"), way, "eager"]));
        assert_eq!(plain.code, Some(0), "{way}: {}", plain.stderr);
        let Some((ran, _)) = recorded("compiled_in_ways.py", &[way, "eager"], folder.path()) else { return };
        assert_eq!(ran.stdout, plain.stdout, "{way}");
    }
}
