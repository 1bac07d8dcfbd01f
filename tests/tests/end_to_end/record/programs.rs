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

/// Two threads hold 32 and 16 blocks of 1 MiB at once; the second ends before the first.
pub const WORKERS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static pthread_barrier_t filled;
static void *hold(void *count) {
    char *blocks[32];
    int much = count == (void *)32;
    pthread_setname_np(pthread_self(), much ? "holds-much" : "holds-less");
    for (long i = 0; i < (long)count; i++) memset(blocks[i] = malloc(1 << 20), 1, 1 << 20);
    pthread_barrier_wait(&filled);
    for (long i = 0; much && i < (long)count; i++) free(blocks[i]);
    return NULL;
}
int main(void) {
    pthread_t much, less;
    pthread_barrier_init(&filled, NULL, 2);
    if (pthread_create(&much, NULL, hold, (void *)32) || pthread_create(&less, NULL, hold, (void *)16)) return 1;
    return pthread_join(less, NULL) || pthread_join(much, NULL);
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

/// Brings a malloc of its own.
pub const OWN_MALLOC: &str = r#"
#include <stddef.h>
static char room[1 << 24];
static size_t used;
void *malloc(size_t size) {
    /* The recorder's threads call the C library, which calls this. */
    return room + __atomic_fetch_add(&used, (size + 15) & ~(size_t)15, __ATOMIC_RELAXED);
}
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *old, size_t size) {
    char *block = malloc(size);
    if (old)
        for (size_t i = 0; i < size; i++) block[i] = ((char *)old)[i];
    return block;
}
void free(void *block) { (void)block; }
int main(void) { return malloc(1000) == NULL; }
"#;

/// Becomes another program in the way that its argument says.
pub const LISTED: &str = r#"
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    char *environment[] = {"A=1", NULL};
    if (argc != 2) return 1;
    if (!strcmp(argv[1], "none")) execl("/no/such/program", "none", NULL);
    if (!strcmp(argv[1], "l")) execl("/bin/sh", "sh", "-c", "echo $# $8", "0", "a", "b", "c", "d", "e", "f", "g", "h", NULL);
    if (!strcmp(argv[1], "lp")) execlp("sh", "sh", "-c", "exit 6", NULL);
    if (!strcmp(argv[1], "le")) execle("/bin/sh", "sh", "-c", "echo $A", NULL, environment);
    return 9;
}
"#;

/// Closes all descriptors but the standard ones, and opens files of its own, from 3 to 40 and from 96 to 127, in the folder of its
/// first argument. (The recorder would have high numbers, if it had none of its own.) It writes `own` into each, but into the last
/// through a buffer that is written by `exit`. In between it waits, for at most a minute, until the log, its second argument, has
/// grown three times.
pub const CLOSER: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static off_t length(const char *path) {
    struct stat found;
    return stat(path, &found) ? 0 : found.st_size;
}
int main(int argc, char **argv) {
    int files = 0, last = -1;
    char name[4096];
    if (argc != 3) return 1;
    for (int number = 3; number < 1024; number++) close(number);
    for (int number = 3; number < 128; number++) {
        if (number > 40 && number < 96) continue;
        snprintf(name, sizeof name, "%s/%d", argv[1], number);
        int file = open(name, O_CREAT | O_RDWR, 0600);
        if (file != number) {
            if (dup2(file, number) != number || close(file)) return 2;
            file = number;
        }
        if (last > 0 && write(last, "own", 3) != 3) return 3;
        last = file;
        files++;
    }
    FILE *buffered = fdopen(last, "w");
    fputs("own", buffered);
    off_t before = length(argv[2]);
    for (int grown = 0, i = 0; grown < 3 && i < 12000; i++) {
        free(malloc(100000 + i));
        usleep(5000);
        if (length(argv[2]) != before) grown++;
        before = length(argv[2]);
    }
    printf("%d\n", files);
    return 0;
}
"#;

/// Ends with its last thread, which is not the one that `main` ran on. With `fork`, the last one is that of a child, which was forked by
/// another thread than `main`'s.
pub const LAST_THREAD: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void at_exit(void) { write(1, "exit\n", 5); }

static void *work(void *forks) {
    if (forks) {
        pid_t child = fork();
        if (child == 0) return NULL;
        int status = -1;
        waitpid(child, &status, 0);
        dprintf(1, "child %d\n", status);
        return NULL;
    }
    usleep(100000);
    dprintf(1, "last\n");
    return NULL;
}

int main(int count, char **words) {
    pthread_t thread;
    atexit(at_exit);
    pthread_create(&thread, NULL, work, strcmp(words[1], "fork") == 0 ? words : NULL);
    if (strcmp(words[1], "fork") == 0) pthread_join(thread, NULL);
    else pthread_exit(NULL);
    return 7;
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
