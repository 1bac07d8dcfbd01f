//! Signal handlers that allocate.
use crate::counts::{came_to_nothing, did};
use crate::run::all_modes;

#[test]
fn a_handler_that_allocates() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-signals"), &["raise"]);
    came_to_nothing(&timeline, "handler");
    came_to_nothing(&timeline, "raised in");
    assert!(did(&timeline, "handler").0 >= 15_000);
}

#[test]
fn a_storm() {
    let (_, timeline) = all_modes(env!("CARGO_BIN_EXE_victim-trap-signals"), &["storm"]);
    came_to_nothing(&timeline, "stormed");
}
