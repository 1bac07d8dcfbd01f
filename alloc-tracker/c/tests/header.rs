//! `include/alloc_tracker.h` is what cbindgen makes of the sources.
use std::path::Path;

use cbindgen::{Config, DocumentationStyle, Language, RenameRule, Style};

const INTRODUCTION: &str = "\
/* Scopes, labels, steps and marks of alloc-tracker, for C11 and C++11 with gcc or clang on Linux.

   This file is all that a program needs: it links nothing (with glibc before 2.34: -ldl). Run it with

       alloc-tracker record -- ./program

   and its memory is told by layer, phase and operator. Run it without, and the functions here do nothing.

   cbindgen made this file of alloc-tracker/c/src and include/inline.h: change those. */

#ifndef ALLOC_TRACKER_H
#define ALLOC_TRACKER_H";

fn include(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = Config {
        language: Language::C,
        style: Style::Type,
        cpp_compat: true,
        header: Some(INTRODUCTION.to_owned()),
        no_includes: true,
        sys_includes: ["dlfcn.h", "stdbool.h", "stdint.h"].map(str::to_owned).into(),
        documentation_style: DocumentationStyle::Doxy,
        line_length: 130,
        tab_width: 4,
        trailer: Some(format!("{}\n#endif /* ALLOC_TRACKER_H */", include("inline.h"))),
        ..Config::default()
    };
    config.enumeration.rename_variants = RenameRule::QualifiedScreamingSnakeCase;
    config.export.include = vec!["Category".to_owned(), "Api".to_owned()];
    config.export.exclude = vec!["alloc_tracker_api".to_owned()];
    for (here, in_c) in
        [("Scope", "alloc_tracker_scope"), ("Category", "alloc_tracker_category"), ("Api", "alloc_tracker_functions")]
    {
        config.export.rename.insert(here.to_owned(), in_c.to_owned());
    }
    let sources = ["api.rs", "blocks.rs", "scopes.rs"].map(|file| root.join("src").join(file));
    let builder =
        sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| builder.with_src(file));
    let mut text = Vec::new();
    builder.generate().expect("a header").write(&mut text);
    String::from_utf8(text).expect("a text")
}

#[test]
fn the_header_is_what_the_sources_say() {
    let made = generated();
    if made != include("alloc_tracker.h") {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("alloc_tracker.h");
        std::fs::write(&path, made).expect("a file");
        panic!("include/alloc_tracker.h is out of date: cp {} alloc-tracker/c/include/", path.display());
    }
}
