//! What a module's code mentions by name, as it stands there: paths in `use`, expressions, types, patterns, attributes
//! and macros, and methods called on `self`. Methods called on anything else are left out: their types are not known
//! here.
use std::collections::HashSet;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, Item, Token, Visibility};

use crate::tree::{self, Bound};
use crate::{only_tests, tokens};

/// One name or path in the code.
#[derive(Debug, PartialEq, Eq)]
pub enum Mention {
    /// One path of a `use`, not of a glob.
    Import { path: Vec<String>, re_export: bool },
    /// A path in code.
    Path(Vec<String>),
    /// A macro that is called by its name alone.
    Macro(String),
    /// `self.name()` or `Self::name` in an `impl` of the type to which the path leads.
    Method { of: Vec<String>, name: String },
}

/// The path of the type that an `impl` is for.
pub fn type_of(block: &syn::ItemImpl) -> Option<Vec<String>> {
    match &*block.self_ty {
        syn::Type::Path(path) => Some(tokens::names(&path.path)),
        _ => None,
    }
}

/// All that `code` mentions.
pub fn mentions(code: &[Item]) -> Vec<Mention> {
    let mut reader = Reader { bindings: HashSet::new(), self_type: None, found: Vec::new() };
    for item in code {
        reader.visit_item(item);
    }
    reader.found
}

struct Reader {
    /// Names of arguments and variables of the function that is being read.
    bindings: HashSet<String>,
    /// What `Self` is.
    self_type: Option<Vec<String>>,
    found: Vec<Mention>,
}

impl Reader {
    fn path(&mut self, path: Vec<String>) {
        if path[0] != "Self" {
            self.found.push(Mention::Path(path));
        } else if let Some(name) = path.get(1) {
            self.method(name.clone());
        }
    }

    fn method(&mut self, name: String) {
        if let Some(of) = self.self_type.clone() {
            self.found.push(Mention::Method { of, name });
        }
    }

    /// What stands between a macro's brackets, as code if it is any.
    fn arguments(&mut self, arguments: &TokenStream) {
        let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(expressions) = expressions.parse2(arguments.clone()) {
            expressions.iter().for_each(|expression| self.visit_expr(expression));
        } else if let Ok(statements) = syn::Block::parse_within.parse2(arguments.clone()) {
            statements.iter().for_each(|statement| self.visit_stmt(statement));
        } else if let Ok(file) = syn::parse2::<syn::File>(arguments.clone()) {
            file.items.iter().for_each(|item| self.visit_item(item));
        } else {
            tokens::paths(arguments).into_iter().for_each(|path| self.path(path));
        }
    }

    /// Reads a function with its own variables.
    fn function(&mut self, collect: impl FnOnce(&mut Bindings), read: impl FnOnce(&mut Self)) {
        let mut bindings = Bindings(HashSet::new());
        collect(&mut bindings);
        let outer = std::mem::replace(&mut self.bindings, bindings.0);
        read(self);
        self.bindings = outer;
    }
}

/// The names that patterns bind.
struct Bindings(HashSet<String>);

impl<'ast> Visit<'ast> for Bindings {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.insert(pattern.ident.to_string());
        visit::visit_pat_ident(self, pattern);
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !only_tests::item(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        let re_export = !matches!(item.vis, Visibility::Inherited);
        let imports = tree::imports(&item.tree).into_iter().filter(|import| !matches!(import.bound, Bound::Glob));
        self.found.extend(imports.map(|import| Mention::Import { path: import.path, re_export }));
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(|bindings| bindings.visit_item_fn(item), |reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !only_tests::attributes_say_so(&item.attrs) {
            self.function(
                |bindings| bindings.visit_impl_item_fn(item),
                |reader| visit::visit_impl_item_fn(reader, item),
            );
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(|bindings| bindings.visit_trait_item_fn(item), |reader| visit::visit_trait_item_fn(reader, item));
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = std::mem::replace(&mut self.self_type, type_of(item));
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.path(tokens::names(path));
        }
        visit::visit_path(self, path);
    }

    /// A single name may be a variable.
    fn visit_expr_path(&mut self, expression: &'ast syn::ExprPath) {
        match expression.path.get_ident() {
            Some(name) if self.bindings.contains(&name.to_string()) => {}
            _ => visit::visit_expr_path(self, expression),
        }
    }

    /// A single name in a pattern may be a constant.
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let name = pattern.ident.to_string();
        if name.starts_with(char::is_uppercase) {
            self.path(vec![name]);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if matches!(&*call.receiver, Expr::Path(receiver) if receiver.path.is_ident("self")) {
            self.method(call.method.to_string());
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        match call.path.get_ident() {
            Some(name) => self.found.push(Mention::Macro(name.to_string())),
            None => self.visit_path(&call.path),
        }
        self.arguments(&call.tokens);
    }

    /// What a `macro_rules!` expands to: `$crate::a::b` and other paths.
    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match item.ident {
            Some(_) => tokens::paths(&item.mac.tokens).into_iter().for_each(|path| self.path(path)),
            None => visit::visit_item_macro(self, item),
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        match &attribute.meta {
            syn::Meta::Path(path) if path.segments.len() > 1 => self.visit_path(path),
            syn::Meta::List(list) => {
                let paths = tokens::paths(&list.tokens).into_iter().chain(tokens::paths_in_text(&list.tokens));
                paths.for_each(|path| self.path(path));
            }
            _ => {}
        }
    }

    /// `pub(in crate::a)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}
