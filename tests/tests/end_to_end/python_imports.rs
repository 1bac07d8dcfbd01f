//! What a Python program imports, told without a change to it: whose memory it is, and that the program sees nothing of it.
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use alloc_timeline::Timeline;
use tests::{folder, rows, run, text, viewer};

use super::python_api::{own_python, recorded_alone};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/python_imports");
const MIB: u64 = 1 << 20;
/// The most that a small module takes besides what it holds: its code, and what finding it needs.
const BESIDES: u64 = 128 << 10;

/// `python3` with this script, under the recorder alone; `None` when there is none. Modules that it imports may lie beside it.
fn recorded(script: &Path, folder: &Path, flags: &[&str]) -> Option<Command> {
    let mut command = recorded_alone(&own_python()?, folder, flags, text(script));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    Some(command)
}

fn timeline(folder: &Path) -> Timeline {
    alloc_timeline::load(folder.join("run.timeline.json")).unwrap_or_else(|error| panic!("{error}"))
}

/// The requested bytes at the peak, by phase and layer.
fn at_peak(timeline: &Timeline) -> BTreeMap<(&str, &str), u64> {
    let mut bytes = BTreeMap::new();
    for (scope, row) in rows(timeline, &timeline.peak) {
        *bytes.entry((scope.phase.as_str(), scope.layer.as_str())).or_default() += row.requested_bytes;
    }
    bytes
}

#[test]
fn each_import_owns_what_it_allocates() {
    imports_own_what_they_allocate("owners.py");
}

/// The library makes the methods around an import. This has the same methods in Python in their places.
#[test]
fn it_does_where_the_library_can_make_no_methods() {
    imports_own_what_they_allocate("in_python.py");
}

fn imports_own_what_they_allocate(script: &str) {
    let folder = folder();
    let Some(mut command) = recorded(&Path::new(SCRIPTS).join(script), folder.path(), &[]) else { return };
    let ran = run(&mut command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    let timeline = timeline(folder.path());
    let bytes = at_peak(&timeline);
    // Each bytearray has a byte more than it holds. A module below a package's parts is that part's.
    for (layer, held) in [
        ("import outer", 8 * MIB + 1 + MIB + 1),
        ("import outer.inner", 4 * MIB + 1 + 2 * MIB + 1),
        ("import lone", 3 * MIB + 1),
        ("import broken", 6 * MIB + 1),
        ("import aside", 9 * MIB + 1),
    ] {
        let found = bytes[&("import", layer)];
        assert!((held..held + BESIDES).contains(&found), "{layer}: {found} for {held}");
    }
    // The thread that imports one module is not the one that imports the other.
    assert!(bytes[&("import", "import waits")] < MIB, "{bytes:?}");
    // Called when its import was over, made by a thread outside of imports, and made by the script.
    let outside: u64 = bytes.iter().filter(|((phase, _), _)| *phase != "import").map(|(_, bytes)| bytes).sum();
    assert!(outside > (5 + 10 + 7) * MIB, "{bytes:?}");
    let told = viewer(&["owners", text(&folder.path().join("run.timeline.json"))]);
    assert!(told.stdout.contains("import outer.inner"), "{}", told.stdout);
}

#[test]
fn a_program_sees_nothing_of_it() {
    let Some(python) = own_python() else { return };
    let (folder, script) = (folder(), Path::new(SCRIPTS).join("seen.py"));
    let plain = run(Command::new(&python).arg(&script).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH"));
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(plain.stdout.contains("ValueError: not today"), "{}", plain.stdout);
    let ran = run(&mut recorded(&script, folder.path(), &["--quiet"]).expect("the same Python"));
    assert_eq!((ran.code, ran.stdout, ran.stderr), (plain.code, plain.stdout, plain.stderr));
}

/// The library has room for 32,639 scopes, of which imports take 2,000 layers at most.
#[test]
fn more_modules_than_there_are_layers_belong_to_their_importer() {
    let folder = folder();
    let script = folder.path().join("script.py");
    let module = |name: &str, source: &str| fs::write(folder.path().join(name), source).expect("a file");
    (0..2_000).for_each(|number| module(&format!("small_{number}.py"), ""));
    module("last.py", "kept = bytearray(2 << 20)\n");
    module("many.py", "for number in range(2000):\n    __import__(f'small_{number}')\nimport last\n");
    module("script.py", "import many\nheld = bytearray(1 << 20)\n");
    let Some(mut command) = recorded(&script, folder.path(), &[]) else { return };
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = timeline(folder.path());
    let found = at_peak(&timeline)[&("import", "import many")];
    assert!(found > 2 * MIB, "{found}");
    assert!(timeline.scopes.iter().all(|scope| scope.layer != "import last"), "beyond the layers");
    let layers = timeline.scopes.iter().filter(|scope| scope.phase == "import" && !scope.layer.is_empty()).count();
    assert!((1_900..=2_000).contains(&layers), "{layers}");
}

/// Libraries look whether torch is there before they import it. A package of that name that is none is passed over, and said.
#[test]
fn torch_is_met_also_when_the_program_looked_for_it_before() {
    let folder = folder();
    let script = folder.path().join("script.py");
    fs::create_dir(folder.path().join("torch")).expect("a folder");
    fs::write(folder.path().join("torch/__init__.py"), "import importlib\nimportlib.import_module('torch')\n")
        .expect("a file");
    fs::write(
        &script,
        "import importlib.util\nimportlib.util.find_spec('torch')\nimport torch, torch\nprint('done')\n",
    )
    .expect("a file");
    let Some(mut command) = recorded(&script, folder.path(), &["--quiet"]) else { return };
    let ran = run(&mut command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"));
    let said = "alloc_tracker: PyTorch's modules are not told: ModuleNotFoundError: No module named 'torch.optim'\n";
    assert_eq!(ran.stderr, said);
}

/// Python has its objects in arenas, which are mappings and no blocks. The account of the resident set says whose they are.
#[test]
fn pythons_arenas_are_named_in_the_account() {
    let folder = folder();
    let script = Path::new(SCRIPTS).join("objects.py");
    let Some(mut command) = recorded(&script, folder.path(), &[]) else { return };
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let dump = folder.path().join("run.dump-1.timeline.json");
    let dump = alloc_timeline::load(&dump).unwrap_or_else(|error| panic!("{error}"));
    let [.., book] = &dump.mark_books[..] else { panic!("a dump has a book: {:?}", dump.marks) };
    let line = book.book.lines.iter().find(|line| line.name == "Python's arenas").expect("the line");
    let part = line.parts.iter().find(|part| part.name == "objects");
    let bytes = part.unwrap_or_else(|| panic!("{line:?}")).bytes;
    // Pools of 4 or 16 KiB have a head of 48 bytes: at most 1.3 % more than a million objects of 16 bytes. Up to four MiB of them found
    // room in arenas that were there, and the last arena of at most 1 MiB has room left.
    assert!((12_000_000..16_300_000 + (1 << 20)).contains(&bytes), "{bytes}");
}
