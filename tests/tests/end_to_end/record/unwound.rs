//! Stacks through code that is unusual to unwind, on x86-64.
use tests::{folder, text};

use super::programs::compiled;
use super::recorded_stacks;

/// Three functions allocate 10,000 blocks of 1,000 bytes each: one that `main` calls, one behind a function in assembly that has no unwind table,
/// and one on the stack of a context.
const SOURCE: &str = r#"
#include <stdlib.h>
#include <ucontext.h>
#define FUNCTION(name) __attribute__((noinline)) void name(void) { \
    for (int block = 0; block < 10000; block++) { \
        void *kept = malloc(1000); \
        __asm__ volatile("" : : "r"(kept) : "memory"); \
    } \
}
FUNCTION(called)
FUNCTION(behind)
FUNCTION(within)
__asm__(".text\n.globl without_table\nwithout_table:\n subq $8, %rsp\n call behind\n addq $8, %rsp\n ret\n");
void without_table(void);
static ucontext_t outer, inner;
static char stack[1 << 16];
int main(void) {
    called();
    without_table();
    getcontext(&inner);
    inner.uc_stack.ss_sp = stack;
    inner.uc_stack.ss_size = sizeof stack;
    inner.uc_link = &outer;
    makecontext(&inner, within, 0);
    swapcontext(&outer, &inner);
    return 0;
}
"#;

/// Behind a function without a table it is not sure who called it: the stack says that it may lack calls. The first function of a context
/// has no caller, and such a stack lacks none.
#[test]
fn a_stack_says_whether_it_may_lack_calls() {
    let folder = folder();
    let Some(program) = compiled(folder.path(), "unwound.c", SOURCE) else { return };
    let (ran, stacks) = recorded_stacks(folder.path(), &[text(&program)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for (function, is_cut) in [("called", false), ("behind", true), ("within", false)] {
        let of_it: Vec<_> = stacks.iter().filter(|(calls, _)| calls.contains(&format!(";{function};"))).collect();
        assert!(
            !of_it.is_empty() && of_it.iter().all(|(calls, _)| calls.contains("(cut)") == is_cut),
            "{function}: {stacks:?}"
        );
    }
}
