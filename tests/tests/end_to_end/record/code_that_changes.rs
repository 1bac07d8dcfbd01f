//! Stacks of programs whose code comes and goes: libraries that are unloaded, deleted, overwritten or replaced, and code that is in no file.
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tests::{folder, run, text};

use super::programs::compiled_with;
use super::{recorded_stacks, timelines};

/// Does what its arguments say, one after the other: `use LIBRARY`, `keep LIBRARY` (which is not unloaded), `copy FROM TO` (into the file that is
/// there), `move FROM TO`, `unlink FILE`, `cut FILE`. Each use allocates 10,000 blocks of 1,000 bytes within 0.4 s.
const HOST: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static void nap(long ms) { struct timespec time = {0, ms * 1000000}; nanosleep(&time, NULL); }
static void use(const char *library, int keep) {
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle) { puts(dlerror()); exit(1); }
    void *(*entry)(size_t) = (void *(*)(size_t))dlsym(handle, "entry");
    for (int burst = 0; burst < 20; burst++, nap(20))
        for (int block = 0; block < 500; block++) entry(1000);
    if (!keep) dlclose(handle);
}
static void copy(const char *from, const char *to) {
    static char bytes[4 << 20];
    FILE *file = fopen(from, "rb");
    size_t count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    file = fopen(to, "wb");
    fwrite(bytes, 1, count, file);
    fclose(file);
}
int main(int count, char **word) {
    for (int at = 1; at < count; at += 2) {
        if (!strcmp(word[at], "use")) use(word[at + 1], 0);
        else if (!strcmp(word[at], "keep")) use(word[at + 1], 1);
        else if (!strcmp(word[at], "unlink")) unlink(word[at + 1]);
        else if (!strcmp(word[at], "cut")) { if (truncate(word[at + 1], 0)) return 1; }
        else if (!strcmp(word[at], "copy")) { copy(word[at + 1], word[at + 2]); at++; }
        else if (!strcmp(word[at], "move")) { if (rename(word[at + 1], word[at + 2])) return 1; at++; }
        else return 2;
    }
    nap(100);
    puts("done");
    return 0;
}
"#;

/// A library whose function of the name that is asked for allocates, in a file that `FILL` makes longer.
const LIBRARY: &str = r#"
#include <stdlib.h>
#ifdef FILL
const char filler[FILL] = {1};
#endif
__attribute__((noinline)) void *INNER(size_t bytes) {
    void *block = malloc(bytes);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}
void *entry(size_t bytes) {
    void *block = INNER(bytes);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}
"#;

/// Puts the program `host` and the libraries `alpha` and `beta`, of which the first is the longer file, into a folder. `None` without a compiler.
fn made(folder: &Path) -> Option<()> {
    compiled_with(folder, "host.c", HOST, &["-ldl"])?;
    for (name, more) in [("alpha", &["-DFILL=1000000"][..]), ("beta", &[])] {
        let inner = format!("-DINNER={name}_inner");
        compiled_with(folder, &format!("{name}.c"), LIBRARY, &[&["-shared", "-fPIC", &inner], more].concat())?;
    }
    Some(())
}

/// Runs the host plainly and recorded, which must be the same. Returns its folder, and the folded stacks of what was alive at the peak; `None`
/// without a compiler.
fn stacks_of(words: &[&str]) -> Option<(TempDir, Vec<(String, u64)>)> {
    let folder = folder();
    made(folder.path())?;
    let host = folder.path().join("host");
    let prepare = || {
        for name in ["alpha", "beta"] {
            let copy = folder.path().join(format!("{name}.so"));
            std::fs::copy(folder.path().join(name), copy).expect("a copy");
        }
    };
    prepare();
    let plain = run(Command::new(&host).args(words).current_dir(folder.path()));
    prepare();
    let command: Vec<&str> = [text(&host)].into_iter().chain(words.iter().copied()).collect();
    let (ran, stacks) = recorded_stacks(folder.path(), &command);
    assert_eq!((ran.code, &ran.stdout), (plain.code, &plain.stdout), "{}", ran.stderr);
    assert_eq!(ran.stdout, "done\n");
    Some((folder, stacks))
}

