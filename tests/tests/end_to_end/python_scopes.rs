//! Scopes of programs in Python whose functions do not run through, or are left in another order or by another thread than they were
//! entered; and labels for what is no block. Each program is run plainly as well.
use std::fs;
use std::path::Path;
use std::process::Command;

use alloc_timeline::Timeline;
use tests::{binary, folder, rows, run, tables, text};

use super::python_api::own_python;
use super::python_torch::with_package;

const MIB: u64 = 1 << 20;

/// Runs `program` plainly, and recorded with `flags`. Both must say the same, but that a label was taken; returns what the plain one said,
/// and the timeline. `None` without Python.
fn recorded(program: &str, flags: &[&str]) -> Option<(String, Timeline)> {
    let python = own_python()?;
    let folder = folder();
    let script = folder.path().join("script.py");
    fs::write(&script, program).expect("a file");
    let plain = run(with_package(&python).arg(&script));
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let out = folder.path().join("run.timeline.json");
    let mut command = with_package(&python);
    command.args(["-m", "alloc_tracker", "--stacks", "off"]).args(flags).args(["-o", text(&out), text(&script)]);
    let ran = run(&mut command);
    assert_eq!((ran.code, &ran.stdout), (Some(0), &plain.stdout), "{}", ran.stderr);
    Some((plain.stdout, alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}"))))
}

/// Whole MiB that are live at the mark `end` in blocks of this phase, layer and operator.
fn mebibytes(timeline: &Timeline, [phase, layer, op]: [&str; 3]) -> u64 {
    let [table] = tables(timeline, "end")[..] else { panic!("one mark: {:?}", timeline.marks) };
    let own =
        rows(timeline, table).filter(|(scope, _)| (&*scope.phase, &*scope.layer, &*scope.op) == (phase, layer, op));
    own.map(|(_, row)| row.requested_bytes).sum::<u64>() / MIB
}

const CALLS: &str = r#"
import asyncio
import inspect
import types
import weakref
import alloc_tracker
from alloc_tracker import layer, phase, step

MIB = 1 << 20
held = []

@phase("data")
def load():
    for _ in range(2):
        held.append(bytearray(MIB))
        if (yield len(held)):
            held.append(bytearray(MIB))
    return "the end"

@phase("fetch")
async def fetch():
    held.append(bytearray(2 * MIB))
    await asyncio.sleep(0)
    held.append(bytearray(2 * MIB))
    return 7

@layer("stream")
async def stream():
    try:
        for number in range(2):
            held.append(bytearray(4 * MIB))
            yield number
    finally:
        await asyncio.sleep(0)
        held.append(bytearray(4 * MIB))
        print("closed")

async def between():
    held.append(bytearray(64 * MIB))

@types.coroutine
def awaited():
    yield

awaited = phase("awaited")(awaited)

async def steps():
    held.append(bytearray(MIB))

class Batch(list):
    """It can be referred to weakly."""

@phase("batches")
def batches():
    for _ in range(3):
        yield Batch()

def alive():
    last, found = None, []
    for batch in batches():
        found.append(last is not None and last() is not None)
        last = weakref.ref(batch)
        del batch
    return found

async def tasks():
    print(await asyncio.gather(fetch(), between()))
    async for number in stream():
        print(number)
    left = stream()
    print(await left.__anext__())
    await left.aclose()
    await awaited()
    await step()(steps)()

print("kept alive", alive())
print(inspect.isgeneratorfunction(load), inspect.iscoroutinefunction(fetch), inspect.isasyncgenfunction(stream))
print(load.__name__, fetch.__name__, stream.__name__)
loader = load()
print(next(loader))
held.append(bytearray(64 * MIB))
print(loader.send(True))
try:
    next(loader)
except StopIteration as ended:
    print(ended.value)
thrown = load()
next(thrown)
try:
    thrown.throw(KeyError("thrown"))
except KeyError as error:
    print(error)
closed = load()
next(closed)
closed.close()
asyncio.run(tasks())
alloc_tracker.snapshot("end")
"#;

/// Blocks of generators and coroutines are in the scope of their decorator, and what others allocate while these wait is not.
#[test]
fn generators_and_coroutines_are_in_their_scopes_while_they_run() {
    let Some((said, timeline)) = recorded(CALLS, &[]) else { return };
    let expected = "kept alive [False, False, False]\nTrue True True\nload fetch stream\n1\n4\nthe end\n'thrown'\n[7, None]\n0\n1\nclosed\n0\nclosed\n";
    assert_eq!(said, expected);
    assert_eq!(mebibytes(&timeline, ["data", "", ""]), 5, "three blocks of the first, one of each other");
    assert_eq!(mebibytes(&timeline, ["fetch", "", ""]), 4);
    assert_eq!(mebibytes(&timeline, ["", "stream", ""]), 20, "five blocks");
    assert!((128..132).contains(&mebibytes(&timeline, ["", "", ""])), "and what Python has for itself");
}

const ORDERS: &str = r#"
import asyncio
import threading
import alloc_tracker
from alloc_tracker import layer, op, phase

MIB = 1 << 20
held = []

async def first():
    with op("first"):
        await asyncio.sleep(0.01)

async def second():
    with layer("second"):
        await asyncio.sleep(0.1)

async def tasks():
    await asyncio.gather(first(), second())

asyncio.run(tasks())
with op("third"):
    held.append(bytearray(4 * MIB))

def data():
    with phase("data"):
        yield

opened, is_over = [], threading.Event()

def open_one():
    generator = data()
    next(generator)
    opened.append(generator)
    is_over.wait()

def close_it():
    with phase("train"):
        opened[0].close()
        held.append(bytearray(8 * MIB))

threads = [threading.Thread(target=open_one), threading.Thread(target=close_it)]
threads[0].start()
while not opened:
    pass
threads[1].start()
threads[1].join()
is_over.set()
threads[0].join()
alloc_tracker.snapshot("end")
"#;

/// Tasks of one thread take turns, so their scopes are left in any order; and a generator that was entered by one thread may be closed by
/// another, whose scopes stay.
#[test]
fn scopes_that_others_leave_take_nobody_elses_with_them() {
    let Some((_, timeline)) = recorded(ORDERS, &[]) else { return };
    assert_eq!(mebibytes(&timeline, ["", "", "third"]), 4);
    assert_eq!(mebibytes(&timeline, ["train", "", ""]), 8);
}

const ADDRESSES: &str = r#"
import ctypes
from alloc_tracker import Category, label

def inside(block):
    start = ctypes.addressof(ctypes.c_char.from_buffer(block))
    return [label(start + offset, Category.INPUT) for offset in (16, 32, 48, 64, 2048, 4096, 8192)]

# The low 16 bits of some of these sizes could be the number of a scope, or begin a tag.
blocks = [bytearray(size - 1) for size in (0x2005, 0x20005, 0x17f80, 150_528, 1 << 20)]
print([any(inside(block)) for block in blocks], label(bytearray(), Category.INPUT))
for block in blocks:
    # Now it is followed.
    label(block, Category.INPUT)
print([any(inside(block)) for block in blocks])
blocks.clear()
"#;

/// `label` says `False` for an address inside of a block, and changes nothing.
#[test]
fn an_address_inside_of_a_block_has_no_label() {
    for flags in [&[][..], &["--exact"], &["--backend", "system"]] {
        let Some((said, _)) = recorded(ADDRESSES, flags) else { return };
        assert_eq!(
            said, "[False, False, False, False, False] False\n[False, False, False, False, False]\n",
            "{flags:?}"
        );
    }
}

/// `alloc-tracker record` with these options for that program in Python, which it puts into the folder. `None` without Python.
fn recorder(folder: &Path, program: &str, options: &[&str]) -> Option<Command> {
    let python = own_python()?;
    let script = folder.join("script.py");
    fs::write(&script, program).expect("a file");
    let mut command = Command::new(binary("alloc-tracker"));
    command.args(["record", "--stacks", "off"]).args(options).args(["--", &python, text(&script)]).current_dir(folder);
    Some(command)
}

const AGAIN: &str = r#"
import os
import subprocess
import sys
from alloc_tracker._library import functions

if functions is not None:
    print(functions.is_recording(), functions.start(b"second.timeline.json"))
    subprocess.run([sys.argv[1], "stop", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)
    print(functions.is_recording(), functions.start(b"second.timeline.json"), functions.is_recording())
    print(functions.finish(), functions.is_recording())
"#;

/// `alloc-tracker stop` ends a recording; the program may then start one of its own.
#[test]
fn a_program_whose_recording_was_stopped_may_start_another() {
    let folder = folder();
    let options = ["-o", "first.timeline.json", "--follow", "none"];
    let Some(mut command) = recorder(folder.path(), AGAIN, &options) else { return };
    let ran = run(command.arg(binary("alloc-tracker")));
    assert_eq!(ran.stdout, "True 1\nFalse 0 True\n0 False\n", "{}", ran.stderr);
    for name in ["first.timeline.json", "second.timeline.json"] {
        alloc_timeline::load(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

const FORKED: &str = r#"
import os
import time
from alloc_tracker import phase

if os.fork() == 0:
    with phase("forward"):
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
    os._exit(0)
os.wait()
"#;

/// A child spends all of its time in one phase, while the recorder's threads wait in none.
#[test]
fn a_forked_childs_processor_time_is_its_phases() {
    let folder = folder();
    let Some(mut command) = recorder(folder.path(), FORKED, &["-o", "%p.timeline.json"]) else { return };
    let ran = run(command.env("ALLOC_TRACKER_TIMES", "on"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let files = fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
    let timelines = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let timelines = timelines.map(|path| alloc_timeline::load(path).expect("a timeline"));
    let children = timelines.filter(|timeline| timeline.scopes.iter().any(|scope| scope.phase == "forward"));
    let [child] = &children.collect::<Vec<_>>()[..] else { panic!("one child has the phase") };
    let times = &child.utilisation.as_ref().expect("asked for").scopes;
    let of = |phase: &'static str| times.iter().filter(move |time| child.scopes[time.scope as usize].phase == phase);
    let [own, all] = [
        of("forward").map(|time| time.process_cpu_ns).sum(),
        times.iter().map(|time| time.process_cpu_ns).sum::<u64>(),
    ];
    assert!(own > all / 10 * 8, "{own} of {all} ns");
    let waited: u64 = of("").chain(of("(inherited)")).map(|time| time.active_ns).sum();
    assert!(waited <= child.duration_ns, "{waited} of {} ns", child.duration_ns);
}
