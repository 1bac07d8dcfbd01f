//! Floors and circles, tried on made-up documents and arrows.
use std::fs;

use crate::arrows::Arrows;
use crate::circles::circles;
use crate::floors::{Block, blocks};
use crate::tree::Tree;

fn arrows(pairs: &[(&str, &str)]) -> Arrows {
    let arrow =
        |(from, to): &(&str, &str)| ((format!("src/{from}.rs"), format!("src/{to}.rs")), ["X".to_owned()].into());
    pairs.iter().map(arrow).collect()
}

fn block(text: &str) -> Block {
    blocks(&format!("```floors made-up{text}\n```")).expect("a good block").remove(0)
}

/// A crate with these files, none of which uses another.
fn tree(files: &[(&str, &str)]) -> Tree {
    let package = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = package.path().join("src").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    Tree::read(package.path(), Some(("made_up", "src/lib.rs")), &[])
}

fn three() -> Tree {
    tree(&[("lib.rs", "mod a; mod b; mod c;"), ("a.rs", ""), ("b.rs", ""), ("c.rs", "")])
}

#[test]
fn a_document_with_blocks() {
    let document =
        "# Title\n\n```floors one\na - the ground\nb, c - side by side\n```\n```\nno block\n```\n```floors one/c\n```";
    let expected = [("one", vec![vec!["a"], vec!["b", "c"]]), ("one/c", vec![])];
    let found = blocks(document).expect("good blocks");
    assert_eq!(found.len(), expected.len());
    for (block, (name, floors)) in found.iter().zip(expected) {
        assert_eq!(block.name, name);
        assert_eq!(block.floors, floors);
    }
}

#[test]
fn a_block_that_cannot_be_read() {
    let error = |document: &str| blocks(document).expect_err("a bad block");
    assert_eq!(error("```floors x\na\nb, a\n```"), "`a` stands twice in the block `floors x`");
    assert_eq!(error("```floors x\na\n"), "the block `floors x` has no end");
    assert_eq!(error("```floors x\n```\n```floors x\n```"), "there are two blocks `floors x`");
    assert_eq!(error("```floors x\na b\n```"), "`a b` in the block `floors x` is not `module, module - explanation`");
}

#[test]
fn up_and_sideways_are_against_the_floors() {
    let used = arrows(&[("a", "b"), ("b", "a"), ("b", "c"), ("a", "lib"), ("lib", "c")]);
    assert_eq!(
        block("\na\nb, c").violations(&three(), &used),
        [
            "src/a.rs -> src/b.rs: X (b stands above a)",
            "src/a.rs -> src/lib.rs: X (src/lib.rs stands above a)",
            "src/b.rs -> src/c.rs: X (b and c share a floor)",
        ]
    );
}

#[test]
fn modules_and_floors_that_lack_each_other() {
    assert_eq!(block("\na, b, c").mismatches(&three()), [""; 0]);
    assert_eq!(
        block("\na\nb, d").mismatches(&three()),
        ["made-up: module c stands on no floor", "made-up: there is no module d, but a floor has it",]
    );
}

/// A block for a folder sorts what is in it; its `mod.rs` is on top, or where `mod` stands.
#[test]
fn a_folder_with_floors_of_its_own() {
    let tree = tree(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod x; mod y;"),
        ("a/x.rs", "mod deep;"),
        ("a/x/deep.rs", ""),
        ("a/y.rs", ""),
    ]);
    let used = arrows(&[("a/x/deep", "a/y"), ("a/y", "a/mod"), ("lib", "a/y")]);
    let top = block("/a\nx\ny");
    assert_eq!(top.mismatches(&tree), [""; 0]);
    assert_eq!(
        top.violations(&tree, &used),
        [
            "src/a/x/deep.rs -> src/a/y.rs: X (y stands above x)",
            "src/a/y.rs -> src/a/mod.rs: X (src/a/mod.rs stands above y)",
        ]
    );
    assert_eq!(block("/a\nmod\ny\nx").violations(&tree, &used), [""; 0]);
}

#[test]
fn circles_of_files() {
    assert_eq!(circles(&arrows(&[("a", "b"), ("b", "c"), ("a", "c")])), [""; 0]);
    // The short one first; with it the long one has gone.
    let used = arrows(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "d")]);
    assert_eq!(circles(&used), ["src/a.rs -> src/b.rs -> src/a.rs: X; X"]);
    let used = arrows(&[("a", "b"), ("b", "c"), ("c", "a")]);
    assert_eq!(circles(&used), ["src/a.rs -> src/b.rs -> src/c.rs -> src/a.rs: X; X; X"]);
}
