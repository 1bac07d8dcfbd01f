//! Programs in C that do what few programs do: each runs plainly and under `alloc-tracker record`, and must do the same.
use std::fs;
use std::path::Path;
use std::process::Command;

use tests::{binary, folder, run, text};

use super::programs::compiled_with;
use super::{is_root, recorded, timelines};

/// Compiles `source` and runs it in both ways: what it prints, and its exit code, must be `said` and `code` both times. Returns the number of
/// timelines; `None` without a compiler.
fn same_in_both(folder: &Path, source: &str, said: &str, code: i32) -> Option<usize> {
    // pthread_exit loads libgcc_s otherwise, which a program in another root does not find.
    let options = ["-pthread", "-Wl,--no-as-needed", "-lgcc_s"];
    let program = compiled_with(folder, "program.c", &format!("#define _GNU_SOURCE\n{source}"), &options)?;
    let plain = run(&mut Command::new(&program));
    assert_eq!((plain.stdout.as_str(), plain.code), (said, Some(code)), "plainly: {}", plain.stderr);
    let ran = recorded(folder, &["--quiet"], &[text(&program)]);
    assert_eq!((ran.stdout.as_str(), ran.code), (said, Some(code)), "recorded: {}", ran.stderr);
    // In another root only the log is left, which the tool says.
    let own = ran.stderr.lines().filter(|line| !line.starts_with("alloc-tracker: "));
    assert_eq!(own.collect::<Vec<_>>(), plain.stderr.lines().collect::<Vec<_>>());
    Some(timelines(folder).len())
}

/// `_exit` does not wait for anything, so a thread that was cancelled still ends the process with this code.
#[test]
fn a_cancelled_thread_may_end_the_process() {
    let folder = folder();
    let source = r#"
#include <pthread.h>
#include <unistd.h>
int main(void) { pthread_cancel(pthread_self()); _exit(7); }
"#;
    assert!(same_in_both(folder.path(), source, "", 7).is_none_or(|count| count == 1));
}

/// glibc has the thread-local variables of a program in the stack of each thread, those of the recorder among them.
#[test]
fn thread_local_variables_may_be_larger_than_the_recorders_stacks() {
    for bytes in ["(3 << 20)", "((2 << 20) - (24 << 10))"] {
        let folder = folder();
        let source = format!(
            "#include <stdio.h>\nstatic __thread volatile char big[{bytes}];\nint main(void) {{ big[5] = 1; puts(\"done\"); return 0; }}\n"
        );
        assert!(same_in_both(folder.path(), &source, "done\n", 0).is_none_or(|count| count == 1), "{bytes}");
    }
}

/// Another thread has a lock of the loader's most of the time, which glibc's fork does not reset in the child.
#[test]
fn a_child_that_was_forked_while_libraries_were_listed_begins() {
    let folder = folder();
    let source = r#"
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int rest(struct dl_phdr_info *info, size_t size, void *data) { usleep(1000); return 0; }
static void *list(void *unused) { for (;;) dl_iterate_phdr(rest, NULL); }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, list, NULL);
    usleep(20000);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
    puts("done");
    fflush(stdout);
    _exit(0);
}
"#;
    assert!(same_in_both(folder.path(), source, "done\n", 0).is_none_or(|count| count == 6));
}

/// The recorder ends a program whose last thread has ended; it counts threads in a file that the program cannot reach any more.
#[test]
fn a_program_without_proc_ends_with_its_last_thread() {
    if !is_root() {
        return println!("SKIPPED: only root may change the root");
    }
    let folder = folder();
    let root = folder.path().join("root");
    fs::create_dir(&root).expect("a folder");
    let source = format!(
        r#"
#include <pthread.h>
#include <unistd.h>
static void *rest(void *unused) {{ usleep(100000); return NULL; }}
int main(void) {{
    pthread_t thread;
    if (chroot("{}")) return 1;
    pthread_create(&thread, NULL, rest, NULL);
    pthread_exit(NULL);
}}
"#,
        root.display()
    );
    same_in_both(folder.path(), &source, "", 0);
}

/// A block that glibc itself has handed out: all functions of the family know it.
#[test]
fn a_block_of_another_allocator_has_its_size() {
    let folder = folder();
    let source = r#"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t);
int main(void) {
    void *block = __libc_malloc(100);
    printf("%d\n", malloc_usable_size(block) >= 100);
    free(block);
    return 0;
}
"#;
    assert!(same_in_both(folder.path(), source, "1\n", 0).is_none_or(|count| count == 1));
}

/// The user who runs the child may not read the library, of which the loader would say that it is ignored.
#[test]
fn a_child_that_cannot_load_the_library_says_nothing_of_it() {
    if !is_root() {
        return println!("SKIPPED: only root may become another user");
    }
    // Only root may enter it.
    let folder = folder();
    let source = r#"
#include <unistd.h>
int main(void) { return setuid(65534) || execl("/bin/sh", "sh", "-c", "echo $LD_PRELOAD; exit 3", NULL); }
"#;
    let Some(program) = compiled_with(folder.path(), "program.c", source, &["-O1"]) else { return };
    // Alone it has no library beside itself, and unpacks its own.
    let recorder = folder.path().join("alloc-tracker");
    fs::copy(binary("alloc-tracker"), &recorder).expect("room");
    let mut command = Command::new(recorder);
    command.env("XDG_CACHE_HOME", folder.path().join("cache"));
    command.args(["record", "--quiet", "--", text(&program)]).current_dir(folder.path());
    let ran = run(command.env_remove("ALLOC_TRACKER").env("LD_PRELOAD", "/no/such/other.so"));
    let own: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("liballoc_preload")).collect();
    assert_eq!((ran.code, ran.stdout.as_str(), own), (Some(3), "/no/such/other.so\n", vec![]), "{}", ran.stderr);
}
