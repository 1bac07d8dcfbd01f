//! The arrows of the workspace, from `cargo metadata`: trainer -> alloc-tracker, alloc-interpose, alloc-torch ->
//! alloc-timeline <- viewer. Only dependencies that are built into the product count, not those of tests.
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// This machine's platform as rustc names it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

/// The resolved graph: name -> names that it needs to be built.
struct Graph {
    metadata: Metadata,
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn of_the_workspace() -> Graph {
        let manifest = format!("{ROOT}/Cargo.toml");
        // Packages that only other platforms need were never downloaded.
        let options = ["--offline", "--locked", "--filter-platform", &host()].map(str::to_owned);
        let metadata = MetadataCommand::new().manifest_path(manifest).other_options(options).exec();
        let metadata = metadata.expect("cargo metadata");
        let name = |id: &cargo_metadata::PackageId| metadata[id].name.to_string();
        let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in &metadata.resolve.as_ref().expect("a resolved graph").nodes {
            let built = |dependency: &&cargo_metadata::NodeDep| {
                dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development)
            };
            needs
                .entry(name(&node.id))
                .or_default()
                .extend(node.deps.iter().filter(built).map(|dependency| name(&dependency.pkg)));
        }
        Graph { metadata, needs }
    }

    /// Everything that `package` needs, however far away.
    fn closure(&self, package: &str) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        let mut open = vec![package.to_owned()];
        while let Some(next) = open.pop() {
            for need in self.needs.get(&next).unwrap_or_else(|| panic!("{next} is no package")) {
                if seen.insert(need.clone()) {
                    open.push(need.clone());
                }
            }
        }
        seen
    }

    /// The members of this workspace that `package` names itself.
    fn own(&self, package: &str) -> Vec<&str> {
        let member = |name: &&String| self.metadata.workspace_packages().iter().any(|own| own.name == name.as_str());
        self.needs[package].iter().filter(member).map(String::as_str).collect()
    }
}

/// The viewer reads files: it never links the tracker, so that looking at a timeline is not tracked, and needs nothing
/// of libtorch.
#[test]
fn the_viewer_knows_the_format_alone() {
    let graph = Graph::of_the_workspace();
    assert_eq!(graph.own("viewer"), ["alloc-timeline"]);
    for other in ["alloc-tracker", "alloc-interpose", "alloc-torch", "tch", "torch-sys"] {
        assert!(!graph.closure("viewer").contains(other), "{other}");
    }
}

#[test]
fn the_tracker_knows_nothing_of_torch() {
    let graph = Graph::of_the_workspace();
    for package in ["alloc-tracker", "alloc-interpose", "alloc-timeline"] {
        let torch: Vec<String> =
            graph.closure(package).into_iter().filter(|name| name.contains("torch") || name == "tch").collect();
        assert_eq!(torch, [""; 0], "{package}");
    }
}

#[test]
fn the_arrows() {
    let graph = Graph::of_the_workspace();
    assert_eq!(graph.own("alloc-timeline"), [""; 0]);
    assert_eq!(graph.own("alloc-tracker"), ["alloc-timeline"]);
    assert_eq!(graph.own("alloc-interpose"), ["alloc-tracker"]);
    assert_eq!(graph.own("alloc-torch"), ["alloc-tracker"]);
    assert_eq!(graph.own("trainer"), ["alloc-interpose", "alloc-timeline", "alloc-torch", "alloc-tracker"]);
}

/// A plain `cargo build` on a machine without libtorch.
#[test]
fn default_members_need_no_libtorch() {
    let graph = Graph::of_the_workspace();
    let defaults = graph.metadata.workspace_default_packages();
    assert!(defaults.iter().any(|package| package.name == "viewer"), "there are some");
    for package in defaults {
        let closure = graph.closure(&package.name);
        for torch in ["tch", "torch-sys", "alloc-torch"] {
            assert!(!closure.contains(torch) && package.name != torch, "{} needs {torch}", package.name);
        }
    }
}

/// Unsafe code gathers in the doors, sys and FFI; these two have none.
#[test]
fn unsafe_is_forbidden_where_it_is_not_needed() {
    for file in ["alloc-tracker/timeline/src/lib.rs", "viewer/src/lib.rs", "viewer/src/main.rs"] {
        let source = std::fs::read_to_string(format!("{ROOT}/{file}")).expect("a source file");
        assert!(source.lines().any(|line| line == "#![forbid(unsafe_code)]"), "{file}");
    }
}
