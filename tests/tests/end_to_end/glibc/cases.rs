//! The list of glibc's tests: which run, with what changes, and why the others do not apply.

/// The head of the table.
pub const INTRODUCTION: &str = "# glibc's own tests of malloc, under the tracker

`tests/tests/end_to_end/glibc.rs` compiles the tests of glibc VERSION (`malloc/` in Debian's `glibc-source`) and runs them over glibc, over
Debian's jemalloc, and with `liballoc_interpose.so` preloaded, switched off and on. It fails when this table differs
from what it finds. Nothing of glibc is committed: `cargo xtask foreign` fetches it.

";

/// A test that runs.
pub struct Case {
    /// Its row in the table.
    pub name: &'static str,
    /// Its file.
    pub source: &'static str,
    /// What is put in place of what in its source.
    pub changes: &'static [(&'static str, &'static str)],
    /// Other files that it is linked with.
    pub with: &'static [&'static str],
    /// jemalloc's settings.
    pub jemalloc: &'static str,
    /// Whether it is about the preloaded allocator alone.
    pub preloaded_only: bool,
    /// Whether it takes seconds.
    pub slow: bool,
    /// After how many seconds it hangs.
    pub limit: u32,
    /// Whether it ends one way or the other over jemalloc, as the signals fall.
    pub unsteady: bool,
    /// What there is to say of its row.
    pub remark: &'static str,
}

impl Case {
    /// Whether it runs over glibc, or over a preloaded allocator.
    pub fn is_for(&self, glibc: bool) -> bool {
        !(glibc && self.preloaded_only)
    }

    const fn slow(self) -> Case {
        Case { slow: true, ..self }
    }

    const fn limit(self, limit: u32) -> Case {
        Case { limit, ..self }
    }

    const fn remark(self, remark: &'static str) -> Case {
        Case { remark, ..self }
    }

    const fn with(self, with: &'static [&'static str]) -> Case {
        Case { with, ..self }
    }

    const fn changed(self, changes: &'static [(&'static str, &'static str)]) -> Case {
        Case { changes, ..self }
    }
}

const fn case(name: &'static str, source: &'static str) -> Case {
    Case {
        name,
        source,
        changes: &[],
        with: &[],
        jemalloc: "",
        preloaded_only: false,
        slow: false,
        limit: 30,
        unsteady: false,
        remark: "",
    }
}

const fn in_its_place(name: &'static str, source: &'static str) -> Case {
    let remark = "the preloaded malloc in place of the program's own: nothing reaches glibc's";
    Case { preloaded_only: true, remark, ..case(name, source) }
}

/// posix_memalign gives its error as its result; POSIX has no errno for it, and ours leaves errno alone.
const READS_ERRNO: &str =
    "            if (errno == ENOMEM)\n              p = NULL;\n            else\n              {";
const READS_RESULT: &str = "            p = NULL;\n            if (0)\n              {";

