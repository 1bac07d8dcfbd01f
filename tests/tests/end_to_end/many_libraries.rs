//! Programs that load many libraries with variables of threads while threads run. The C library has a table of such libraries for each
//! thread and enlarges it, by `malloc` or `realloc`, when the thread next asks for a variable: also when it asks in an allocation.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tests::{binary, folder, run};

/// A thread's table has room for 14 libraries more than there were when the thread began.
const LIBRARIES: usize = 40;

const LIBRARY: &str = "
static __thread int own[4];
int *variable(void) { return own; }
";

/// One thread for each way to be the first that asks.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t turn;
static int *(*last)(void);

static void *older(void *way) {
    void *kept = way ? malloc(3000) : 0;
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    switch ((long)way) {
    case 0: kept = malloc(1); break;
    case 1: *last() = 1; break;
    case 2: kept = realloc(kept, 100000); break;
    case 3: free(malloc(1 << 20)); break;
    case 4: free(kept); kept = 0; break;
    case 5: kept = aligned_alloc(4096, 8192); break;
    }
    for (int round = 0; round < 100; round++) {
        void *block = malloc(100 << round % 12);
        *last() += round;
        kept = realloc(kept, 50 << round % 14);
        free(block);
    }
    free(kept);
    return 0;
}

int main(int count, char **paths) {
    pthread_t threads[6];
    pthread_barrier_init(&turn, 0, 7);
    for (long way = 0; way < 6; way++) pthread_create(&threads[way], 0, older, (void *)way);
    pthread_barrier_wait(&turn);
    for (int at = 1; at < count; at++) {
        void *library = dlopen(paths[at], RTLD_NOW);
        if (!library) { puts(dlerror()); return 1; }
        last = (int *(*)(void))dlsym(library, "variable");
    }
    pthread_barrier_wait(&turn);
    for (long way = 0; way < 6; way++) pthread_join(threads[way], 0);
    *last() = 1;
    puts("ended");
    return 0;
}
"#;

/// Enlarges a table whenever a variable is asked for, as the C library does on a thread that is older than many libraries. From
/// glibc 2.39 on it does so whichever variable is asked for, and up to 2.40 without an end if allocating asks for one.
#[cfg(target_arch = "x86_64")]
const ENLARGING: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *(*next)(void *);
static volatile int is_armed;
static __thread int depth;
static __thread size_t size;
static __thread void *table;

/* Found before the C library's own. */
void *__tls_get_addr(void *variable) {
    if (is_armed) {
        if (++depth > 50) {
            write(2, "an allocation asks for a variable, which allocates\n", 51);
            _exit(3);
        }
        size = size % 6000 + 560;
        table = realloc(table, size);
        depth--;
    }
    if (!next) next = (void *(*)(void *))dlsym(RTLD_NEXT, "__tls_get_addr");
    return next(variable);
}

static void *allocates(void *way) {
    void *kept = way ? malloc(1 << 20) : calloc(10, 100);
    for (int round = 0; round < 1000; round++) {
        void *block = malloc(100 << round % 12);
        kept = realloc(kept, 50 << round % 14);
        free(block);
    }
    free(kept);
    return 0;
}

int main(void) {
    is_armed = 1;
    for (long round = 0; round < 20; round++) {
        pthread_t threads[3];
        for (long way = 0; way < 3; way++) pthread_create(&threads[way], 0, allocates, (void *)way);
        for (long way = 0; way < 3; way++) pthread_join(threads[way], 0);
        usleep(30000);
    }
    allocates(0);
    puts("ended");
    return 0;
}
"#;

fn compile(folder: &Path, name: &str, source: &str, flags: &[&str]) {
    let input = folder.join(name).with_extension("c");
    fs::write(&input, source).expect("the source");
    let mut compiler = Command::new("cc");
    let status = compiler.args(flags).arg("-o").args([&folder.join(name), &input]).status();
    assert!(status.expect("a C compiler: install gcc or clang").success());
}

#[test]
fn threads_that_are_older_than_many_libraries_go_on() {
    let folder = folder();
    compile(folder.path(), "library", LIBRARY, &["-shared", "-fPIC"]);
    compile(folder.path(), "program", PROGRAM, &["-pthread", "-ldl"]);
    let libraries: Vec<_> = (0..LIBRARIES).map(|number| folder.path().join(format!("library{number}.so"))).collect();
    for library in &libraries {
        fs::copy(folder.path().join("library"), library).expect("a copy");
    }
    records(folder.path(), &libraries);
}

/// On aarch64 a variable of a library that was there from the start is found without a call.
#[cfg(target_arch = "x86_64")]
#[test]
fn no_allocation_asks_the_c_library_for_a_variable_of_a_thread() {
    let folder = folder();
    compile(folder.path(), "program", ENLARGING, &["-O1", "-pthread", "-rdynamic", "-ldl"]);
    records(folder.path(), &[]);
}

/// The program prints that it ended, in each way to be recorded.
fn records(folder: &Path, libraries: &[PathBuf]) {
    let ways: [&[&str]; 4] = [&["--stacks", "off"], &["--stacks", "4KiB"], &["--exact"], &["--backend", "system"]];
    for way in ways {
        let mut command = Command::new(binary("alloc-tracker"));
        command.args(["record", "-q", "-o", "run.timeline.json"]).args(way).arg("--").arg("./program");
        let ran = run(command.args(libraries).current_dir(folder));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ended\n"), "{way:?}: {}", ran.stderr);
        let timeline = alloc_timeline::load(folder.join("run.timeline.json"));
        assert!(timeline.is_ok_and(|timeline| timeline.peak.live_bytes > 0), "{way:?}");
    }
}
