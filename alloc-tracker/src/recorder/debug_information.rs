//! The debug information of the files whose calls were sampled.
use std::path::Path;

use addr2line::{Loader, demangle_auto};
use alloc_timeline::Call;

use super::spare;
use crate::stacks::KnownFile;

/// The file is not at its path any more.
#[derive(Debug)]
pub struct Replaced;

/// Opens the debug information of a file: the separate one if there is one, else the file's own. `None` also when there is not enough memory
/// to read it.
///
/// # Errors
/// When another file is at its path, or none.
pub fn open(file: &KnownFile) -> Result<Option<Loader>, Replaced> {
    let load = |path: &Path| if spare::is_enough_for(path) { Loader::new(path).ok() } else { None };
    if let Some(apart) = file.debug_path().and_then(|path| load(&path)) {
        return Ok(Some(apart));
    }
    if file.is_there_still() { Ok(load(&file.path)) } else { Err(Replaced) }
}

/// The calls at an address, the outermost first.
pub fn calls_at(loader: &Loader, address: u64) -> Vec<Call> {
    let mut calls = Vec::new();
    if let Ok(mut frames) = loader.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
            let place = frame.location.as_ref();
            let file = place.and_then(|place| place.file).map(str::to_owned);
            let line = file.as_ref().and(place.and_then(|place| place.line));
            let function = name.map(|name| name.into_owned()).unwrap_or_default();
            calls.push(Call { function, file, line, inlined: true, object: None, language: None });
        }
    }
    if calls.is_empty() {
        calls.push(Call::default());
    }
    // Debug information that consists of line tables has only the last part of a function's name; the symbol table has
    // the whole name.
    if let Some(outermost) = calls.last_mut() {
        outermost.inlined = false;
        if let Some(symbol) = loader.find_symbol(address) {
            outermost.function = demangle_auto(symbol.into(), None).into_owned();
        }
    }
    calls.retain(|call| !call.function.is_empty());
    calls.reverse();
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C++ names, and Rust names of both manglings.
    #[test]
    fn names_are_demangled() {
        for (symbol, name) in [
            ("_ZN3c104Half8allocateEmRKSs", "c10::Half::allocate(unsigned long, std::string const&)"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar"),
            ("plain_c", "plain_c"),
        ] {
            assert_eq!(demangle_auto(symbol.into(), None), name);
        }
    }
}