/// All that run, in the order of the table.
pub const CASES: &[Case] = &[
    case("mallocbug", "mallocbug.c"),
    case("tst-calloc", "tst-calloc.c"),
    case("tst-free-errno", "tst-free-errno.c"),
    case("tst-interpose-nothread", "tst-interpose-nothread.c")
        .with(&["tst-interpose-aux-nothread.c"])
        .remark("the program defines malloc itself: the tracker stands aside"),
    in_its_place("tst-interpose-nothread, ours", "tst-interpose-nothread.c"),
    case("tst-interpose-thread", "tst-interpose-thread.c")
        .with(&["tst-interpose-aux-thread.c"])
        .remark("the program defines malloc itself: the tracker stands aside"),
    in_its_place("tst-interpose-thread, ours", "tst-interpose-thread.c"),
    case("tst-malloc", "tst-malloc.c"),
    case("tst-malloc-check", "tst-malloc-check.c").remark("without `MALLOC_CHECK_`, which is glibc's own"),
    case("tst-malloc-fork-deadlock", "tst-malloc-fork-deadlock.c").slow().limit(12).remark(
        "hangs over jemalloc, which locks itself for a fork before glibc locks its streams; the tracker holds the \
         streams' lock before",
    ),
    case("tst-malloc-thread-exit", "tst-malloc-thread-exit.c").slow(),
    Case {
        jemalloc: "narenas:1",
        ..case("tst-malloc-thread-fail", "tst-malloc-thread-fail.c").slow().changed(&[(READS_ERRNO, READS_RESULT)])
    }
    .remark(
        "posix_memalign's error is read from its result instead of from errno; jemalloc with one arena: a thread for \
         which there is no memory for an arena crashes jemalloc; Debian's jemalloc has no pvalloc",
    ),
    case("tst-malloc-too-large", "tst-malloc-too-large.c").slow().remark("Debian's jemalloc leaves whatever errno the kernel left"),
    case("tst-mallocalign1", "tst-mallocalign1.c"),
    Case { unsteady: true, ..case("tst-mallocfork", "tst-mallocfork.c") }.limit(12).remark(
        "hangs at times as plain jemalloc does: the signal handler forks while the program is in a fork, and jemalloc's \
         fork handler waits for itself",
    ),
    Case { unsteady: true, ..case("tst-mallocfork2", "tst-mallocfork2.c") }
        .slow()
        .limit(12)
        .changed(&[("iterations = 10000", "iterations = 300")])
        .remark(
            "300 rounds instead of 10,000; hangs at times as plain jemalloc does: a signal handler that interrupted \
             malloc forks, and jemalloc's fork handler waits for the lock that the interrupted call holds",
        ),
    case("tst-mallocfork3", "tst-mallocfork3.c").slow().changed(&[("iterations = 10000", "iterations = 300")]).remark(
        "300 rounds instead of 10,000",
    ),
    case("tst-memalign", "tst-memalign.c").remark("Debian's jemalloc leaves whatever errno the kernel left"),
    case("tst-obstack", "tst-obstack.c"),
    case("tst-posix_memalign", "tst-posix_memalign.c"),
    case("tst-pvalloc", "tst-pvalloc.c").remark("Debian's jemalloc has no pvalloc"),
    case("tst-pvalloc-fortify", "tst-pvalloc-fortify.c").remark("Debian's jemalloc has no pvalloc"),
    case("tst-realloc", "tst-realloc.c"),
    case("tst-reallocarray", "tst-reallocarray.c"),
    case("tst-tcfree1", "tst-tcfree1.c").remark(
        "frees twice and expects the abort; jemalloc does not look for that; a tracked block has no tag the second time",
    ),
    case("tst-tcfree2", "tst-tcfree2.c").remark(
        "frees twice and expects the abort; jemalloc does not look for that; a tracked block has no tag the second time",
    ),
    case("tst-tcfree3", "tst-tcfree3.c"),
    case("tst-trim1", "tst-trim1.c").remark("malloc_trim stays glibc's: it trims nothing of ours"),
    case("tst-valloc", "tst-valloc.c").remark("Debian's jemalloc leaves whatever errno the kernel left"),
];

const CONTAINERS: &str = "tests a container inside of glibc, of which programs have no header, not the allocator";
const PART: &str = "a part of the tst-interpose programs, no program";
const STATIC: &str = "linked statically with a malloc of its own: nothing can be preloaded";
const FIGURES: &str =
    "reads glibc's own figures (mallinfo, malloc_info, malloc_stats), which know nothing of another malloc";
const SETTINGS: &str = "sets glibc's own settings (mallopt, tunables)";
const DEBUGGING: &str =
    "needs glibc's libc_malloc_debug.so (MALLOC_CHECK_, hooks, mtrace), which is an allocator itself";
const CORRUPTS: &str = "writes into glibc's own chunks and expects glibc to notice";

/// Those that do not apply, and why.
pub const APART: &[(&str, &str)] = &[
    ("tst-alloc_buffer", CONTAINERS),
    ("tst-compathooks-off", DEBUGGING),
    ("tst-compathooks-on", DEBUGGING),
    ("tst-dynarray", CONTAINERS),
    ("tst-dynarray-at-fail", CONTAINERS),
    ("tst-dynarray-fail", CONTAINERS),
    ("tst-interpose-aux", PART),
    ("tst-interpose-aux-nothread", PART),
    ("tst-interpose-aux-thread", PART),
    ("tst-interpose-skeleton", PART),
    ("tst-interpose-static-nothread", STATIC),
    ("tst-interpose-static-thread", STATIC),
    ("tst-mallinfo2", FIGURES),
    ("tst-malloc-backtrace", CORRUPTS),
    ("tst-malloc-stats-cancellation", FIGURES),
    ("tst-malloc-tcache-leak", FIGURES),
    ("tst-malloc-usable", DEBUGGING),
    ("tst-malloc-usable-tunables", DEBUGGING),
    ("tst-malloc_info", FIGURES),
    ("tst-mallocstate", DEBUGGING),
    ("tst-mallopt", SETTINGS),
    ("tst-mtrace", DEBUGGING),
    ("tst-mxfast", SETTINGS),
    ("tst-safe-linking", CORRUPTS),
    ("tst-scratch_buffer", CONTAINERS),
];
