//! However Python is started, a program is the same under `alloc-tracker record` as without: its options, where the program comes from, and
//! what the user has it run before. Each runs plainly beside it, by `python3` and by each Python that `ALLOC_TRACKER_TEST_PYTHONS` names.
use std::process::Command;

use alloc_timeline::Ending;
use tests::{Ran, binary, folder, run, text};

use super::beside::{Program, program, pythons};
use super::python_api::own_python;
use super::python_survival::script;

/// A module that the user has Python run before each program.
const SAYS: &str =
    "import sys\nprint('runs', __name__, __spec__.name, __file__ == __spec__.origin, sorted(vars()))\nNAME = 'kept'\n";

/// What Python is told by its options, of which the first is none.
const OPTIONS: &str =
    ",-I,-S,-E,-B,-s,-I -S,-O,-OO,-b,-bb,-u,-q,-W error,-W always,-X dev,-X utf8,-X faulthandler,-X tracemalloc=3";

/// Runs it; one process, which must end by itself with this code.
fn one(program: &Program, code: i32) -> Ran {
    let (plain, endings) = program.runs_the_same();
    assert_eq!((plain.code, &endings[..]), (Some(code), &[Ending::Exit][..]), "{}{}", plain.stdout, plain.stderr);
    plain
}

/// What a program sees of itself: its flags, path, modules, signals, threads, descriptors and limits.
#[test]
fn options() {
    let sees = script("sees.py");
    for python in pythons() {
        for options in OPTIONS.split(',') {
            let words: Vec<&str> = options.split_whitespace().chain([sees.as_str(), "a word"]).collect();
            let plain = one(&program(&python, &words), 0);
            assert!(plain.stdout.contains("\nsignals [('SIGHUP', "), "{}", plain.stdout);
        }
    }
}

#[test]
fn a_program_on_standard_input() {
    for python in pythons() {
        let plain = one(&program(&python, &[]).reads("print('read', __name__)\nraise SystemExit(3)\n"), 3);
        assert_eq!(plain.stdout, "read __main__\n");
        let plain =
            one(&program(&python, &["-", "a word"]).reads("import sys\nprint(sys.argv)\nraise ValueError('no')\n"), 1);
        assert!(plain.stdout == "['-', 'a word']\n" && plain.stderr.ends_with("ValueError: no\n"), "{plain:?}");
        let plain = one(&program(&python, &["-i", "-q", "-c", "value = 7"]).reads("value * 6\nno_such_name\n"), 0);
        assert!(plain.stdout == "42\n" && plain.stderr.contains("NameError"), "{plain:?}");
        let input = "program = input()\nwhile True:\n    print(input(program))\n";
        let plain = one(&program(&python, &["-c", input]).reads("prompt\nfirst\nsecond\n"), 1);
        assert!(plain.stdout.contains("promptsecond\n") && plain.stderr.contains("EOFError"), "{plain:?}");
    }
}

#[test]
fn a_program_in_the_command() {
    for python in pythons() {
        let plain =
            one(&program(&python, &["-c", "import sys\nprint(__name__, sys.argv, sys.path[0])\n1 / 0", "-I"]), 1);
        assert!(plain.stdout == "__main__ ['-c', '-I'] \n" && plain.stderr.contains("ZeroDivisionError"), "{plain:?}");
    }
}

#[test]
fn a_module_as_a_program() {
    let source = "import sys\nfrom . import value\nprint(__name__, __package__, __spec__.name, sys.argv[1:], value)\nsys.exit(value)\n";
    for python in pythons() {
        let named = program(&python, &["-m", "tool", "a word"]).beside("tool/__init__.py", "value = 6\n");
        let plain = one(&named.beside("tool/__main__.py", source), 6);
        assert_eq!(plain.stdout, "__main__ tool tool.__main__ ['a word'] 6\n");
        let plain =
            one(&program(&python, &["-m", "alone"]).beside("alone.py", "print(__name__, __spec__.name)\n{}[1]\n"), 1);
        assert!(plain.stdout == "__main__ alone\n" && plain.stderr.contains("KeyError: 1"), "{plain:?}");
        let plain = one(&program(&python, &["-m", "no_such_module"]), 1);
        assert!(plain.stderr.contains("No module named no_such_module"), "{plain:?}");
    }
}

