//! What a program does with PyTorch comes out the same under `alloc-tracker record` as without, to the last bit and to the last word on
//! standard error: networks that are copied, saved, loaded, traced, exported and differentiated, and every module, loss and optimizer. Each
//! program runs plainly beside it, by the Python that `ALLOC_TRACKER_TEST_PYTHON` names, or `python3`.
use alloc_timeline::Ending;
use tests::text;

use super::beside::program;
use super::python_torch::python;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/python_survival_torch");

/// Runs the script, which must print these words at the beginnings of lines.
fn check(words: &[&str], said: &[&str]) {
    check_ending(words, said, 0);
}

/// Runs the script, which must end with this code and print these words at the beginnings of lines.
fn check_ending(words: &[&str], said: &[&str], code: i32) {
    let Some(python) = python() else { return };
    let path = format!("{SCRIPTS}/{}", words[0]);
    let words: Vec<&str> = [path.as_str()].into_iter().chain(words[1..].iter().copied()).collect();
    let (plain, endings) = program(text(python.get_program().as_ref()), &words).runs_the_same();
    assert_eq!((plain.code, &endings[..]), (Some(code), &[Ending::Exit][..]), "{}", plain.stderr);
    for said in said {
        assert!(plain.stdout.lines().any(|line| line.starts_with(said)), "{said}: {}", plain.stdout);
    }
}

#[test]
fn deepcopy() {
    check(&["deepcopy.py"], &["trained [", "its copy from before [", "hooks 0 0 True", "refused Only Tensors"]);
}

#[test]
fn torch_save_and_load() {
    check(&["saved.py"], &["whole [", "pickled [", "goes on {", "refused "]);
}

#[test]
fn load_state_dict_that_assigns() {
    check(&["assigned.py"], &["another object False True", "no bytes meta", "trained [", "refused Error"]);
}

#[test]
fn parameters_that_are_swapped() {
    check(&["swapped.py"], &["swapped [torch.float64, ", "the same objects True", "loaded <All keys matched"]);
}

#[test]
fn methods_that_are_replaced_and_put_back() {
    let said = ["the same True True 9", "many tensor(190.) tensor(226.)", "pickled True", "refused Sequential.forward"];
    check(&["patched.py"], &said);
}

/// With the frames of every traceback.
#[test]
fn exceptions_in_modules() {
    let said = [
        "KeyError: 'a key'",
        "KeyboardInterrupt: stopped",
        "StopIteration: 7",
        "hooks of all modules 0 0",
        "after Seq",
    ];
    check_ending(&["raised.py"], &said, 1);
}

/// With the frames of every traceback, whether a backward pass is their way or a loader.
#[test]
fn exceptions_that_pass_backward_or_a_loader() {
    let said = [
        "raised ValueError",
        "raised RuntimeError",
        "raised KeyError",
        "raised KeyboardInterrupt",
        "gradients tensor([3., 3., 3.])",
    ];
    check(&["passed.py"], &said);
}

/// Python calls a signal's handler in the next function in Python, which may be one of the package's.
#[test]
fn signals_that_arrive_in_a_backward_pass() {
    let said = [
        "raised KeyboardInterrupt in backward",
        "raised Late in backward",
        "KeyboardInterrupt lost 0",
        "Late lost 0",
        "trained ",
    ];
    check(&["signalled.py"], &said);
}

#[test]
fn checkpoint_that_is_reentrant() {
    check(
        &["checkpointed.py", "reentrant"],
        &["gradients {", "sequential [", "raised in the part", "one within another {"],
    );
}

#[test]
fn checkpoint_that_is_not_reentrant() {
    check(
        &["checkpointed.py", "not_reentrant"],
        &["gradients {", "sequential [", "raised in the part", "one within another {"],
    );
}

#[test]
fn jit_trace() {
    check(&["traced.py", "trace"], &["network ", "chooses ", "saved (16, ", "the module itself ["]);
}

#[test]
fn jit_script() {
    check(&["traced.py", "script"], &["network ", "chooses ", "saved (16, ", "the module itself ["]);
}

#[test]
fn export() {
    check(&["exported.py"], &["program ", "gradients {", "saved (7, 8)", "the module itself (16, 8)"]);
}

#[test]
fn fx() {
    check(&["symbolic.py"], &["graph ", "node output", "trained [", "operators ", "refused "]);
}

#[test]
fn func() {
    check(&["functional.py"], &["grad {", "each example {", "hessian (32, 32)", "many at once (3, 16, 8)"]);
}

#[test]
fn every_module_and_loss() {
    check(&["modules.py"], &["Transformer ", "CTCLoss ", "LazyConv3d ", "without a row: []"]);
}

#[test]
fn every_optimizer() {
    check(&["optimizers.py"], &["Adam ", "LBFGS ", "SparseAdam ", "hooks [before, after]", "without a row: []"]);
}
