//! Files from Debian's packages, without root and without installing anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use crate::prerequisite;
use crate::progress::Progress;
use crate::user_error::UserError;

/// The keys that Debian's releases are signed with, of the package debian-archive-keyring.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Packages for one architecture.
#[derive(Debug)]
pub struct Archive<'a> {
    /// apt's settings for an architecture that is not this machine's.
    settings: Option<PathBuf>,
    /// What a user can do whose machine has no Debian packages.
    next: &'a str,
}

impl<'a> Archive<'a> {
    /// The packages for this machine.
    pub fn of_this_machine(next: &'a str) -> Self {
        Archive { settings: None, next }
    }

    /// The packages for another architecture, such as `arm64`, from where this machine has its own; with `release`, those of another
    /// release of Debian, such as `trixie`. Their lists are fetched into `scratch`.
    ///
    /// # Errors
    /// Without `apt-get`, and when the lists cannot be fetched.
    pub fn of(architecture: &str, release: Option<&str>, scratch: &Path, next: &'a str) -> Result<Self> {
        let folder = scratch.join("apt");
        for name in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(name)).context("cannot make a folder")?;
        }
        fs::write(folder.join("status"), "").context("cannot write a file")?;
        let mut text = format!(
            "APT::Architecture \"{architecture}\";\nAPT::Architectures {{ \"{architecture}\"; }};\n\
             Dir::State \"{at}/state\";\nDir::Cache \"{at}/cache\";\nDir::State::status \"{at}/status\";\n\
             APT::Sandbox::User \"\";\n",
            at = folder.display(),
        );
        if let Some(release) = release {
            let sources = folder.join("sources.list");
            let from = archive_of_debian().context("apt knows no archive of Debian's")?;
            fs::write(&sources, format!("deb [signed-by={KEYS}] {from} {release} main\n"))
                .context("cannot write a file")?;
            text.push_str(&format!("Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"-\";\n", sources.display()));
        }
        let settings = folder.join("apt.conf");
        fs::write(&settings, text).context("cannot write a file")?;
        let archive = Archive { settings: Some(settings), next };
        archive.needs_tools("the lists of packages")?;
        let progress = Progress::open(format!("apt-get update for {architecture}"));
        let output = archive.apt("apt-get").args(["update", "-qq"]).output().context("cannot start apt-get")?;
        if !output.status.success() {
            return Err(archive.failure("apt-get could not fetch the lists of packages", &output).into());
        }
        progress.done("");
        Ok(archive)
    }

    /// Unpacks the package of that name. Returns the folder in `scratch` that holds its `usr`.
    ///
    /// # Errors
    /// Without `apt-get` or `dpkg-deb`, and when the package cannot be fetched.
    pub fn unpack(&self, package: &str, scratch: &Path) -> Result<PathBuf> {
        self.needs_tools(package)?;
        let folder = scratch.join(package);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let progress = Progress::open(format!("apt-get download {package}"));
        let mut output = self.download(package, &folder)?;
        // An image made for containers comes without package lists; only root can get them.
        if !output.status.success()
            && self.settings.is_none()
            && prerequisite::succeeds(Command::new("apt-get").args(["update", "-qq"]))
        {
            output = self.download(package, &folder)?;
        }
        if !output.status.success() {
            return Err(self.failure(&format!("apt-get could not fetch {package}"), &output).into());
        }
        let file = packages_in(&folder)?.pop().context("apt-get download left no .deb file")?;
        let unpacked = folder.join("unpacked");
        extract(&file, &unpacked)?;
        progress.done("");
        Ok(unpacked)
    }

    /// Unpacks these packages, and all that they depend on, into the folder `to`, as if they were installed there. For an architecture
    /// that is not this machine's.
    ///
    /// # Errors
    /// As for [`unpack`](Self::unpack).
    pub fn unpack_with_dependencies(&self, packages: &[&str], to: &Path) -> Result<()> {
        self.needs_tools(&packages.join(", "))?;
        let settings = self.settings.as_deref().context("packages that this machine has are not fetched")?;
        let progress = Progress::open(format!("apt-get download {} and what they need", packages.join(" ")));
        let mut apt = self.apt("apt-get");
        apt.args(["install", "-y", "-qq", "--download-only", "--no-install-recommends"]).args(packages);
        let output = apt.output().context("cannot start apt-get")?;
        if !output.status.success() {
            return Err(self.failure(&format!("apt-get could not fetch {}", packages.join(", ")), &output).into());
        }
        for file in packages_in(&settings.with_file_name("cache").join("archives"))? {
            extract(&file, to)?;
        }
        progress.done("");
        Ok(())
    }

    /// The package that another one stands for, such as the kernel of `linux-image-amd64`; `None` where there is no such package.
    pub fn stands_for(&self, package: &str) -> Option<String> {
        let shown = self.apt("apt-cache").args(["depends", package]).output().ok()?;
        first_dependency(&String::from_utf8_lossy(&shown.stdout))
    }

    fn needs_tools(&self, what: &str) -> Result<(), UserError> {
        for tool in ["apt-get", "dpkg-deb"] {
            if !prerequisite::succeeds(Command::new(tool).arg("--version")) {
                return Err(UserError::new(format!("no {tool} found, and {what} come from Debian"), self.next));
            }
        }
        Ok(())
    }

    fn apt(&self, program: &str) -> Command {
        let mut apt = Command::new(program);
        if let Some(settings) = &self.settings {
            apt.arg("-c").arg(settings);
        }
        apt
    }

    fn download(&self, package: &str, folder: &Path) -> Result<Output> {
        let mut apt = self.apt("apt-get");
        apt.args(["download", package]).current_dir(folder).output().context("cannot start apt-get")
    }

    /// What apt said last, as an error.
    fn failure(&self, what: &str, output: &Output) -> UserError {
        let text = String::from_utf8_lossy(&output.stderr);
        let tail = text.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev();
        let what = tail.fold(what.to_owned(), |text, line| format!("{text}\n    apt: {line}"));
        let again = "`sudo apt-get update` if the package lists are empty, or run again with a network";
        UserError::new(what, format!("{again}; {}", self.next))
    }
}

/// Where this machine has Debian's main packages from.
fn archive_of_debian() -> Option<String> {
    let mut apt = Command::new("apt-get");
    apt.args(["indextargets", "--format", "$(REPO_URI) $(LABEL)", "Created-By: Packages", "Component: main"]);
    let shown = String::from_utf8_lossy(&apt.output().ok()?.stdout).into_owned();
    shown.lines().find_map(|line| line.strip_suffix(" Debian")).map(str::to_owned)
}

/// The files of packages in a folder.
fn packages_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "deb")).collect())
}

/// Unpacks the file of a package into the folder `to`.
fn extract(file: &Path, to: &Path) -> Result<()> {
    let status = Command::new("dpkg-deb").arg("-x").arg(file).arg(to).status();
    ensure!(status.context("cannot start dpkg-deb")?.success(), "dpkg-deb could not unpack {}", file.display());
    Ok(())
}

/// The first package that another depends on, by what apt-cache prints.
fn first_dependency(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim().strip_prefix("Depends: ")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_stands_for_what_it_depends_on() {
        let shown = "linux-image-amd64\n  Depends: linux-image-6.1.0-48-amd64\n  Suggests: linux-doc\n";
        assert_eq!(first_dependency(shown).as_deref(), Some("linux-image-6.1.0-48-amd64"));
        assert_eq!(first_dependency("N: Unable to locate package\n"), None);
    }
}
