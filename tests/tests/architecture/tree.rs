//! A crate's sources as a tree of modules: which file each module stands in, what each names, and its code. What only
//! tests see is left out.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;
use syn::{Attribute, Item, ItemUse, UseTree, Visibility};

use crate::only_tests;

/// A module's number in its tree.
pub type ModuleId = usize;

/// One package: its library and its binaries.
#[derive(Default)]
pub struct Tree {
    pub modules: Vec<Module>,
    /// The library's name in paths, and its root.
    pub library: Option<(String, ModuleId)>,
    /// `macro_rules!` by name, as code that stands below them in the text finds them.
    pub macros: BTreeMap<String, Vec<ModuleId>>,
}

/// A module, in a file of its own or inline.
pub struct Module {
    /// Names from the crate's root, without the root itself.
    pub path: Vec<String>,
    /// The file, relative to the package.
    pub file: String,
    pub parent: Option<ModuleId>,
    /// What stands in this module under each name.
    pub names: BTreeMap<String, Vec<Entry>>,
    pub globs: Vec<Glob>,
    pub code: Vec<Item>,
}

/// One meaning of a name in a module.
pub struct Entry {
    pub meaning: Meaning,
    /// Only the module itself and those inside it see it.
    pub private: bool,
}

/// `use path::*;`
pub struct Glob {
    pub path: Vec<String>,
    /// `pub use path::*;`
    pub re_export: bool,
}

/// What a name stands for.
#[derive(Clone)]
pub enum Meaning {
    Module(ModuleId),
    /// A function, type, constant, macro ... defined in that module.
    Item(ModuleId),
    /// `use` of this path.
    Import(Vec<String>),
}

/// One path of a `use`, without braces.
pub struct Import {
    pub path: Vec<String>,
    pub bound: Bound,
}

/// What an import binds.
pub enum Bound {
    Name(String),
    /// `as _`
    Nothing,
    /// `::*`
    Glob,
}

impl Tree {
    /// Reads the files that `roots` (relative to the folder `package`) and their `mod` lines lead to.
    pub fn read(package: &Path, library: Option<(&str, &str)>, binaries: &[&str]) -> Tree {
        let mut tree = Tree::default();
        if let Some((name, root)) = library {
            let id = tree.root(package, root);
            tree.library = Some((name.to_owned(), id));
        }
        for root in binaries {
            tree.root(package, root);
        }
        tree
    }

    /// Every file that has been read.
    pub fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.modules.iter().map(|module| module.file.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    fn root(&mut self, package: &Path, root: &str) -> ModuleId {
        let folder = Path::new(root).parent().unwrap_or(Path::new("")).to_owned();
        self.file(package, root.to_owned(), &folder, Vec::new(), None)
    }

    /// Reads a file; its child modules are looked for in `folder`.
    fn file(
        &mut self,
        package: &Path,
        file: String,
        folder: &Path,
        path: Vec<String>,
        parent: Option<ModuleId>,
    ) -> ModuleId {
        let text = fs::read_to_string(package.join(&file))
            .unwrap_or_else(|error| panic!("{file}: {error}; a `mod` line leads there"));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.module(package, file, folder, path, parent, parsed.items)
    }

    fn module(
        &mut self,
        package: &Path,
        file: String,
        folder: &Path,
        path: Vec<String>,
        parent: Option<ModuleId>,
        items: Vec<Item>,
    ) -> ModuleId {
        let id = self.modules.len();
        let (names, globs) = (BTreeMap::new(), Vec::new());
        self.modules.push(Module { path: path.clone(), file: file.clone(), parent, names, globs, code: Vec::new() });
        for item in items {
            if only_tests::item(&item) {
                continue;
            }
            let Item::Mod(child) = item else {
                self.name(id, &item);
                for import in imports_in_bodies(&item) {
                    self.name_imports(id, &import);
                }
                self.modules[id].code.push(item);
                continue;
            };
            let name = child.ident.to_string();
            if name == "tests" {
                continue;
            }
            let mut child_path = path.clone();
            child_path.push(name.clone());
            let child_folder = folder.join(&name);
            let private = matches!(child.vis, Visibility::Inherited);
            let child = match child.content {
                Some((_, inside)) => self.module(package, file.clone(), &child_folder, child_path, Some(id), inside),
                None => {
                    let beside = Path::new(&file).parent().unwrap_or(Path::new(""));
                    let (found, its_folder) = find(package, beside, folder, &name, &child.attrs);
                    self.file(package, found, &its_folder, child_path, Some(id))
                }
            };
            self.add(id, name, Meaning::Module(child), private);
        }
        id
    }

    fn add(&mut self, module: ModuleId, name: String, meaning: Meaning, private: bool) {
        self.modules[module].names.entry(name).or_default().push(Entry { meaning, private });
    }

    /// Enters what `item` defines or imports into `module`'s names.
    fn name(&mut self, module: ModuleId, item: &Item) {
        let (ident, vis) = match item {
            Item::Const(item) => (&item.ident, &item.vis),
            Item::Enum(item) => (&item.ident, &item.vis),
            Item::Fn(item) => (&item.sig.ident, &item.vis),
            Item::Static(item) => (&item.ident, &item.vis),
            Item::Struct(item) => (&item.ident, &item.vis),
            Item::Trait(item) => (&item.ident, &item.vis),
            Item::Type(item) => (&item.ident, &item.vis),
            Item::Union(item) => (&item.ident, &item.vis),
            Item::Macro(item) => return self.name_macro(module, item),
            Item::Use(item) => return self.name_imports(module, item),
            _ => return,
        };
        self.add(module, ident.to_string(), Meaning::Item(module), matches!(vis, Visibility::Inherited));
    }

    /// A definition of a macro, or a call of one that has items between its braces, such as `thread_local!`.
    fn name_macro(&mut self, module: ModuleId, item: &syn::ItemMacro) {
        if let Some(ident) = &item.ident {
            let name = ident.to_string();
            if item.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export")) {
                let root = self.root_of(module);
                self.add(root, name.clone(), Meaning::Item(module), false);
            }
            self.macros.entry(name.clone()).or_default().push(module);
            self.add(module, name, Meaning::Item(module), false);
        } else if let Ok(inside) = item.mac.parse_body::<syn::File>() {
            for item in inside.items {
                self.name(module, &item);
            }
        }
    }

