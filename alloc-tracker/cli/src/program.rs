//! The program that is to be recorded: where it is, and whether a library can be preloaded into it. Everything that keeps it
//! from being recorded is said before it starts.
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use crate::elf::{Executable, Kind, kind};
use crate::failure::{Failure, NOT_DONE, NOT_EXECUTABLE, NOT_FOUND};

/// A program that can be recorded.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// A sentence about it that the user should know before it runs.
    pub warning: Option<String>,
}

/// Finds the program that the shell would run, and refuses it when it cannot be recorded.
///
/// # Errors
/// When there is no such program, when it cannot be executed, or when nothing can be preloaded into it.
pub fn find(typed: &OsStr) -> Result<Program, Failure> {
    let path = resolve(typed, std::env::var_os("PATH"))?;
    let mut file = path.clone();
    // The kernel follows interpreters of scripts at most five times.
    for _ in 0..5 {
        let metadata = fs::metadata(&file).map_err(|error| not_found(&path, &file, &error))?;
        refuse_privileges(&file, &metadata)?;
        let bytes = fs::read(&file).map_err(|error| failure(NOT_DONE, format!("{}: {error}", file.display())))?;
        match kind(&bytes) {
            Kind::Script { interpreter } => file = interpreter.into(),
            Kind::Elf(executable) => {
                refuse(&file, &executable)?;
                let warning = executable.brings_malloc.then(|| {
                    format!(
                        "{}: brings a malloc of its own, which goes before the tracker's: what it allocates is not counted",
                        file.display()
                    )
                });
                return Ok(Program { path, warning });
            }
            Kind::Other => {
                let what = "is neither an ELF file nor a script with #! in its first line";
                return Err(failure(
                    NOT_EXECUTABLE,
                    format!("{}: {what}; name the program that runs it", file.display()),
                ));
            }
        }
    }
    Err(failure(NOT_EXECUTABLE, format!("{}: its interpreters are scripts themselves", path.display())))
}

fn failure(code: u8, text: String) -> Failure {
    Failure { code, error: anyhow!(text) }
}

fn not_found(path: &Path, file: &Path, error: &std::io::Error) -> Failure {
    let of = if path == file { String::new() } else { format!(", which {} names as its interpreter", path.display()) };
    if let Some(name) = file.to_string_lossy().strip_suffix('\r') {
        let why = format!(
            "the lines of {} end with a carriage return; `sed -i 's/\\r$//'` on it removes them",
            path.display()
        );
        return failure(NOT_FOUND, format!("{name}\\r{of}: {error}: {why}"));
    }
    failure(NOT_FOUND, format!("{}{of}: {error}", file.display()))
}

/// The file that is meant: the path itself when it has a slash, else the first one of that name in PATH.
fn resolve(typed: &OsStr, folders: Option<OsString>) -> Result<PathBuf, Failure> {
    let named = typed.to_string_lossy().into_owned();
    if typed.as_bytes().contains(&b'/') {
        let path = PathBuf::from(typed);
        return match fs::metadata(&path) {
            Err(error) => Err(failure(NOT_FOUND, format!("{named}: {error}; check the path"))),
            Ok(metadata) if is_executable(&metadata) => Ok(path),
            Ok(metadata) if metadata.is_dir() => Err(failure(NOT_EXECUTABLE, format!("{named}: is a folder"))),
            Ok(_) => Err(failure(NOT_EXECUTABLE, format!("{named}: is not executable; `chmod +x` makes it so"))),
        };
    }
    let folders = folders.unwrap_or_else(|| "/bin:/usr/bin".into());
    let paths: Vec<PathBuf> = std::env::split_paths(&folders).map(|folder| folder.join(typed)).collect();
    if let Some(path) = paths.iter().find(|path| fs::metadata(path).is_ok_and(|metadata| is_executable(&metadata))) {
        return Ok(path.clone());
    }
    match paths.iter().find(|path| path.is_file()) {
        Some(path) => Err(failure(NOT_EXECUTABLE, format!("{}: is not executable", path.display()))),
        None => Err(failure(NOT_FOUND, format!("{named}: there is no such program in PATH"))),
    }
}

fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
}

