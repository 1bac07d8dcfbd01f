//! The architecture, read from the sources and held to the floors that `docs/ARCHITECTURE.md` shows: a module uses only
//! modules on floors below its own, files use each other in no circle, every module has a floor.
//!
//! ```text
//! tree.rs (files, modules, names) -> resolve.rs (what a path means) --+
//!    |                                                                |
//!    +--> mentions.rs, tokens.rs (paths in the code) -----------------+--> arrows.rs (file -> file) --+
//!                                                                                                     |
//! docs/ARCHITECTURE.md -> floors.rs (which module may use which) -------------------------------------+--> circles.rs
//! ```
//!
//! `crates.rs` asks `cargo metadata` the same of the crates, and the two files of tests try all this on made-up
//! crates of a few lines. `documents.rs` looks whether the files are there that documents name.
mod only_tests;
mod tree;

mod resolve;

mod tokens;

mod mentions;

mod arrows;

mod circles;
mod floors;

mod crates;

mod documents;

mod floors_tests;
mod reader_tests;

use std::fs;
use std::path::Path;

use cargo_metadata::{Package, TargetKind};

use arrows::Arrows;
use crates::Graph;
use floors::Block;
use tree::Tree;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const DOCUMENT: &str = "docs/ARCHITECTURE.md";
/// Packages whose modules need no floors: they are no part of the product. Those of `tests/fuzz`, `tests/peers` and
/// `alloc-tracker/frameworks` are no members of the workspace, so nothing here sees them.
const EXEMPT: [&str; 1] = ["tests"];
/// Longer than this, a file is several things.
const MOST_LINES: usize = 350;

/// One crate of the product.
struct Sources {
    name: String,
    /// Its folder, relative to the workspace.
    folder: String,
    tree: Tree,
}

impl Sources {
    fn read(package: &Package) -> Sources {
        let folder = package.manifest_path.parent().expect("a manifest has a folder");
        let relative = |path: &cargo_metadata::camino::Utf8Path| {
            path.strip_prefix(folder).expect("sources are in the package's folder").to_string()
        };
        let of_kind = |kind: TargetKind| package.targets.iter().filter(move |target| target.kind.contains(&kind));
        let library = of_kind(TargetKind::Lib).next().map(|target| (target.name.clone(), relative(&target.src_path)));
        let binaries: Vec<String> = of_kind(TargetKind::Bin).map(|target| relative(&target.src_path)).collect();
        let tree = Tree::read(
            folder.as_std_path(),
            library.as_ref().map(|(name, root)| (name.as_str(), root.as_str())),
            &binaries.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let root = fs::canonicalize(ROOT).expect("the workspace");
        let folder = folder.as_std_path().strip_prefix(root).expect("members are in the workspace");
        Sources { name: package.name.to_string(), folder: folder.display().to_string(), tree }
    }

    fn arrows(&self) -> Arrows {
        arrows::read(&self.tree)
    }

    /// The blocks of this crate and of folders in it.
    fn blocks(&self) -> Vec<Block> {
        let inside =
            |name: &str| name.strip_prefix(&self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        blocks().into_iter().filter(|block| inside(&block.name)).collect()
    }
}

/// The crates of the product, all of them.
fn product() -> Vec<Sources> {
    let graph = Graph::of_the_workspace();
    let packages = graph.metadata.workspace_packages().into_iter();
    packages.filter(|package| !EXEMPT.contains(&package.name.as_str())).map(Sources::read).collect()
}

fn blocks() -> Vec<Block> {
    let document = fs::read_to_string(Path::new(ROOT).join(DOCUMENT)).expect("the document");
    floors::blocks(&document).unwrap_or_else(|problem| panic!("{DOCUMENT}: {problem}"))
}

/// The block `floors NAME`.
fn block(name: &str) -> Option<Block> {
    blocks().into_iter().find(|block| block.name == name)
}

/// Lines under a message.
fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// Panics with the violations in each crate.
fn no_violation(headline: &str, violations_in: impl Fn(&Sources) -> Vec<String>) {
    let product = product();
    let found: Vec<(&str, Vec<String>)> =
        product.iter().map(|sources| (sources.folder.as_str(), violations_in(sources))).collect();
    let report: String = found
        .iter()
        .filter(|(_, violations)| !violations.is_empty())
        .map(|(folder, violations)| format!("\n{folder} ({}):{}", violations.len(), indented(violations)))
        .collect();
    assert!(report.is_empty(), "{headline}{report}");
}

#[test]
fn every_crate_has_floors() {
    no_violation("give these crates a block `floors NAME` in docs/ARCHITECTURE.md:", |sources| {
        // A crate without modules has nothing to sort.
        let sorted = sources.tree.modules.iter().all(|module| module.path.is_empty()) || block(&sources.name).is_some();
        if sorted { Vec::new() } else { vec![format!("there is no block `floors {}`", sources.name)] }
    });
    let known: Vec<String> = product().into_iter().map(|sources| sources.name).chain(["crates".to_owned()]).collect();
    for block in blocks() {
        let of = block.name.split('/').next().unwrap_or_default();
        assert!(known.iter().any(|name| name == of), "{DOCUMENT}: `floors {}` is of no crate here", block.name);
    }
}

#[test]
fn every_module_stands_on_a_floor() {
    no_violation("modules and the floors in docs/ARCHITECTURE.md disagree:", |sources| {
        sources.blocks().iter().flat_map(|block| block.mismatches(&sources.tree)).collect()
    });
}

#[test]
fn no_arrow_runs_up_or_sideways() {
    no_violation(
        "a file may only use files of modules below its own; move the item down, pass it in, or change the floors:",
        |sources| {
            let arrows = sources.arrows();
            sources.blocks().iter().flat_map(|block| block.violations(&sources.tree, &arrows)).collect()
        },
    );
}

#[test]
fn files_use_each_other_in_no_circle() {
    no_violation(
        "files that need each other are one thing in two places; move what both need into a third:",
        |sources| circles::circles(&sources.arrows()),
    );
}

#[test]
fn no_file_is_too_long() {
    no_violation("files of the product have at most 350 lines; give a part a file of its own:", |sources| {
        let lines = |file: &&str| {
            let text = fs::read_to_string(Path::new(ROOT).join(&sources.folder).join(file)).expect("a source file");
            text.lines().count()
        };
        let counted = sources.tree.files().into_iter().map(|file| (file, lines(&file)));
        counted.filter(|(_, lines)| *lines > MOST_LINES).map(|(file, lines)| format!("{file}: {lines} lines")).collect()
    });
}