    fn name_imports(&mut self, module: ModuleId, item: &ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let private = matches!(item.vis, Visibility::Inherited);
        for import in imports(&item.tree) {
            match import.bound {
                Bound::Name(name) => self.add(module, name, Meaning::Import(import.path), private),
                Bound::Nothing => {}
                Bound::Glob => self.modules[module].globs.push(Glob { path: import.path, re_export: !private }),
            }
        }
    }

    /// The root that `module` hangs from.
    pub fn root_of(&self, module: ModuleId) -> ModuleId {
        self.modules[module].parent.map_or(module, |parent| self.root_of(parent))
    }

    /// Whether `inner` is `outer` or a module somewhere inside it.
    pub fn is_inside(&self, inner: ModuleId, outer: ModuleId) -> bool {
        inner == outer || self.modules[inner].parent.is_some_and(|parent| self.is_inside(parent, outer))
    }
}

/// The file of `mod name;`, and the folder of its own children.
fn find(package: &Path, beside: &Path, folder: &Path, name: &str, attributes: &[Attribute]) -> (String, PathBuf) {
    let text = |path: PathBuf| path.to_str().expect("a path in UTF-8").to_owned();
    for attribute in attributes {
        if let syn::Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("path")
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) = &pair.value
        {
            let file = beside.join(path.value());
            let its_folder = file.parent().unwrap_or(Path::new("")).to_owned();
            return (text(file), its_folder);
        }
    }
    let file = folder.join(format!("{name}.rs"));
    let file = if package.join(&file).exists() { file } else { folder.join(name).join("mod.rs") };
    (text(file), folder.join(name))
}

/// Every `use` inside of a function: it counts for the whole module.
fn imports_in_bodies(item: &Item) -> Vec<ItemUse> {
    struct Uses(Vec<ItemUse>);
    impl<'ast> Visit<'ast> for Uses {
        fn visit_item_use(&mut self, item: &'ast ItemUse) {
            self.0.push(item.clone());
        }
    }
    let mut uses = Uses(Vec::new());
    if !matches!(item, Item::Use(_)) {
        uses.visit_item(item);
    }
    uses.0
}

/// The paths of a `use`, one by one.
pub fn imports(tree: &UseTree) -> Vec<Import> {
    let mut found = Vec::new();
    flatten(tree, &mut Vec::new(), &mut found);
    found
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, found: &mut Vec<Import>) {
    let path_to = |before: &[String], name: &syn::Ident| {
        let mut path = before.to_vec();
        // `a::{self}` is `a`.
        if name != "self" || path.is_empty() {
            path.push(name.to_string());
        }
        path
    };
    match tree {
        UseTree::Path(part) => {
            before.push(part.ident.to_string());
            flatten(&part.tree, before, found);
            before.pop();
        }
        UseTree::Name(part) => {
            let path = path_to(before, &part.ident);
            let name = path.last().expect("a use has a name").clone();
            found.push(Import { path, bound: Bound::Name(name) });
        }
        UseTree::Rename(part) => {
            let bound = if part.rename == "_" { Bound::Nothing } else { Bound::Name(part.rename.to_string()) };
            found.push(Import { path: path_to(before, &part.ident), bound });
        }
        UseTree::Glob(_) => found.push(Import { path: before.clone(), bound: Bound::Glob }),
        UseTree::Group(group) => group.items.iter().for_each(|item| flatten(item, before, found)),
    }
}
