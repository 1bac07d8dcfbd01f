//! The reader of arrows, tried on made-up crates of a few lines: one test for each kind of arrow.
use std::fs;

use crate::arrows;
use crate::tree::Tree;

/// The arrows of a crate called `made_up` with these files under `src`, as `from -> to: names`.
fn arrows_of(files: &[(&str, &str)]) -> Vec<String> {
    let package = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = package.path().join("src").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let binary: &[&str] = if files.iter().any(|(name, _)| *name == "main.rs") { &["src/main.rs"] } else { &[] };
    let arrows = arrows::read(&Tree::read(package.path(), Some(("made_up", "src/lib.rs")), binary));
    let short = |file: &str| file.strip_prefix("src/").expect("files are under src").to_owned();
    let line = |((from, to), names): (&(String, String), &std::collections::BTreeSet<String>)| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        format!("{} -> {}: {}", short(from), short(to), names.join(", "))
    };
    arrows.iter().map(line).collect()
}

/// Two modules beside each other: `a` has this text, `b` a bit of everything.
fn a_beside_b(a: &str) -> Vec<String> {
    let b = "pub struct Thing; pub const MOST: u32 = 1; pub trait Does { fn it(&self) {} } pub enum Kind { One }
             pub fn done() {} impl Thing { pub fn new() -> Thing { Thing } }";
    arrows_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", a), ("b.rs", b)])
}

const NONE: [&str; 0] = [];

#[test]
fn a_use() {
    assert_eq!(a_beside_b("use crate::b::Thing;"), ["a.rs -> b.rs: Thing"]);
    assert_eq!(a_beside_b("use crate::b::{Thing, done as finished};"), ["a.rs -> b.rs: Thing, done"]);
    assert_eq!(a_beside_b("use crate::b::Does as _;"), ["a.rs -> b.rs: Does"]);
    assert_eq!(a_beside_b("fn f() { use crate::b::done; done() }"), ["a.rs -> b.rs: done"]);
}

#[test]
fn a_use_of_a_module_is_an_arrow_only_by_what_is_taken_from_it() {
    assert_eq!(a_beside_b("use crate::b;"), NONE);
    assert_eq!(a_beside_b("use crate::b; fn f() { b::done() }"), ["a.rs -> b.rs: done"]);
    assert_eq!(a_beside_b("use crate::b::{self as other}; fn f() { other::done() }"), ["a.rs -> b.rs: done"]);
}

#[test]
fn a_path_in_an_expression_a_type_or_a_pattern() {
    assert_eq!(a_beside_b("fn f() { crate::b::done() }"), ["a.rs -> b.rs: done"]);
    assert_eq!(a_beside_b("fn f() { let _ = crate::b::Kind::One; }"), ["a.rs -> b.rs: Kind"]);
    assert_eq!(a_beside_b("fn f(_: Vec<crate::b::Thing>) {}"), ["a.rs -> b.rs: Thing"]);
    assert_eq!(a_beside_b("fn f(n: u32) -> bool { matches!(n, crate::b::MOST) }"), ["a.rs -> b.rs: MOST"]);
    assert_eq!(a_beside_b("struct S; impl crate::b::Does for S {}"), ["a.rs -> b.rs: Does"]);
}

#[test]
fn super_and_self() {
    assert_eq!(a_beside_b("use super::b::Thing;"), ["a.rs -> b.rs: Thing"]);
    assert_eq!(
        a_beside_b("fn f() { self::inner::f() } mod inner { pub fn f() { super::super::b::done() } }"),
        ["a.rs -> b.rs: done"]
    );
}

/// `crate::b::Thing` is written, b/thing.rs is meant.
#[test]
fn a_re_export_leads_to_the_definition() {
    let files = |b: &'static str, a: &'static str| {
        arrows_of(&[
            ("lib.rs", "mod a; mod b; pub use b::*;"),
            ("a.rs", a),
            ("b/mod.rs", b),
            ("b/thing.rs", "pub struct Thing; impl Thing { pub fn new() -> Thing { Thing } }"),
        ])
    };
    let re_exported = "mod thing; pub use thing::Thing;";
    assert_eq!(files(re_exported, "use crate::b::Thing;"), ["a.rs -> b/thing.rs: Thing"]);
    assert_eq!(files(re_exported, "use crate::Thing;"), ["a.rs -> b/thing.rs: Thing"]);
    assert_eq!(
        files("mod thing; pub use thing::Thing as Other;", "fn f(_: crate::b::Other) {}"),
        ["a.rs -> b/thing.rs: Thing"]
    );
    assert_eq!(files("mod thing; pub use thing::*;", "use crate::b::Thing;"), ["a.rs -> b/thing.rs: Thing"]);
    assert_eq!(
        files("pub mod thing; pub use self::thing::Thing;", "use crate::b; fn f() { b::Thing::new(); }"),
        ["a.rs -> b/thing.rs: Thing, Thing::new"]
    );
}