#[test]
fn a_folder_and_an_archive_as_a_program() {
    let source = "import other, sys\nprint(__name__, other.__name__, len(sys.argv))\nsys.exit(other.code)\n";
    for python in pythons() {
        let folder = program(&python, &["app"]).beside("app/__main__.py", source).beside("app/other.py", "code = 8\n");
        assert_eq!(one(&folder, 8).stdout, "__main__ other 1\n");
        let archive =
            program(&python, &["app.pyz"]).beside("app/__main__.py", source).beside("app/other.py", "code = 9\n");
        let packed = run(Command::new(&python).args(["-m", "zipapp", "app"]).current_dir(archive.work()));
        assert_eq!(packed.code, Some(0), "{}", packed.stderr);
        assert_eq!(one(&archive, 9).stdout, "__main__ other 1\n");
    }
}

#[test]
fn a_virtual_environment() {
    for python in pythons() {
        let folder = tests::folder();
        let made = run(Command::new(&python).args(["-m", "venv", "--without-pip", text(folder.path())]));
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        let own = folder.path().join("bin/python");
        let plain = one(&program(text(&own), &[&script("sees.py")]), 0);
        assert!(plain.stdout.contains(text(folder.path())), "{}", plain.stdout);
    }
}

/// The folder in which Python looks for the user's own modules, below a base that the test sets.
fn users(program: Program, python: &str) -> (Program, String) {
    let base = program.work().join("base");
    let program = program.with("PYTHONUSERBASE", text(&base));
    let ask = run(Command::new(python)
        .args(["-c", "import site; print(site.getusersitepackages())"])
        .env("PYTHONUSERBASE", &base));
    let folder = ask.stdout.trim().strip_prefix(text(&program.work())).expect("a folder below the base");
    (program, folder.trim_start_matches('/').to_owned())
}

#[test]
fn the_users_sitecustomize() {
    const LOOKS: &str = "import sitecustomize, sys; print(sitecustomize.NAME, sys.modules['sitecustomize'].__file__)";
    for python in pythons() {
        let program = program(&python, &["-c", LOOKS]);
        let path = text(&program.work().join("first")).to_owned();
        let plain = one(&program.with("PYTHONPATH", &path).beside("first/sitecustomize.py", SAYS), 0);
        assert!(plain.stdout.starts_with("runs sitecustomize sitecustomize True "), "{plain:?}");
    }
}

#[test]
fn no_sitecustomize() {
    for python in pythons() {
        let plain = one(
            &program(&python, &["-c", "import sys; print('sitecustomize' in sys.modules); import sitecustomize"]),
            1,
        );
        assert!(plain.stdout == "False\n" && plain.stderr.contains("No module named 'sitecustomize'"), "{plain:?}");
    }
}

/// What it raises is said in two lines, by Python, and the program runs.
#[test]
fn a_sitecustomize_that_fails() {
    for source in ["print('begins')\nraise ValueError('not today')\n", "import no_such_module\n", "this is no Python\n"]
    {
        for python in pythons() {
            let program = program(&python, &["-c", "import sys; print('sitecustomize' in sys.modules)"]);
            let path = text(&program.work().join("first")).to_owned();
            let plain = one(&program.with("PYTHONPATH", &path).beside("first/sitecustomize.py", source), 0);
            assert!(
                plain.stdout.ends_with("False\n") && plain.stderr.starts_with("Error in sitecustomize"),
                "{plain:?}"
            );
        }
    }
}

