//! Programs in C and C++ that name their layers and phases with `alloc_tracker.h`: plainly, under `alloc-tracker record`, and
//! linked with the library. The programs are the examples.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use alloc_timeline::{Category, Ending, Timeline};
use tests::{Ran, binary, folder, requested, requested_by_layer, rows, run, tables, text};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../alloc-tracker/c/examples");
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// What the C library allocates for the program, such as the buffer of stdout.
const SMALL: u64 = 128 * KIB;

/// Compiles an example with the header that `alloc-tracker header` prints; `None` when there is no compiler.
fn example(folder: &Path, name: &str, options: &[&str]) -> Option<PathBuf> {
    let header = run(Command::new(binary("alloc-tracker")).arg("header"));
    assert_eq!((header.code, header.stderr.as_str()), (Some(0), ""));
    fs::write(folder.join("alloc_tracker.h"), header.stdout).expect("a file");
    let (compiler, standard) = if name.ends_with(".cpp") { ("c++", "-std=c++11") } else { ("cc", "-std=c11") };
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    command
        .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-I"])
        .arg(folder)
        .arg("-o")
        .arg(&program);
    command.arg(Path::new(EXAMPLES).join(name)).args(options).arg("-ldl");
    let Ok(output) = command.output() else {
        println!("SKIPPED: there is no {compiler} on this machine");
        return None;
    };
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// Runs a program under `record`, every block followed, and returns its timeline.
fn recorded(folder: &Path, program: &Path) -> (Ran, Timeline) {
    let out = folder.join("run.timeline.json");
    let mut record = Command::new(binary("alloc-tracker"));
    record.args(["record", "--exact", "-o", text(&out), "--", text(program)]);
    let ran = run(record.env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (ran, alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn without_the_library_nothing_happens() {
    let folder = folder();
    for (name, said) in [("graph.c", "token 0: 9\ntoken 1: 9\ntoken 2: 9\n"), ("train.cpp", "recorded: 0\n")] {
        // Executables that the loader places, and such as it does not.
        for options in [&[][..], &["-no-pie", "-fno-pie"]] {
            let Some(program) = example(folder.path(), name, options) else { return };
            let ran = run(Command::new(program).arg(folder.path().join("none.timeline.json")));
            assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), said, ""), "{name}");
            assert!(!folder.path().join("none.timeline.json").exists());
        }
    }
}

#[test]
fn an_interpreter_in_c_is_told_by_node() {
    let folder = folder();
    let Some(program) = example(folder.path(), "graph.c", &["-no-pie", "-fno-pie"]) else { return };
    let (ran, timeline) = recorded(folder.path(), &program);
    assert_eq!(ran.stdout, "token 0: 9\ntoken 1: 9\ntoken 2: 9\n");
    assert_eq!(timeline.run["model"], "graph");
    // Weights, the input and the output of a node, and its workspace, as the example says.
    let peak = &timeline.peak;
    assert!((7 * MIB..7 * MIB + SMALL).contains(&peak.requested_bytes), "{}", peak.requested_bytes);
    let weights = requested_by_layer(&timeline, peak, Category::Parameter);
    assert_eq!(
        weights,
        ["blk.0.attn", "blk.0.ffn", "blk.1.attn", "blk.1.ffn"].map(|name| (name.to_owned(), MIB)).into()
    );
    assert_eq!(requested(peak, Category::Input) + requested(peak, Category::Activation), MIB);
    assert_eq!(requested(peak, Category::Workspace), 2 * MIB);
    let mut running =
        rows(&timeline, peak).filter(|(scope, row)| scope.phase == "infer" && row.category == Category::Workspace);
    assert!(running.all(|(scope, _)| scope.op == "MUL_MAT" && weights.contains_key(&scope.layer)));
    let [loaded] = tables(&timeline, "loaded")[..] else { panic!("one mark: {:?}", timeline.marks) };
    assert_eq!(requested_by_layer(&timeline, loaded, Category::Parameter).len(), 4);
    // All workspaces were freed in the call that allocated them.
    let analysis = timeline.analysis.as_ref().expect("an exact recording follows blocks");
    let workspace =
        analysis.flows.iter().filter(|flow| flow.category == Category::Workspace && flow.usable_bytes >= MIB);
    assert_eq!(workspace.map(|flow| (flow.usable_bytes, flow.blocks)).fold((0, 0), add), (12 * 2 * MIB, 12));
}

fn add(sum: (u64, u64), one: (u64, u64)) -> (u64, u64) {
    (sum.0 + one.0, sum.1 + one.1)
}

/// The peak, the steps and the scopes of the example in C++.
fn check_training(timeline: &Timeline) {
    // Parameters, momentum and activations of both layers, and the gradient of the second, which comes first.
    let categories = [Category::Parameter, Category::OptimizerState, Category::Activation, Category::Gradient];
    let peak = &timeline.peak;
    assert_eq!(categories.map(|category| requested(peak, category)), [3 * MIB, 3 * MIB, 3 * MIB, 2 * MIB]);
    assert_eq!(requested_by_layer(timeline, peak, Category::Gradient), [("fc2".to_owned(), 2 * MIB)].into());
    let mut gradients = rows(timeline, peak).filter(|(_, row)| row.category == Category::Gradient);
    assert!(gradients.all(|(scope, _)| scope.phase == "backward"));
    assert_eq!(timeline.steps.len(), 3);
    // What the exception left, it left in no scope.
    let [failed] = tables(timeline, "on purpose")[..] else { panic!("one mark: {:?}", timeline.marks) };
    let of_failing: Vec<_> = rows(timeline, failed).filter(|(scope, _)| scope.layer == "none").collect();
    assert!(of_failing.iter().all(|(_, row)| row.requested_bytes < 4 * KIB), "the exception alone: {of_failing:?}");
    assert_eq!(requested(failed, Category::OptimizerState), 3 * MIB);
}

#[test]
fn a_loop_in_c_plus_plus_is_told_by_layer_and_phase() {
    let folder = folder();
    let Some(program) = example(folder.path(), "train.cpp", &[]) else { return };
    let (ran, timeline) = recorded(folder.path(), &program);
    assert_eq!(ran.stdout, "recorded: 1\n");
    check_training(&timeline);
    assert_eq!(timeline.ending, Ending::Exit);
}

#[test]
fn a_program_that_is_linked_records_itself() {
    let folder = folder();
    let library = binary("alloc-tracker").with_file_name("liballoc_preload.so");
    assert!(library.exists(), "build it with: cargo build --release -p alloc-preload");
    let Some(program) = example(folder.path(), "train.cpp", &["-Wl,--no-as-needed", text(&library)]) else { return };
    let out = folder.path().join("own.timeline.json");
    let mut command = Command::new(program);
    command.arg(&out).env("ALLOC_TRACKER", "exact").env_remove("ALLOC_TRACKER_STACKS");
    let ran = run(command.env("LD_LIBRARY_PATH", library.parent().expect("a folder")));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "recorded: 1\n"), "{}", ran.stderr);
    let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
    check_training(&timeline);
    assert_eq!(timeline.ending, Ending::Finished);
}