/// Only a module's own children can be re-exported without being used.
#[test]
fn a_re_export_of_another_module_is_an_arrow() {
    assert_eq!(a_beside_b("pub use crate::b::Thing;"), ["a.rs -> b.rs: Thing"]);
}

#[test]
fn a_glob() {
    assert_eq!(a_beside_b("use crate::b::*; fn f() { done() }"), ["a.rs -> b.rs: done"]);
    // No name comes through it, so it is there for methods.
    assert_eq!(a_beside_b("use crate::b::*;"), ["a.rs -> b.rs: *"]);
    assert_eq!(a_beside_b("use crate::b::Kind::*; fn f(_: Kind) { let _ = One; }"), ["a.rs -> b.rs: Kind"]);
    assert_eq!(a_beside_b("use std::fmt::*;"), NONE);
}

#[test]
fn a_macro_body_and_what_a_macro_is_given() {
    assert_eq!(a_beside_b("macro_rules! m { ($x:expr) => { $crate::b::done($x) } }"), ["a.rs -> b.rs: done"]);
    assert_eq!(a_beside_b("fn f() { println!(\"{}\", crate::b::MOST); }"), ["a.rs -> b.rs: MOST"]);
    assert_eq!(a_beside_b("fn f() { html! { p class=x { (crate::b::done()) } } }"), ["a.rs -> b.rs: done"]);
    assert_eq!(a_beside_b("m! { use crate::b::{Thing, done}; => }"), ["a.rs -> b.rs: Thing, done"]);
}

#[test]
fn a_macro_of_another_file() {
    let of = |b: &'static str, a: &'static str| arrows_of(&[("lib.rs", "mod b; mod a;"), ("a.rs", a), ("b.rs", b)]);
    let exported = "#[macro_export] macro_rules! m { () => {} }";
    assert_eq!(of(exported, "fn f() { crate::m!() }"), ["a.rs -> b.rs: m"]);
    assert_eq!(of("macro_rules! m { () => {} }", "fn f() { m!() }"), ["a.rs -> b.rs: m"]);
    assert_eq!(of("macro_rules! m { () => {} } pub(crate) use m;", "use crate::b::m;"), ["a.rs -> b.rs: m"]);
}

/// `thread_local!` and the like have items between their braces; what cannot be read is at least in that file.
#[test]
fn an_item_that_a_macro_makes() {
    let of = |b: &'static str| {
        arrows_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", "fn f() { crate::b::HERE.set(1) }"), ("b.rs", b)])
    };
    assert_eq!(of("thread_local! { pub static HERE: u32 = 0; }"), ["a.rs -> b.rs: HERE"]);
    assert_eq!(of("made! { HERE => 0 }"), ["a.rs -> b.rs: HERE"]);
}

#[test]
fn attributes() {
    assert_eq!(a_beside_b("#[derive(crate::b::Does)] struct S;"), ["a.rs -> b.rs: Does"]);
    assert_eq!(
        a_beside_b("struct S { #[serde(with = \"crate::b\", default = \"crate::b::done\")] x: u32 }"),
        ["a.rs -> b.rs: done"]
    );
    assert_eq!(a_beside_b("struct S { #[serde(rename = \"crate::b::done\")] pub(in crate::b) x: u32 }"), NONE);
}

#[test]
fn what_only_tests_see_is_left_out() {
    assert_eq!(a_beside_b("#[cfg(test)] use crate::b::Thing;"), NONE);
    assert_eq!(a_beside_b("#[cfg(all(test, unix))] mod t { use crate::b::Thing; }"), NONE);
    assert_eq!(a_beside_b("#[cfg(test)] mod elsewhere; mod tests;"), NONE);
    assert_eq!(a_beside_b("#[test] fn f() { crate::b::done() }"), NONE);
    assert_eq!(a_beside_b("struct S; impl S { #[cfg(test)] fn f() { crate::b::done() } }"), NONE);
    assert_eq!(a_beside_b("#[cfg(any(test, unix))] use crate::b::Thing;"), ["a.rs -> b.rs: Thing"]);
    assert_eq!(a_beside_b("#[cfg(not(test))] use crate::b::Thing;"), ["a.rs -> b.rs: Thing"]);
}

