//! The C and C++ libraries that the traps load, compiled when they are first asked for.
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;
use tests::{folder, text};

/// The C library that `trap_library.rs` and `trap_stress.rs` load.
const TRAP: &str = r#"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static void *kept;
__attribute__((constructor)) static void begin(void) { kept = malloc(1000); free(malloc(100000)); }
__attribute__((destructor)) static void end(void) { free(kept); free(strndup("the end", 3) ? malloc(1) : 0); }

static int resolved_well(void) { return 1; }
static int resolved_badly(void) { return 0; }
static int (*resolve(void))(void) {
    void *block = malloc(100);
    int well = block != 0;
    free(block);
    return well ? resolved_well : resolved_badly;
}
int trap_resolved(void) __attribute__((ifunc("resolve")));

void *trap_make(size_t size) { void *block = malloc(size); memset(block, 1, size); return block; }
void trap_give(void *block) { free(realloc(block, 3000)); }

static jmp_buf place;
int trap_guarded(void (*work)(void)) {
    if (setjmp(place)) return 1;
    work();
    return 0;
}
void trap_jump(void) { longjmp(place, 1); }
"#;

/// A C++ library that throws an exception and catches those that `work` lets pass. It allocates the exception.
const THROWING: &str = r#"
#include <string>

struct Thrown { std::string text; };

extern "C" void trap_throw() { throw Thrown{std::string(1000, 'x')}; }
extern "C" int trap_catch(void (*work)()) {
    try { work(); } catch (Thrown &thrown) { return int(thrown.text.size()); }
    return 0;
}
"#;

/// Calls the program when it is loaded and unloaded, at the address that the program has put into the environment.
const CALLING: &str = r#"
#include <stdlib.h>

static void call(int begins) { ((void (*)(int))strtoull(getenv("TRAP_CALLS"), 0, 10))(begins); }
__attribute__((constructor)) static void begin(void) { call(1); }
__attribute__((destructor)) static void end(void) { call(0); }
"#;

/// To be loaded before libc: clocks that the program sends back (`victims/trap_clock.rs`).
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long long back;

int clock_gettime(clockid_t clock, struct timespec *time) {
    syscall(SYS_clock_gettime, clock, time);
    /* Clocks of processor time are too young to go back. */
    if (time->tv_sec >= back) time->tv_sec -= back;
    return 0;
}
/* Once, by so many seconds or by half of what the clock shows: a machine may have been up for less than an hour, and a
   clock that stands still at its first second goes back at every second. */
void trap_send_back(long long seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    back += seconds < now.tv_sec / 2 ? seconds : now.tv_sec / 2;
}
"#;

/// A library, in a folder of its own for as long as the process runs.
struct Compiled(#[allow(dead_code, reason = "kept so that the folder stays")] TempDir, String);

fn compile(compiler: &str, name: &str, source: &str) -> Compiled {
    let folder = folder();
    let (input, output) = (folder.path().join(name), folder.path().join("libtrap.so"));
    std::fs::write(&input, source).expect("the source");
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-fno-builtin", "-o"])
        .args([&output, &input])
        .status()
        .expect("a C and a C++ compiler: install gcc and g++, or clang");
    assert!(status.success(), "{compiler}: {status}");
    let path = text(&output).to_owned();
    Compiled(folder, path)
}

/// The path of the library for [`TRAP`].
pub fn library() -> &'static str {
    static AT: LazyLock<Compiled> = LazyLock::new(|| compile("cc", "trap.c", TRAP));
    &AT.1
}

/// The path of the library for [`CALLING`].
pub fn calling() -> &'static str {
    static AT: LazyLock<Compiled> = LazyLock::new(|| compile("cc", "calling.c", CALLING));
    &AT.1
}

/// The path of the library for [`THROWING`].
pub fn throwing() -> &'static str {
    static AT: LazyLock<Compiled> = LazyLock::new(|| compile("c++", "trap.cpp", THROWING));
    &AT.1
}

/// The path of the library for [`CLOCK`].
pub fn clock() -> &'static str {
    static AT: LazyLock<Compiled> = LazyLock::new(|| compile("cc", "clock.c", CLOCK));
    &AT.1
}
