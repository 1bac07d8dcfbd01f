//! Paths in commands that are printed for users to type.
use std::path::Path;

/// The path as one word of a shell's command line.
pub fn in_shell(path: &Path) -> String {
    let path = path.to_string_lossy();
    shlex::try_quote(&path).map_or_else(|_| path.to_string(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_is_quoted() {
        let typed = ["run.timeline.json", "my run.json", "it's"].map(|path| in_shell(Path::new(path)));
        assert_eq!(typed, ["run.timeline.json", "'my run.json'", "\"it's\""]);
    }
}
