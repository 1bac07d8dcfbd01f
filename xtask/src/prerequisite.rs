//! The programs that building and fetching need; a missing one is named with the way to get it.
//!
//! They are looked for before the long download, so that nobody waits for half a gigabyte to learn that a compiler is missing.

use std::env;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::user_error::UserError;

/// A program that building needs.
struct Tool {
    what: &'static str,
    /// The variable by which a user names another one.
    variable: Option<&'static str>,
    /// Names that are tried, in order.
    names: &'static [&'static str],
    /// What to install for it, on each of `SYSTEMS`.
    packages: [&'static str; 3],
}

const TOOLS: [Tool; 3] = [
    Tool { what: "C++ compiler", variable: Some("CXX"), names: &CXX, packages: ["g++", "gcc-c++", "gcc"] },
    // The same program links Rust.
    Tool { what: "C compiler", variable: Some("CC"), names: &["cc", "gcc", "clang"], packages: ["gcc", "gcc", "gcc"] },
    // jemalloc is built with it.
    Tool { what: "make", variable: None, names: &["make", "gmake"], packages: ["make", "make", "make"] },
];

const CXX: [&str; 3] = ["c++", "g++", "clang++"];

/// Systems and the way to install a package on each.
const SYSTEMS: [(&str, &str); 3] =
    [("Debian or Ubuntu", "sudo apt-get install"), ("Fedora", "sudo dnf install"), ("Arch", "sudo pacman -S")];

/// Checks that the tools for building are there; the error names all that are missing.
pub fn for_building() -> Result<()> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    missing(&runs, &variable).map_or(Ok(()), |error| Err(error.into()))
}

/// Checks that Python 3 with pip is there, which is only needed when libtorch must be fetched.
pub fn for_fetching() -> Result<()> {
    if !runs("python3") {
        let next = "on Debian or Ubuntu `sudo apt-get install python3 python3-pip`, on Fedora `sudo dnf install \
                    python3-pip`; or set LIBTORCH to a libtorch of the right version";
        return Err(UserError::new("no Python 3 found (tried python3): libtorch is fetched with its pip", next).into());
    }
    if !succeeds(Command::new("python3").args(["-m", "pip", "--version"])) {
        let next = "on Debian or Ubuntu `sudo apt-get install python3-pip`, elsewhere `python3 -m ensurepip --user`; or \
                    set LIBTORCH to a libtorch of the right version";
        return Err(UserError::new("python3 has no pip (`python3 -m pip --version` failed)", next).into());
    }
    Ok(())
}

/// The C++ compiler to name in `CXX`, when build scripts would not find it by themselves: they try only `c++`.
pub fn unusual_cxx() -> Option<&'static str> {
    if env::var_os("CXX").is_some() {
        return None;
    }
    CXX.into_iter().find(|name| runs(name)).filter(|name| *name != "c++")
}

/// The tools that are missing, if any.
fn missing(runs: &dyn Fn(&str) -> bool, variable: &dyn Fn(&str) -> Option<String>) -> Option<UserError> {
    let (mut what, mut next, mut install) = (Vec::new(), Vec::new(), Vec::new());
    for tool in TOOLS {
        if let Some((name, value)) = tool.variable.and_then(|name| variable(name).map(|value| (name, value))) {
            // A value such as `ccache g++` names its program first.
            let program = value.split_whitespace().next().unwrap_or_default();
            if !runs(program) {
                what.push(format!("{name} is set to {value:?}, and that does not run (tried `{program} --version`)"));
                next.push(format!("correct or unset {name}"));
            }
        } else if !tool.names.iter().any(|name| runs(name)) {
            what.push(format!("no {} found (tried {})", tool.what, tool.names.join(", ")));
            install.push(tool.packages);
        }
    }
    if !install.is_empty() {
        next.push(how_to_install(&install));
    }
    (!what.is_empty()).then(|| UserError::new(what.join("\n    "), next.join("; ")))
}

/// One line for each system: "on Debian or Ubuntu `sudo apt-get install g++ make`, on ..."
fn how_to_install(packages: &[[&'static str; 3]]) -> String {
    let ways = SYSTEMS.iter().enumerate().map(|(system, (name, command))| {
        let mut names: Vec<&str> = packages.iter().map(|on| on[system]).collect();
        names.dedup();
        format!("on {name} `{command} {}`", names.join(" "))
    });
    ways.collect::<Vec<_>>().join(", ")
}

/// Whether `program --version` runs.
fn runs(program: &str) -> bool {
    succeeds(Command::new(program).arg("--version"))
}

/// Whether the command can be run and ends with success. Its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTALL_CXX: &str = "on Debian or Ubuntu `sudo apt-get install g++`, on Fedora `sudo dnf install gcc-c++`, on Arch `sudo pacman -S gcc`";

    #[test]
    fn a_machine_with_everything_misses_nothing() {
        assert_eq!(missing(&|name| ["c++", "cc", "make"].contains(&name), &|_| None), None);
    }

    #[test]
    fn a_missing_compiler_is_named_with_how_to_get_it() {
        let found = missing(&|name| ["cc", "make"].contains(&name), &|_| None);
        assert_eq!(found, Some(UserError::new("no C++ compiler found (tried c++, g++, clang++)", INSTALL_CXX)));
    }

    #[test]
    fn all_that_is_missing_is_told_at_once() {
        let found = missing(&|_| false, &|_| None).unwrap();
        assert_eq!(
            found.what,
            "no C++ compiler found (tried c++, g++, clang++)\n    no C compiler found (tried cc, gcc, clang)\n    \
             no make found (tried make, gmake)"
        );
        assert_eq!(
            found.next,
            "on Debian or Ubuntu `sudo apt-get install g++ gcc make`, on Fedora `sudo dnf install gcc-c++ gcc make`, \
             on Arch `sudo pacman -S gcc make`"
        );
    }

    #[test]
    fn a_wrong_cxx_is_not_papered_over_by_another_compiler() {
        let variable = |name: &str| (name == "CXX").then(|| "icpc -v".to_owned());
        let what = "CXX is set to \"icpc -v\", and that does not run (tried `icpc --version`)";
        assert_eq!(missing(&|name| name != "icpc", &variable), Some(UserError::new(what, "correct or unset CXX")));
    }
}
