//! What a path means: the module or the item that it leads to, through `use`, `pub use`, renames and globs.
use std::collections::BTreeSet;

use crate::tree::{Meaning, ModuleId, Tree};

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Module(ModuleId),
    /// An item of that name, defined in that module.
    Item(ModuleId, String),
    /// Another crate.
    Outside,
}

/// Entries that are being looked at already: imports may name each other in a circle.
type Open = BTreeSet<(ModuleId, String, usize)>;

impl Tree {
    /// What `path` means to code in `module`; nothing when its first name is unknown there. A path into a module of
    /// this crate whose last names are not found (macros may make items) is an item of that module.
    pub fn resolve(&self, module: ModuleId, path: &[String]) -> Vec<Target> {
        self.follow(module, path, &mut Open::new())
    }

    /// Whether code in `from` finds `name` in `module`.
    pub fn knows(&self, module: ModuleId, name: &str, from: ModuleId) -> bool {
        !self.lookup(module, name, from, &mut Open::new()).is_empty()
    }

    fn follow(&self, from: ModuleId, path: &[String], open: &mut Open) -> Vec<Target> {
        let Some(first) = path.first() else { return Vec::new() };
        let parent = |module: ModuleId| self.modules[module].parent;
        let (mut targets, mut rest) = match first.as_str() {
            "crate" => (vec![Target::Module(self.root_of(from))], &path[1..]),
            "self" => (vec![Target::Module(from)], &path[1..]),
            "super" => (parent(from).map(Target::Module).into_iter().collect(), &path[1..]),
            name => {
                let mut targets = self.lookup(from, name, from, open);
                // A binary calls its library by name.
                if let Some((library, root)) = &self.library
                    && targets.is_empty()
                    && library == name
                {
                    targets = vec![Target::Module(*root)];
                }
                (targets, &path[1..])
            }
        };
        while let [name, after @ ..] = rest {
            // Only modules (and types, which end the search) have something behind `::`.
            let Some(module) = targets.iter().find_map(|target| match target {
                Target::Module(module) => Some(*module),
                _ => None,
            }) else {
                return targets;
            };
            targets = if name == "super" {
                parent(module).map(Target::Module).into_iter().collect()
            } else {
                self.lookup(module, name, from, open)
            };
            if targets.is_empty() {
                return vec![Target::Item(module, name.clone())];
            }
            rest = after;
        }
        targets
    }

    /// What `name` means in `module` to code in `from`.
    fn lookup(&self, module: ModuleId, name: &str, from: ModuleId, open: &mut Open) -> Vec<Target> {
        let mut targets: Vec<Target> = Vec::new();
        let here = &self.modules[module];
        for (index, entry) in here.names.get(name).into_iter().flatten().enumerate() {
            if entry.private && !self.is_inside(from, module) {
                continue;
            }
            match &entry.meaning {
                Meaning::Module(child) => targets.push(Target::Module(*child)),
                Meaning::Item(definer) => targets.push(Target::Item(*definer, name.to_owned())),
                Meaning::Import(path) => {
                    let key = (module, name.to_owned(), index);
                    if open.insert(key.clone()) {
                        let found = self.follow(module, path, open);
                        targets.extend(if found.is_empty() { vec![Target::Outside] } else { found });
                        open.remove(&key);
                    }
                }
            }
        }
        if targets.is_empty() {
            for (index, glob) in here.globs.iter().enumerate() {
                let key = (module, format!("*{name}"), index);
                if open.insert(key.clone()) {
                    for target in self.follow(module, &glob.path, open) {
                        if let Target::Module(all_of) = target {
                            targets.extend(self.lookup(all_of, name, from, open));
                        }
                    }
                    open.remove(&key);
                }
            }
        }
        targets.dedup();
        targets
    }
}