/// The loader preloads nothing into a program that runs with rights which its user does not have.
fn refuse_privileges(file: &Path, metadata: &Metadata) -> Result<(), Failure> {
    // SAFETY: both take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if gains_privileges(metadata.permissions().mode(), metadata.uid(), metadata.gid(), user, group) {
        let what = "runs with another user's or group's rights (setuid, setgid), and then nothing can be preloaded";
        return Err(failure(
            NOT_DONE,
            format!("{}: {what}; run it as that user, or record a copy of it", file.display()),
        ));
    }
    Ok(())
}

/// Whether a file of this mode and owner changes the effective user or group of the one who starts it.
fn gains_privileges(mode: u32, owner: u32, owning_group: u32, user: u32, group: u32) -> bool {
    let setgid = mode & 0o2010 == 0o2010;
    mode & 0o4000 != 0 && owner != user || setgid && owning_group != group
}

/// Refuses an executable into which nothing can be preloaded.
fn refuse(file: &Path, executable: &Executable) -> Result<(), Failure> {
    let file = file.display();
    if !executable.is_native {
        let (theirs, ours) = (&executable.architecture, std::env::consts::ARCH);
        let text = format!("{file}: is for another machine ({theirs}); the tracker's library is for {ours}, 64 bits");
        return Err(failure(NOT_DONE, text));
    }
    match &executable.loader {
        None => Err(failure(
            NOT_DONE,
            format!(
                "{file}: is linked statically, so nothing can be preloaded; link it dynamically, or link the tracker into it \
                 (alloc-interpose)"
            ),
        )),
        Some(loader) if !Path::new(loader).exists() => {
            let text = format!("{file}: its loader {loader} is not there; install the C library that it was built for");
            Err(failure(NOT_DONE, text))
        }
        Some(loader) if loader.contains("ld-musl") => {
            let text = format!("{file}: runs with musl ({loader}); the tracker's library was built for glibc");
            Err(failure(NOT_DONE, text))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(executable: Executable) -> String {
        refuse(Path::new("x"), &executable).expect_err("it cannot be recorded").error.to_string()
    }

    fn native() -> Executable {
        Executable { loader: Some("/proc/self/exe".to_owned()), is_native: true, ..Executable::default() }
    }

    #[test]
    fn what_nothing_can_be_preloaded_into_is_refused_with_the_reason() {
        assert!(refuse(Path::new("x"), &native()).is_ok());
        assert!(refused(Executable { loader: None, ..native() }).contains("statically"));
        assert!(refused(Executable { is_native: false, ..native() }).contains("another machine"));
        assert!(refused(Executable { loader: Some("/no/ld.so".to_owned()), ..native() }).contains("/no/ld.so"));
    }

    #[test]
    fn a_setuid_program_of_the_same_user_gains_nothing() {
        assert!(!gains_privileges(0o755, 0, 0, 1000, 1000));
        assert!(gains_privileges(0o4755, 0, 0, 1000, 1000));
        assert!(!gains_privileges(0o4755, 0, 0, 0, 0));
        assert!(gains_privileges(0o4755, 65534, 0, 0, 0));
        assert!(gains_privileges(0o2755, 0, 42, 0, 0));
        // Without the right to execute it for the group, setgid means mandatory locking.
        assert!(!gains_privileges(0o2745, 0, 42, 0, 0));
    }

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let (plain, program) = (folder.path().join("plain"), folder.path().join("program"));
        fs::write(&plain, "").expect("a file");
        fs::copy("/proc/self/exe", &program).expect("a file");
        let path = Some(folder.path().as_os_str().to_owned());
        let code = |typed: &OsStr| resolve(typed, path.clone()).expect_err("no program").code;
        assert_eq!(resolve(OsStr::new("program"), path.clone()).ok(), Some(program));
        assert_eq!(code(OsStr::new("absent")), NOT_FOUND);
        assert_eq!(code(OsStr::new("plain")), NOT_EXECUTABLE);
        assert_eq!(code(plain.as_os_str()), NOT_EXECUTABLE);
        assert_eq!(code(folder.path().as_os_str()), NOT_EXECUTABLE);
        assert_eq!(code(OsStr::new("./no/such")), NOT_FOUND);
    }
}
