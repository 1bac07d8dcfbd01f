//! The arrows between crates, from `cargo metadata`, held to the block `floors crates`. Only dependencies that are
//! built into the product count, not those of tests.
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::LazyLock;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use crate::{ROOT, block, indented};

/// This machine's platform as rustc names it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

/// The resolved graph: name -> names that it needs to be built.
pub struct Graph {
    pub metadata: Metadata,
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Asked once: that takes a second.
    pub fn of_the_workspace() -> &'static Graph {
        static GRAPH: LazyLock<Graph> = LazyLock::new(Graph::ask);
        &GRAPH
    }

    fn ask() -> Graph {
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
        let needs = self.needs.get(package).unwrap_or_else(|| panic!("{package} is no package"));
        needs.iter().filter(member).map(String::as_str).collect()
    }
}

/// The viewer reads files: it never links the tracker, so that looking at a timeline is not tracked, and needs nothing
/// of libtorch. Of the replay it uses the model of PyTorch's allocator, which has no allocator, clock or thread.
#[test]
fn the_viewer_knows_the_format_and_the_models_alone() {
    let graph = Graph::of_the_workspace();
    assert_eq!(graph.own("viewer"), ["alloc-replay", "alloc-timeline"]);
    for other in ["alloc-tracker", "alloc-interpose", "alloc-torch", "tch", "torch-sys"] {
        assert!(!graph.closure("viewer").contains(other), "{other}");
    }
}

#[test]
fn the_tracker_knows_nothing_of_torch() {
    let graph = Graph::of_the_workspace();
    for package in ["alloc-tracker", "alloc-interpose", "alloc-replay", "alloc-timeline"] {
        let torch: Vec<String> =
            graph.closure(package).into_iter().filter(|name| name.contains("torch") || name == "tch").collect();
        assert_eq!(torch, [""; 0], "{package}");
    }
}

/// Each crate is on a floor and needs crates below its own alone.
#[test]
fn crates_use_only_crates_below_them() {
    let graph = Graph::of_the_workspace();
    let floors = block("crates").expect("docs/ARCHITECTURE.md has a block `floors crates`");
    let mut violations = Vec::new();
    for package in graph.metadata.workspace_packages() {
        if floors.level(&package.name).is_none() {
            violations.push(format!("{} stands on no floor", package.name));
        }
        let needs = graph.own(&package.name).into_iter();
        let violation =
            |need: &str| Some(format!("{} -> {need}: {}", package.name, floors.violation(&package.name, need)?));
        violations.extend(needs.filter_map(violation));
    }
    let packages = graph.metadata.workspace_packages();
    let gone = floors.floors.iter().flatten().filter(|name| !packages.iter().any(|own| own.name == name.as_str()));
    violations.extend(gone.map(|name| format!("there is no crate {name}, but a floor has it")));
    assert!(
        violations.is_empty(),
        "crates and `floors crates` in docs/ARCHITECTURE.md disagree:{}",
        indented(&violations)
    );
}

#[test]
fn the_arrows() {
    let graph = Graph::of_the_workspace();
    assert_eq!(graph.own("alloc-timeline"), [""; 0]);
    assert_eq!(graph.own("alloc-replay"), ["alloc-timeline"]);
    assert_eq!(graph.own("alloc-tracker"), ["alloc-replay", "alloc-timeline"]);
    assert_eq!(graph.own("alloc-interpose"), ["alloc-tracker"]);
    assert_eq!(graph.own("alloc-c"), ["alloc-tracker"]);
    assert_eq!(graph.own("alloc-preload"), ["alloc-c", "alloc-interpose", "alloc-torch-core", "alloc-tracker"]);
    assert_eq!(graph.own("alloc-tracker-cli"), ["alloc-preload", "alloc-timeline", "viewer"]);
    assert_eq!(graph.own("alloc-torch-core"), ["alloc-tracker"]);
    assert_eq!(graph.own("alloc-torch"), ["alloc-torch-core", "alloc-tracker"]);
    assert_eq!(graph.own("alloc-tracing"), ["alloc-tracker"]);
    let leaves = ["trainer-checkpoint", "trainer-cifar", "trainer-idx", "trainer-image-folder", "trainer-statistics"];
    for leaf in leaves {
        assert_eq!(graph.own(leaf), [""; 0], "{leaf}");
    }
    let trainer = [&["alloc-interpose", "alloc-timeline", "alloc-torch", "alloc-tracker"][..], &leaves].concat();
    assert_eq!(graph.own("trainer"), trainer);
}

/// A plain `cargo build` on a machine without libtorch.
#[test]
fn default_members_need_no_libtorch() {
    let graph = Graph::of_the_workspace();
    let defaults = graph.metadata.workspace_default_packages();
    assert!(defaults.iter().any(|package| package.name == "viewer"), "there are some");
    assert!(defaults.iter().any(|package| package.name == "alloc-torch-core"), "the core of alloc-torch is one");
    for package in defaults {
        let closure = graph.closure(&package.name);
        for torch in ["tch", "torch-sys", "alloc-torch"] {
            assert!(!closure.contains(torch) && package.name != torch, "{} needs {torch}", package.name);
        }
    }
}

/// Unsafe code gathers in the doors, sys and FFI; these have none.
#[test]
fn unsafe_is_forbidden_where_it_is_not_needed() {
    for file in [
        "alloc-tracker/timeline/src/lib.rs",
        "alloc-tracker/replay/src/lib.rs",
        "alloc-tracker/torch/core/src/lib.rs",
        "alloc-tracker/tracing/src/lib.rs",
        "trainer/cifar/src/lib.rs",
        "trainer/idx/src/lib.rs",
        "trainer/image-folder/src/lib.rs",
        "viewer/src/lib.rs",
        "viewer/src/main.rs",
        "xtask/src/main.rs",
    ] {
        let source =
            std::fs::read_to_string(format!("{ROOT}/{file}")).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.lines().any(|line| line == "#![forbid(unsafe_code)]"), "{file}");
    }
}

/// A small program that leaves the tracker's features out does not compile half of the registry with it.
#[test]
fn without_its_features_the_tracker_needs_at_most_30_crates() {
    let crates = |options: &[&str]| -> BTreeSet<String> {
        let mut command = Command::new(env!("CARGO"));
        command.args(["tree", "--offline", "--locked", "--package", "alloc-tracker", "--edges", "normal"]);
        let output = command.args(["--prefix", "none"]).args(options).current_dir(ROOT).output().expect("cargo tree");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        lines.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
    };
    let (small, whole) = (crates(&["--no-default-features"]), crates(&[]));
    assert!(small.len() <= 30, "{}: {small:?}", small.len());
    for optional in ["addr2line", "framehop", "nvml-wrapper", "psm"] {
        assert!(whole.contains(optional) && !small.contains(optional), "{optional}");
    }
}
