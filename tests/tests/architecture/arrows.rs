//! Arrows between files: a file points at each file whose items it mentions.
//!
//! A path leads to the file that *defines* the item: a re-export on the way is no arrow, and neither is `pub use` of a
//! module's own children.
use std::collections::{BTreeMap, BTreeSet};

use syn::{ImplItem, Item};

use crate::mentions::{self, Mention};
use crate::resolve::Target;
use crate::tree::{ModuleId, Tree};

/// From a file to a file, with the names that are used.
pub type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// A type: the module that defines it, and its name.
type TypeId = (ModuleId, String);
/// Where the methods of the crate's own types stand; those of traits are not among them.
type Methods = BTreeMap<(TypeId, String), BTreeSet<ModuleId>>;

/// All arrows of a crate.
pub fn read(tree: &Tree) -> Arrows {
    let methods = methods(tree);
    let mut arrows = Arrows::new();
    for module in 0..tree.modules.len() {
        let mut reader = Reader { tree, methods: &methods, module, arrows: &mut arrows };
        let mentions = mentions::mentions(&tree.modules[module].code);
        mentions.iter().for_each(|mention| reader.mention(mention));
        reader.globs(&mentions);
    }
    arrows
}

fn methods(tree: &Tree) -> Methods {
    let mut methods = Methods::new();
    for (module, its) in tree.modules.iter().enumerate() {
        for item in &its.code {
            let Item::Impl(block) = item else { continue };
            if block.trait_.is_some() {
                continue;
            }
            let Some(of) = mentions::type_of(block).and_then(|path| type_at(tree, module, &path)) else { continue };
            let names = block.items.iter().filter_map(|item| match item {
                ImplItem::Fn(item) => Some(&item.sig.ident),
                ImplItem::Const(item) => Some(&item.ident),
                _ => None,
            });
            for name in names {
                methods.entry((of.clone(), name.to_string())).or_default().insert(module);
            }
        }
    }
    methods
}

/// The crate's own type to which `path` leads.
fn type_at(tree: &Tree, module: ModuleId, path: &[String]) -> Option<TypeId> {
    tree.resolve(module, path).into_iter().find_map(|target| match target {
        Target::Item(definer, name) => Some((definer, name)),
        _ => None,
    })
}

/// The arrows that begin in one module.
struct Reader<'a> {
    tree: &'a Tree,
    methods: &'a Methods,
    module: ModuleId,
    arrows: &'a mut Arrows,
}

impl Reader<'_> {
    fn arrow(&mut self, to: ModuleId, name: String) {
        let (from, to) = (&self.tree.modules[self.module].file, &self.tree.modules[to].file);
        if from != to {
            self.arrows.entry((from.clone(), to.clone())).or_default().insert(name);
        }
    }

    fn mention(&mut self, mention: &Mention) {
        match mention {
            Mention::Import { path, re_export } => {
                for (definer, name) in self.items(path) {
                    if !(*re_export && self.tree.is_inside(definer, self.module)) {
                        self.arrow(definer, name);
                    }
                }
            }
            Mention::Path(path) => {
                for (definer, name) in self.items(path) {
                    // Behind a type's name stands a method of it, perhaps in another file.
                    if let Some(last) = path.last().filter(|last| **last != name) {
                        self.method((definer, name.clone()), last);
                    }
                    self.arrow(definer, name);
                }
            }
            Mention::Macro(name) => {
                let path = std::slice::from_ref(name);
                let mut targets = self.items(path);
                // A macro that no path leads to is found by the order of the text.
                if let (true, Some([definer])) = (targets.is_empty(), self.tree.macros.get(name).map(Vec::as_slice)) {
                    targets.push((*definer, name.clone()));
                }
                targets.into_iter().for_each(|(definer, name)| self.arrow(definer, name));
            }
            Mention::Method { of, name } => {
                if let Some(of) = type_at(self.tree, self.module, of) {
                    self.method(of, name);
                }
            }
        }
    }

    /// The items of this crate to which `path` leads.
    fn items(&self, path: &[String]) -> Vec<(ModuleId, String)> {
        let targets = self.tree.resolve(self.module, path).into_iter();
        let item = |target| match target {
            Target::Item(definer, name) => Some((definer, name)),
            Target::Module(_) | Target::Outside => None,
        };
        targets.filter_map(item).collect()
    }

    fn method(&mut self, of: TypeId, name: &str) {
        let called = format!("{}::{name}", of.1);
        let files = self.methods.get(&(of, name.to_owned())).cloned().unwrap_or_default();
        files.into_iter().for_each(|file| self.arrow(file, called.clone()));
    }

    /// Names that come through a glob have their arrows by now. A glob through which none comes may still be there for
    /// a trait's methods: it is an arrow to the module itself, called `*`.
    fn globs(&mut self, mentions: &[Mention]) {
        let here = &self.tree.modules[self.module];
        let first_names: BTreeSet<&String> = mentions
            .iter()
            .filter_map(|mention| match mention {
                Mention::Path(path) => path.first(),
                Mention::Macro(name) => Some(name),
                _ => None,
            })
            .filter(|name| !here.names.contains_key(*name))
            .collect();
        for glob in &here.globs {
            for target in self.tree.resolve(self.module, &glob.path) {
                match target {
                    // Its own child's names, for others.
                    Target::Module(child) | Target::Item(child, _)
                        if glob.re_export && self.tree.is_inside(child, self.module) => {}
                    Target::Module(all_of) => {
                        if !first_names.iter().any(|name| self.tree.knows(all_of, name, self.module)) {
                            self.arrow(all_of, "*".to_owned());
                        }
                    }
                    // An enum's variants.
                    Target::Item(definer, name) => self.arrow(definer, name),
                    Target::Outside => {}
                }
            }
        }
    }
}
