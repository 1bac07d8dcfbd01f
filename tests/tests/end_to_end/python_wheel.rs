//! The wheel: what its name promises is what its files need, and pip installs it from the file, where nothing else of ours is.
use std::path::{Path, PathBuf};
use std::process::Command;

use alloc_timeline::Timeline;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader as _, Sym as _};
use object::{Endianness, Object as _, ObjectSection as _, ObjectSymbol as _};
use tests::{binary, folder, rows, run, text};

const PROGRAM: &str = "alloc_tracker-0.1.0.data/scripts/alloc-tracker";

/// Makes the wheel of the program that is built, in `folder`.
fn wheel(folder: &Path) -> PathBuf {
    let mut xtask = Command::new(binary("xtask"));
    xtask.args(["wheel", "--program", text(&binary("alloc-tracker")), "--out", text(folder)]);
    let ran = run(&mut xtask);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    PathBuf::from(ran.stdout.trim_end())
}

/// The versions of glibc that the symbols of an ELF file need, each with its symbol: `("hypot", 35)` for GLIBC_2.35.
fn needs(file: &[u8]) -> Vec<(String, u32)> {
    let header = FileHeader64::<Endianness>::parse(file).expect("an ELF file");
    let endian = header.endian().expect("an order of bytes");
    let sections = header.sections(endian, file).expect("sections");
    let symbols = sections.symbols(endian, file, object::elf::SHT_DYNSYM).expect("dynamic symbols");
    let versions = sections.versions(endian, file).expect("versions").expect("a program that needs glibc");
    let mut found = Vec::new();
    for (index, symbol) in symbols.enumerate().filter(|(_, symbol)| symbol.is_undefined(endian)) {
        let version =
            versions.version(versions.version_index(endian, index).index()).expect("a version that is listed");
        let version = version.map_or("", |version| std::str::from_utf8(version.name()).expect("a name"));
        if let Some(number) = version.strip_prefix("GLIBC_2.") {
            let number = number.split('.').next().and_then(|number| number.parse().ok());
            let name = symbols.symbol_name(endian, symbol).expect("a symbol has a name");
            found.push((String::from_utf8_lossy(name).into_owned(), number.expect("a number behind the point")));
        }
    }
    found
}

/// The library that the recorder has in itself, between two labels.
fn library(program: &[u8]) -> Vec<u8> {
    let file = object::File::parse(program).expect("an ELF file");
    let [begin, end] = ["alloc_preload_begin", "alloc_preload_end"].map(|name| {
        let found = file.symbols().find(|symbol| symbol.name() == Ok(name));
        found.unwrap_or_else(|| panic!("no {name}")).address()
    });
    let section =
        file.sections().find(|section| (section.address()..section.address() + section.size()).contains(&begin));
    let bytes = section.expect("a section").data_range(begin, end - begin).expect("bytes").expect("all of them");
    bytes.to_vec()
}

#[test]
fn the_wheels_name_says_which_glibc_its_files_need() {
    let folder = folder();
    let wheel = wheel(folder.path());
    let unpacked = folder.path().join("unpacked");
    let ran = run(Command::new("python3").args(["-m", "zipfile", "-e", text(&wheel), text(&unpacked)]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let program = std::fs::read(unpacked.join(PROGRAM)).expect("the program in the wheel");
    let mut needed = needs(&program);
    needed.extend(needs(&library(&program)));
    needed.sort_by_key(|(_, number)| *number);
    let (symbol, newest) = needed.last().expect("glibc is needed").clone();
    let name = wheel.file_name().expect("a name").to_string_lossy();
    let tag = format!("py3-none-manylinux_2_{newest}_{}", std::env::consts::ARCH);
    assert_eq!(name, format!("alloc_tracker-0.1.0-{tag}.whl"), "{symbol} needs the newest");
    let described = std::fs::read_to_string(unpacked.join("alloc_tracker-0.1.0.dist-info/WHEEL")).expect("its WHEEL");
    assert!(described.contains(&format!("\nTag: {tag}\n")), "{described}");
    // What RHEL 9 has. Linked on a system with a newer glibc than that of Debian 12, a program may need more.
    let glibc = run(Command::new("getconf").arg("GNU_LIBC_VERSION")).stdout;
    let built_on: Option<u32> = glibc.trim_end().strip_prefix("glibc 2.").and_then(|number| number.parse().ok());
    if built_on.is_some_and(|number| number <= 36) {
        needed.retain(|(_, number)| *number > 34);
        assert_eq!(needed, [], "symbols that need a newer glibc");
    }
}

#[test]
fn the_wheel_is_installed_from_its_file_and_records() {
    let folder = folder();
    let wheel = wheel(folder.path());
    let environment = folder.path().join("environment");
    let python = environment.join("bin/python");
    let made = run(Command::new("python3").args(["-m", "venv", "--without-pip", text(&environment)]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    // The machine's pip installs into the environment, which has none: pip can do that from 22.3 on.
    let pip = |words: &[&str]| run(Command::new("python3").args(["-m", "pip", "--python", text(&python)]).args(words));
    if pip(&["--version"]).code != Some(0) {
        println!("SKIPPED: python3 has no pip of 22.3 or later");
        return;
    }
    let installed = pip(&["install", "--no-input", "--no-index", "--disable-pip-version-check", text(&wheel)]);
    assert_eq!(installed.code, Some(0), "{}{}", installed.stdout, installed.stderr);

    let (script, out) = (folder.path().join("keeps.py"), folder.path().join("run.timeline.json"));
    std::fs::write(
        &script,
        "import alloc_tracker\nwith alloc_tracker.layer('kept'):\n    kept = bytearray(3_000_000)\nprint(alloc_tracker.__file__)\n",
    )
    .expect("a script");
    let mut command = Command::new(&python);
    command.args(["-m", "alloc_tracker", "-q", "-o", text(&out), text(&script)]);
    for variable in ["PYTHONPATH", "ALLOC_TRACKER", "ALLOC_TRACKER_STACKS"] {
        command.env_remove(variable);
    }
    let ran = run(command.current_dir(folder.path()).env("XDG_CACHE_HOME", folder.path().join("cache")));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with(text(&environment)), "the installed package is used: {}", ran.stdout);
    let timeline: Timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"));
    let kept = rows(&timeline, &timeline.peak).filter(|(scope, _)| scope.layer == "kept");
    assert_eq!(kept.map(|(_, row)| row.requested_bytes).sum::<u64>(), 3_000_001, "a bytearray ends with a zero");
}
