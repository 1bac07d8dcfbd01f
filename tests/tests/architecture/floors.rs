//! The floors of `docs/ARCHITECTURE.md`: which module may use which.
use std::collections::{BTreeMap, BTreeSet};

use crate::arrows::Arrows;
use crate::tree::{Module, Tree};

/// One fenced block: `floors NAME`, then the floors from the ground up.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// A package, or a folder in it: `viewer`, `viewer/view`.
    pub name: String,
    /// Each floor's modules; none of them uses another.
    pub floors: Vec<Vec<String>>,
}

/// A floor's number, the ground first.
type Level = usize;

/// The blocks of a document.
///
/// # Errors
/// A sentence on the first block that cannot be read.
pub fn blocks(document: &str) -> Result<Vec<Block>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("```floors ").map(str::trim) else { continue };
        if blocks.iter().any(|block| block.name == name) {
            return Err(format!("there are two blocks `floors {name}`"));
        }
        let mut block = Block { name: name.to_owned(), floors: Vec::new() };
        loop {
            let line = lines.next().ok_or_else(|| format!("the block `floors {name}` has no end"))?;
            if line.starts_with("```") {
                break;
            }
            let modules = line.split(" - ").next().unwrap_or(line);
            let floor: Vec<String> = modules.split(',').map(|module| module.trim().to_owned()).collect();
            if let Some(twice) = floor.iter().find(|module| block.level(module).is_some()) {
                return Err(format!("`{twice}` stands twice in the block `floors {name}`"));
            }
            if floor.iter().any(|module| module.is_empty() || module.contains(' ')) {
                return Err(format!("`{line}` in the block `floors {name}` is not `module, module - explanation`"));
            }
            block.floors.push(floor);
        }
        blocks.push(block);
    }
    Ok(blocks)
}

impl Block {
    /// The floor of a module.
    pub fn level(&self, module: &str) -> Option<Level> {
        self.floors.iter().position(|floor| floor.iter().any(|name| name == module))
    }

    /// What is wrong with using `to` from `from`, in words.
    pub fn violation(&self, from: &str, to: &str) -> Option<String> {
        let (own, other) = (self.level(from)?, self.level(to)?);
        match own.cmp(&other) {
            _ if from == to => None,
            std::cmp::Ordering::Greater => None,
            std::cmp::Ordering::Equal => Some(format!("{from} and {to} share a floor")),
            std::cmp::Ordering::Less => Some(format!("{to} stands above {from}")),
        }
    }

    /// The path of the folder whose modules this block sorts.
    fn folder(&self) -> Vec<&str> {
        self.name.split('/').skip(1).collect()
    }

    /// The module directly in this block's folder to which `module` belongs; `None` for modules elsewhere. Code of the
    /// folder itself (`lib.rs`, `main.rs`, `mod.rs`) is called `mod`.
    fn member<'a>(&self, module: &'a Module) -> Option<&'a str> {
        let folder = self.folder();
        let (own, below) = module.path.split_at_checked(folder.len())?;
        (own == folder).then(|| below.first().map_or("mod", String::as_str))
    }

    /// Modules in the sources and on no floor, or the other way round.
    pub fn mismatches(&self, tree: &Tree) -> Vec<String> {
        let members: BTreeSet<&str> = tree.modules.iter().filter_map(|module| self.member(module)).collect();
        let missing = members.iter().filter(|member| **member != "mod" && self.level(member).is_none());
        let missing = missing.map(|member| format!("{}: module {member} stands on no floor", self.name));
        let written = self.floors.iter().flatten().filter(|module| *module != "mod");
        let gone = written.filter(|module| !members.contains(module.as_str()));
        let gone = gone.map(|module| format!("{}: there is no module {module}, but a floor has it", self.name));
        missing.chain(gone).collect()
    }

    /// The arrows between this block's modules that run up or sideways.
    pub fn violations(&self, tree: &Tree, arrows: &Arrows) -> Vec<String> {
        // A file is where its outermost module is.
        let mut homes: BTreeMap<&str, &Module> = BTreeMap::new();
        for module in &tree.modules {
            let home = homes.entry(&module.file).or_insert(module);
            if module.path.len() < home.path.len() {
                *home = module;
            }
        }
        // The folder's own code is on top, where the block does not say otherwise.
        let place = |file: &str| self.member(homes[file]);
        let mut violations = Vec::new();
        for ((from, to), names) in arrows {
            let (Some(own), Some(other)) = (place(from), place(to)) else { continue };
            let on_top = |module: &str| module == "mod" && self.level("mod").is_none();
            let violation = match (on_top(own), on_top(other)) {
                (false, true) => Some(format!("{to} stands above {own}")),
                (true, _) => None,
                (false, false) => self.violation(own, other),
            };
            if let Some(violation) = violation {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                violations.push(format!("{from} -> {to}: {} ({violation})", names.join(", ")));
            }
        }
        violations
    }
}
