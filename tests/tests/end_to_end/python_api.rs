//! The Python package: a script that names its layers, run plainly and by `python -m alloc_tracker`.
use std::fs;
use std::path::Path;
use std::process::Command;

use alloc_timeline::{Category, Timeline};
use tests::{Ran, binary, folder, requested, requested_by_layer, rows, run, tables, text};

use super::python_torch::with_package;

const MIB: u64 = 1 << 20;

/// What a bytearray of a MiB takes: a byte more than it holds and, from Python 3.15 on, the 32 bytes that a `bytes` begins with.
fn held() -> u64 {
    let asked = run(Command::new("python3").args(["-c", "import sys; print(sys.version_info >= (3, 15))"]));
    MIB + if asked.stdout == "True\n" { 33 } else { 1 }
}

const SCRIPT: &str = r#"
import threading
import alloc_tracker
from alloc_tracker import Category, label, layer, op, phase, step

MIB = 1 << 20
print("recording", alloc_tracker.is_recording())
alloc_tracker.fact("model", "script")
with phase("init"), layer("fc1"):
    weights = bytearray(MIB)
print("labelled", label(weights, Category.PARAMETER))
unowned = bytearray(MIB)
print("labelled", label(unowned, Category.BUFFER, "fc2"))
try:
    label(b"cannot be written to" * 10, Category.INPUT)
except TypeError:
    print("refused")

@phase("data")
def load(blocks):
    block = bytearray(MIB)
    return [block] + (load(blocks - 1) if blocks > 1 else [])

held = []
def work(name):
    with phase("forward"), layer(name), layer("inner"):
        held.append(bytearray(MIB))

encoder = layer("encoder")
for _ in range(2):
    with step():
        batch = load(3)
        with phase("forward"), encoder, encoder, op("matmul"), op("within"):
            bytearray(8 * MIB)
        del batch
threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
for thread in threads: thread.start()
for thread in threads: thread.join()
try:
    with phase("failing"), layer("none"):
        raise ValueError
except ValueError:
    pass
after = bytearray(MIB)
alloc_tracker.mark("a mark")
alloc_tracker.snapshot("the end")
print("dumped", alloc_tracker.dump())
print(repr(encoder))
"#;

/// The `python3` of this machine. What stands in PATH may be a script that looks for it.
pub fn own_python() -> Option<String> {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let Some(asked) = asked.ok().filter(|asked| asked.status.success()) else {
        println!("SKIPPED: there is no python3 on this machine");
        return None;
    };
    Some(String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}

/// `python3` with the package; `None` when there is none.
fn python() -> Option<Command> {
    own_python().map(|python| with_package(&python))
}

fn script(folder: &Path) -> String {
    let path = folder.join("script.py");
    fs::write(&path, SCRIPT).expect("a file");
    text(&path).to_owned()
}

fn load(path: &Path, ran: &Ran) -> Timeline {
    alloc_timeline::load(path).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr))
}

#[test]
fn without_the_recorder_nothing_happens() {
    let folder = folder();
    let Some(mut python) = python() else { return };
    let ran = run(python.arg(script(folder.path())).current_dir(folder.path()));
    let said = "recording False\nlabelled False\nlabelled False\ndumped False\nalloc_tracker.layer('encoder')\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), said, ""));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1, "the script alone");
}

#[test]
fn a_script_is_told_by_layer_phase_and_operator() {
    let folder = folder();
    let Some(mut python) = python() else { return };
    let out = folder.path().join("run.timeline.json");
    python.args(["-m", "alloc_tracker", "--exact", "-o", text(&out), &script(folder.path())]);
    let ran = run(&mut python);
    let said = "recording True\nlabelled True\nlabelled True\nrefused\ndumped True\nalloc_tracker.layer('encoder')\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), said), "{}", ran.stderr);
    let timeline = load(&out, &ran);
    assert_eq!(timeline.run["model"], "script");
    assert_eq!(timeline.steps.len(), 2);
    assert!(timeline.marks.iter().any(|mark| mark.name == "a mark"));
    assert!(folder.path().join("run.dump-1.timeline.json").exists());

    let [end] = tables(&timeline, "the end")[..] else { panic!("one mark: {:?}", timeline.marks) };
    let held = held();
    assert_eq!(requested_by_layer(&timeline, end, Category::Parameter), [("fc1".to_owned(), held)].into());
    assert_eq!(requested_by_layer(&timeline, end, Category::Buffer), [("fc2".to_owned(), held)].into());
    let of = |phase: &str, layer: &str| {
        let found = rows(&timeline, end)
            .filter(|(scope, row)| scope.phase == phase && scope.layer == layer && row.category == Category::Other);
        found.map(|(_, row)| row.requested_bytes).sum::<u64>()
    };
    // The threads' own blocks, and little beside; what was made after the scopes is in none.
    for layer in ["a.inner", "b.inner"] {
        assert!((held..held + (16 << 10)).contains(&of("forward", layer)), "{layer}: {}", of("forward", layer));
    }
    assert!(of("", "") >= held && of("failing", "none") < 16 << 10, "{} {}", of("", ""), of("failing", "none"));

    // At the peak: the batch of three, which the decorated function made, and the block of the operator, which is workspace.
    let peak = &timeline.peak;
    let data = rows(&timeline, peak).filter(|(scope, _)| scope.phase == "data").map(|(_, row)| row.requested_bytes);
    assert!((3 * held..3 * held + (64 << 10)).contains(&data.sum()));
    let by_op = rows(&timeline, peak).filter(|(_, row)| row.category == Category::Workspace);
    let by_op: Vec<_> =
        by_op.map(|(scope, row)| (&*scope.phase, &*scope.layer, &*scope.op, row.requested_bytes)).collect();
    assert!(by_op.contains(&("forward", "encoder.encoder", "matmul", 7 * MIB + held)), "{by_op:?}");
    assert!(requested(peak, Category::Workspace) < 9 * MIB);
}