#[test]
fn a_child_that_uses_its_parent_and_a_parent_that_uses_its_child() {
    let of = |parent: &'static str, child: &'static str| {
        arrows_of(&[("lib.rs", "mod a;"), ("a/mod.rs", parent), ("a/child.rs", child)])
    };
    assert_eq!(of("mod child; struct Own;", "use super::Own;"), ["a/child.rs -> a/mod.rs: Own"]);
    assert_eq!(of("mod child; struct Own;", "use super::*; fn f(_: Own) {}"), ["a/child.rs -> a/mod.rs: Own"]);
    // What the parent only imports is not the parent's.
    assert_eq!(of("mod child; use std::fmt::Debug;", "use super::Debug;"), NONE);
    assert_eq!(of("mod child; pub use child::f;", "pub fn f() {}"), NONE);
    assert_eq!(of("mod child; use child::f;", "pub fn f() {}"), ["a/mod.rs -> a/child.rs: f"]);
    assert_eq!(of("mod child; pub use child::f; fn g() { f() }", "pub fn f() {}"), ["a/mod.rs -> a/child.rs: f"]);
    // The same name, but a variable's.
    assert_eq!(of("mod child; pub use child::f; fn g(f: u32) -> u32 { f }", "pub fn f() {}"), NONE);
}

#[test]
fn methods_in_another_file_than_their_type() {
    let of = |parent: &'static str| {
        let child = "impl super::Own { pub fn f(&self) {} pub fn new() {} }";
        arrows_of(&[("lib.rs", "mod a;"), ("a.rs", parent), ("a/child.rs", child)])
    };
    let back = "a/child.rs -> a.rs: Own";
    assert_eq!(
        of("mod child; pub struct Own; impl Own { fn g(&self) { self.f() } }"),
        ["a.rs -> a/child.rs: Own::f", back]
    );
    assert_eq!(
        of("mod child; pub struct Own; impl Own { fn g() { Self::new() } }"),
        ["a.rs -> a/child.rs: Own::new", back]
    );
    assert_eq!(of("mod child; pub struct Own; fn g() { Own::new() }"), ["a.rs -> a/child.rs: Own::new", back]);
    // Whose method this is cannot be told from the text.
    assert_eq!(of("mod child; pub struct Own; fn g(own: &Own) { own.f() }"), [back]);
}

#[test]
fn files_in_other_places() {
    let files = [
        ("lib.rs", "#[path = \"far/away.rs\"] mod a; mod outer { pub mod inner; } mod b;"),
        ("far/away.rs", "use crate::outer::inner::f; mod beside;"),
        ("far/beside.rs", "use crate::b::g;"),
        ("outer/inner.rs", "pub fn f() {}"),
        ("b.rs", "pub fn g() {}"),
    ];
    assert_eq!(arrows_of(&files), ["far/away.rs -> outer/inner.rs: f", "far/beside.rs -> b.rs: g"]);
}

#[test]
fn a_binary_calls_its_library_by_name() {
    let files = [
        ("lib.rs", "pub mod a; pub struct Own;"),
        ("a.rs", "pub fn run() {}"),
        ("main.rs", "fn main() { made_up::a::run() }"),
    ];
    assert_eq!(arrows_of(&files), ["main.rs -> a.rs: run"]);
}

#[test]
fn names_of_other_crates_are_no_arrows() {
    assert_eq!(a_beside_b("use std::fs; use ::b::Thing; fn f<T: Default>() { fs::read(\"\"); T::default(); }"), NONE);
}

/// Names that import each other end the search.
#[test]
fn imports_in_a_circle_end() {
    let files = [("lib.rs", "mod a; mod b;"), ("a.rs", "pub use crate::b::X;"), ("b.rs", "pub use crate::a::*;")];
    assert_eq!(arrows_of(&files), ["a.rs -> b.rs: X", "b.rs -> a.rs: *"]);
}
