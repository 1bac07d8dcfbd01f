//! The programs that `record.rs` records: written here, compiled there.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Holds 48 blocks of 1 MiB at once, frees them, and returns 3.
pub const BLOCKS: &str = r#"
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>
__attribute__((noinline)) std::vector<std::unique_ptr<char[]>> hold_much() {
    std::vector<std::unique_ptr<char[]>> kept;
    for (int i = 0; i < 48; i++) {
        kept.emplace_back(new char[1 << 20]);
        memset(kept.back().get(), 1, 1 << 20);
    }
    return kept;
}
int main() {
    hold_much().clear();
    puts("done");
    return 3;
}
"#;

/// Holds 8 MiB, says its process id, and sleeps until SIGUSR1 ends it with 0.
const SLEEPER: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile sig_atomic_t over;
static void end(int signal) { (void)signal; over = 1; }
int main(void) {
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGUSR1, &action, NULL);
    char *held = malloc(8 << 20);
    memset(held, 1, 8 << 20);
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    for (int i = 0; i < 60000 && !over; i++) usleep(10000);
    int kept = held[getpid() % 1000];
    free(held);
    return kept - 1;
}
"#;

/// Whether there is such a program; says that a test is skipped when there is none.
pub fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        println!("SKIPPED: there is no {program} on this machine");
    }
    found
}

/// Compiles a program of C or C++; `None` when there is no compiler.
pub fn compiled(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    compiled_with(folder, name, source, &[])
}

/// The same with more options; `None` as well when the compiler refuses them, as it does where there is no static C library.
pub fn compiled_with(folder: &Path, name: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    let (file, compiler) = (folder.join(name), if name.ends_with(".cpp") { "c++" } else { "cc" });
    let program = file.with_extension("");
    fs::write(&file, source).expect("a file");
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-fno-omit-frame-pointer", "-o"]).arg(&program).arg(&file).args(options);
    let Ok(output) = command.output() else {
        println!("SKIPPED: there is no {compiler} on this machine");
        return None;
    };
    if !output.status.success() {
        assert!(!options.is_empty(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        println!("SKIPPED: {compiler} {options:?} does not compile here");
        return None;
    }
    Some(program)
}

/// The sleeper, compiled.
pub fn sleeper(folder: &Path) -> PathBuf {
    compiled(folder, "sleeper.c", SLEEPER).expect("a compiler, which was asked for before")
}