#[test]
fn the_users_usercustomize() {
    for python in pythons() {
        let program = program(&python, &["-c", "import sys; print(sys.modules['usercustomize'].NAME)"]);
        let (program, folder) = users(program, &python);
        let path = text(&program.work().join("first")).to_owned();
        let program = program.with("PYTHONPATH", &path).beside("first/sitecustomize.py", SAYS);
        let plain = one(&program.beside(&format!("{folder}/usercustomize.py"), SAYS), 0);
        let lines: Vec<&str> = plain.stdout.lines().collect();
        assert!(lines.len() == 3 && lines[1].starts_with("runs usercustomize usercustomize True "), "{plain:?}");
    }
}

/// What the library makes for PyTorch's modules and tensors. Before Python 3.9 it cannot call Python's functions, and makes nothing: ctypes up to
/// 3.10 crashes where a function returns no object for `py_object`.
#[test]
fn functions_that_the_library_makes() {
    const MAKES: &str = r#"
import sys
if "alloc_tracker" in sys.modules:
    from alloc_tracker._library import HAS_BUILTINS
    from alloc_tracker._torch import library, running
    modules = running.running(library.find())
    begun = []
    class Module:
        pass
    around = modules.around(lambda module, *given, **named: (given, named), lambda *given: begun.append(given), len, Module)
    made = [function is not None for function in (around, modules.of_tensors({}))]
    assert made == [HAS_BUILTINS and sys.version_info >= (3, 9)] * 2, made
    if around is not None:
        Module.call, module = around, Module()
        assert module.call() == ((), {}) and module.call(1, 2) == ((1, 2), {})
        assert module.call(1, x=2, y=3) == ((1,), {"x": 2, "y": 3})
        # The values of named arguments are behind the others.
        assert begun == [(module,), (module, 1, 2), (module, 1, 2, 3)], begun
        own, many = Module.call, tuple(range(20))
        Module.call = lambda module, *given: own(module, *given, 20)
        assert module.call(*many) == ((*many, 20), {})
        Module.call = own
        assert module.call(*many, x=2) == (many, {"x": 2})
        try:
            Module.call = modules.around(lambda module, x: x, len, len, Module)
            module.call(y=1)
            raise SystemExit("no argument of that name")
        except TypeError:
            pass
print("done")
"#;
    for python in pythons() {
        assert_eq!(one(&program(&python, &["-c", MAKES]), 0).stdout, "done\n");
    }
}

/// What a thread starts while it compiles is not recorded, also by `posix_spawn`, as Triton starts its assembler.
#[test]
fn programs_that_are_spawned_while_something_is_compiled() {
    const SPAWNS: &str = r#"
import ctypes, os, sys
follow = ctypes.PyDLL(None).alloc_tracker_follow_children
follow.argtypes = [ctypes.c_bool]
for is_followed in (True, False, True):
    follow(is_followed)
    for spawn in (os.posix_spawn, os.posix_spawnp):
        child = spawn(sys.executable, [sys.executable, "-c", "", str(is_followed)], os.environ)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"#;
    let Some(python) = own_python() else { return };
    let folder = folder();
    let mut command = Command::new(binary("alloc-tracker"));
    command.args(["record", "-q", "--stacks", "off", "--", &python, "-c", SPAWNS]).current_dir(folder.path());
    let ran = run(&mut command);
    assert_eq!((ran.code, ran.stdout), (Some(0), "0\n".repeat(6)), "{}", ran.stderr);
    let files = std::fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
    let commands: Vec<String> = files
        .filter(|path| text(path).ends_with(".timeline.json"))
        .map(|path| alloc_timeline::load(&path).unwrap_or_else(|error| panic!("{error}")).run["command"].to_string())
        .collect();
    assert_eq!(commands.len(), 1 + 4, "{commands:?}");
    assert!(commands.iter().all(|command| !command.ends_with("False\"]")), "{commands:?}");
}