/// MB of the stacks in which this stands. (What is allocated until the recorder has looked at new code, mostly a hundredth of a second, has none.)
fn megabytes(stacks: &[(String, u64)], call: &str) -> f64 {
    stacks.iter().filter(|(calls, _)| calls.contains(call)).map(|(_, bytes)| *bytes as f64 / 1e6).sum()
}

/// An editor's "rebuild and load again": the file of a library that is not loaded is overwritten by a shorter one, and at last cut.
#[test]
fn a_plug_ins_file_may_be_overwritten_between_two_uses() {
    let words = [
        "copy",
        "alpha",
        "plug.so",
        "use",
        "./plug.so",
        "copy",
        "beta",
        "plug.so",
        "use",
        "./plug.so",
        "cut",
        "plug.so",
    ];
    let Some((_folder, stacks)) = stacks_of(&words) else { return };
    assert!(megabytes(&stacks, "main;") > 14.0, "{stacks:?}");
}

/// The loader mostly puts the second library where the first was.
#[test]
fn a_library_in_the_place_of_another_has_its_own_names() {
    let Some((_folder, stacks)) = stacks_of(&["use", "./alpha.so", "use", "./beta.so"]) else { return };
    for name in ["alpha_inner", "beta_inner"] {
        let found = megabytes(&stacks, name);
        assert!((6.0..12.0).contains(&found), "{name}: {found} of 10 MB: {stacks:?}");
    }
}

#[test]
fn a_library_that_was_deleted_as_it_was_loaded_has_stacks() {
    let words = ["copy", "alpha", "plug.so", "keep", "./plug.so", "unlink", "plug.so", "keep", "./beta.so"];
    let Some((_folder, stacks)) = stacks_of(&words) else { return };
    assert!(megabytes(&stacks, "main;") > 14.0, "{stacks:?}");
    // Nobody can say what the functions of the first were called, but that they were its.
    assert!(megabytes(&stacks, "plug.so+0x") > 6.0, "{stacks:?}");
    assert!(megabytes(&stacks, "beta_inner") > 6.0, "{stacks:?}");
}

/// A rebuild while the program runs: its path has another program at the end.
#[test]
fn calls_have_no_names_from_a_file_that_replaced_theirs() {
    let words = ["copy", "beta", "next", "keep", "./alpha.so", "move", "next", "alpha.so"];
    let Some((folder, stacks)) = stacks_of(&words) else { return };
    assert!(megabytes(&stacks, "alpha.so+0x") > 6.0, "{stacks:?}");
    assert!(megabytes(&stacks, "beta_inner") < 0.1 && megabytes(&stacks, "alpha_inner") < 0.1, "{stacks:?}");
    let (_, timeline) = timelines(folder.path()).into_iter().next().expect("a timeline");
    let said = timeline
        .tracker
        .losses
        .iter()
        .any(|loss| loss.contains("was deleted or replaced") && loss.contains("alpha.so"));
    assert!(said, "{:?}", timeline.tracker.losses);
}

/// Code that is in no file allocates all the time. A library that is loaded meanwhile is found all the same.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_library_is_found_while_generated_code_runs() {
    const GENERATED: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    /* sub rsp, 8; mov rax, malloc; call rax; add rsp, 8; ret */
    unsigned char code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
    void *target = (void *)malloc;
    memcpy(code + 6, &target, 8);
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    void *(*generated)(size_t) = (void *(*)(size_t))page;
    for (int burst = 0; burst < 200; burst++, usleep(10000))
        for (int block = 0; block < 400; block++) free(generated(1000));
    void *(*entry)(size_t) = (void *(*)(size_t))dlsym(dlopen("./alpha", RTLD_NOW), "entry");
    for (int burst = 0; burst < 50; burst++, usleep(10000)) {
        for (int block = 0; block < 200; block++) entry(1000);
        for (int block = 0; block < 400; block++) free(generated(1000));
    }
    return 0;
}
"#;
    let folder = folder();
    if made(folder.path()).is_none() {
        return;
    }
    let Some(program) = compiled_with(folder.path(), "generated.c", GENERATED, &["-ldl"]) else { return };
    let (ran, stacks) = recorded_stacks(folder.path(), &[text(&program)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let named = megabytes(&stacks, "alpha_inner");
    assert!(named > 6.0, "{named} of 10 MB: {stacks:?}");
}