/// `alloc-tracker record [FLAGS] -- PYTHON SCRIPT`, without a package, and with folders of its own in `folder`.
pub fn recorded_alone(python: &str, folder: &Path, flags: &[&str], script: &str) -> Command {
    let mut command = Command::new(binary("alloc-tracker"));
    command.args(["record", "--exact", "-o", text(&folder.join("run.timeline.json"))]).args(flags);
    command.args(["--", python, script]).env("XDG_CACHE_HOME", folder.join("cache")).env_remove("PYTHONPATH");
    command.env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS");
    command
}

#[test]
fn the_recorder_alone_is_enough() {
    let Some(python) = own_python() else { return };
    let folder = folder();
    let ran = run(&mut recorded_alone(&python, folder.path(), &[], &script(folder.path())));
    let said = "recording True\nlabelled True\nlabelled True\nrefused\ndumped True\nalloc_tracker.layer('encoder')\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), said), "{}", ran.stderr);
    let timeline = load(&folder.path().join("run.timeline.json"), &ran);
    let [end] = tables(&timeline, "the end")[..] else { panic!("one mark: {:?}", timeline.marks) };
    let held = held();
    assert_eq!(requested_by_layer(&timeline, end, Category::Parameter), [("fc1".to_owned(), held)].into());
}

#[test]
fn a_program_sees_its_own_path_and_the_users_sitecustomize() {
    let Some(python) = own_python() else { return };
    let folder = folder();
    let path = folder.path().join("script.py");
    let seen = "import sys\nprint(sys.path, sys.modules['sitecustomize'].__file__, 'alloc_tracker' in sys.modules)\n";
    fs::write(&path, seen).expect("a file");
    fs::write(folder.path().join("sitecustomize.py"), "print('the user\\'s')\n").expect("a file");
    let printed = |command: &mut Command| {
        let ran = run(command.env("PYTHONPATH", folder.path()).env("PYTHONDONTWRITEBYTECODE", "1"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    };
    let plain = printed(Command::new(&python).arg(&path));
    assert!(plain.starts_with("the user's\n") && plain.ends_with("False\n"), "{plain}");
    assert_eq!(printed(&mut recorded_alone(&python, folder.path(), &["--no-python"], text(&path))), plain);
    let watched = printed(&mut recorded_alone(&python, folder.path(), &[], text(&path)));
    assert_eq!(watched, plain.replace("False\n", "True\n"));
}

/// 100,000 objects of 16 bytes, and the list of their addresses. Python's own arenas are mappings, which belong to no layer.
#[test]
fn small_objects_belong_to_layers_when_asked_for() {
    let Some(python) = own_python() else { return };
    let folder = folder();
    let path = folder.path().join("script.py");
    let program = "import alloc_tracker\nwith alloc_tracker.layer('objects'):\n    held = [object() for _ in range(100000)]\n\
                   alloc_tracker.snapshot('the end')\n";
    fs::write(&path, program).expect("a file");
    let of_layer = |flags: &[&str]| {
        let ran = run(&mut recorded_alone(&python, folder.path(), flags, text(&path)));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let timeline = load(&folder.path().join("run.timeline.json"), &ran);
        let [end] = tables(&timeline, "the end")[..] else { panic!("one mark: {:?}", timeline.marks) };
        requested_by_layer(&timeline, end, Category::Other)["objects"]
    };
    let (own, all) = (of_layer(&[]), of_layer(&["--python-objects"]));
    // Python's map of its arenas (Objects/obmalloc.c, `arena_map_bot_t`) takes a node of 128 KiB more where the kernel puts an arena far from others.
    let list = if own >= 900_000 { own - (128 << 10) } else { own };
    assert!((800_000..900_000).contains(&list), "{own}");
    assert!((list + 1_600_000..list + 1_700_000).contains(&all), "{list} {all}");
}

/// The program has the interpreter's options that were typed before `-m`.
#[test]
fn options_of_the_interpreter_are_passed_on() {
    let folder = folder();
    let Some(mut python) = python() else { return };
    let script = folder.path().join("options.py");
    fs::write(&script, "import sys\nprint(sys.flags.optimize, sys.flags.dont_write_bytecode, sys.argv)\n")
        .expect("a file");
    let out = folder.path().join("run.timeline.json");
    python.env_remove("PYTHONDONTWRITEBYTECODE");
    python.args(["-OO", "-B", "-m", "alloc_tracker", "--stacks", "off", "-o", text(&out), text(&script), "-m", "x"]);
    let ran = run(&mut python);
    assert_eq!(ran.stdout, format!("2 1 ['{}', '-m', 'x']\n", script.display()), "{}", ran.stderr);
}

#[test]
fn what_cannot_be_run_is_said() {
    let Some(mut python) = python() else { return };
    let ran = run(python.args(["-m", "alloc_tracker", "--exact"]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.starts_with("usage: python -m alloc_tracker"), "{}", ran.stderr);
}
