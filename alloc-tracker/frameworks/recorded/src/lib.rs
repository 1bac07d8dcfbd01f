//! Runs a program of this workspace under the profiler and reads the timeline that it leaves: for the tests.
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use alloc_timeline::{Category, NONE, Row, Scope, Snapshot, Timeline, load};

/// A program that has run.
#[derive(Debug)]
pub struct Recorded {
    /// What it left.
    pub timeline: Timeline,
    /// The loss of each step, as the program printed it.
    pub losses: Vec<f64>,
}

impl Recorded {
    /// Runs `program`, which is given the path of a timeline in `folder`. Every block is put into order, so that all counts
    /// are exact, those of small blocks too.
    ///
    /// # Panics
    /// When the program fails or leaves no timeline.
    pub fn run(program: &str, folder: &str) -> Recorded {
        std::fs::create_dir_all(folder).expect("a folder for the timeline");
        let path = Path::new(folder).join("run.timeline.json");
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("ALLOC_TRACKER")) {
            command.env_remove(name);
        }
        let output = command.arg(&path).env("ALLOC_TRACKER", "exact").output().expect("the program starts");
        let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program}: {}\n{text}{errors}", output.status);
        let losses = text.lines().filter_map(|line| line.split_once(": loss ")?.1.parse().ok()).collect();
        Recorded { timeline: load(&path).expect("a timeline"), losses }
    }

    /// Who owned what when the last mark called `mark` was set.
    ///
    /// # Panics
    /// When there is no such mark, or it has no snapshot.
    pub fn at(&self, mark: &str) -> &Snapshot {
        let mut snapshots =
            self.timeline.marks.iter().filter(|one| one.name == mark).filter_map(|one| one.snapshot.as_ref());
        snapshots.next_back().unwrap_or_else(|| panic!("no snapshot at a mark {mark}"))
    }

    /// Requested bytes of the blocks in `category` at `mark`, by layer.
    pub fn by_layer(&self, mark: &str, category: Category) -> BTreeMap<&str, u64> {
        self.sums(mark, |_, row| row.category == category)
    }

    /// Requested bytes of the blocks that `phase` allocated and that nobody labelled, at `mark`, by layer.
    pub fn unlabelled(&self, mark: &str, phase: &str) -> BTreeMap<&str, u64> {
        self.sums(mark, |scope, row| scope.phase == phase && row.category == Category::Other)
    }

    /// How many blocks were allocated in `phase` over the whole run, by layer. A block that got its layer by a label was
    /// allocated in none.
    pub fn allocations(&self, phase: &str) -> BTreeMap<&str, u64> {
        let mut allocations = BTreeMap::new();
        for row in &self.timeline.totals.by_scope {
            let scope = &self.timeline.scopes[row.scope as usize];
            if scope.phase == phase {
                *allocations.entry(layer_of(scope)).or_insert(0) += row.allocations;
            }
        }
        allocations
    }

    fn sums(&self, mark: &str, counts: impl Fn(&Scope, &Row) -> bool) -> BTreeMap<&str, u64> {
        let mut sums = BTreeMap::new();
        for row in &self.at(mark).rows {
            let scope = &self.timeline.scopes[row.scope as usize];
            if counts(scope, row) {
                *sums.entry(layer_of(scope)).or_insert(0) += row.requested_bytes;
            }
        }
        sums
    }
}

/// The layer of a scope, as tables have it.
fn layer_of(scope: &Scope) -> &str {
    if scope.layer.is_empty() { NONE } else { &scope.layer }
}
