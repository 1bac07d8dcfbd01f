//! The platform that a wheel is for, from what its files need: PEP 600's `manylinux_2_XX_MACHINE`, where 2.XX is the newest glibc
//! of which a symbol is needed. Files within files count too: the recorder has the library that it preloads as data.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use object::elf::{self, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _};
use object::{Endianness, FileKind};

/// Libraries that every such machine has. What else is needed would have to be in the wheel.
const EVERYWHERE: [&str; 8] = [
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// What ELF files need of the machine that runs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    machine: &'static str,
    /// The newest glibc: its second number.
    glibc: u32,
    /// How many ELF files were read.
    pub files: usize,
}

impl Platform {
    /// What `bytes`, an ELF file, and every ELF file in it need.
    ///
    /// # Errors
    /// When one needs what not every machine has, or cannot be read.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let mut whole: Option<Platform> = None;
        for at in starts(bytes) {
            // A copy, because the numbers in the file are to lie at multiples of their sizes.
            let file = bytes[at..].to_vec();
            if !matches!(FileKind::parse(&file[..]), Ok(FileKind::Elf64)) {
                continue;
            }
            let part = of_file(&file).with_context(|| format!("the ELF file at byte {at}"))?;
            whole = Some(match whole {
                None => part,
                Some(before) if before.machine == part.machine => {
                    Platform { glibc: before.glibc.max(part.glibc), files: before.files + 1, ..before }
                }
                Some(before) => bail!("there are files for {} and for {}", before.machine, part.machine),
            });
        }
        whole.context("it is no ELF file of 64 bits")
    }

    /// The wheel's tag: any Python 3, none of its binary interfaces, this platform.
    pub fn tag(&self) -> String {
        format!("py3-none-manylinux_2_{}_{}", self.glibc, self.machine)
    }
}

/// Where an ELF file may begin.
fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.windows(elf::ELFMAG.len()).enumerate().filter(|(_, word)| *word == elf::ELFMAG).map(|(at, _)| at)
}

fn of_file(bytes: &[u8]) -> Result<Platform> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let machine = match header.e_machine(endian) {
        elf::EM_X86_64 => "x86_64",
        elf::EM_AARCH64 => "aarch64",
        other => bail!("processor number {} has no wheels of ours", other.0),
    };
    let sections = header.sections(endian, bytes)?;
    if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        for entry in entries.iter().filter(|entry| entry.tag(endian) == elf::DT_NEEDED) {
            let name = String::from_utf8_lossy(entry.string(endian, strings)?).into_owned();
            if !EVERYWHERE.contains(&name.as_str()) {
                bail!("it needs {name}, which not every machine has");
            }
        }
    }
    let mut versions = BTreeSet::new();
    if let Some((mut needs, link)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.strings(endian, bytes, link)?;
        while let Some((_, mut of_library)) = needs.next()? {
            while let Some(version) = of_library.next()? {
                versions.insert(String::from_utf8_lossy(version.name(endian, strings)?).into_owned());
            }
        }
    }
    Ok(Platform { machine, glibc: newest_glibc(&versions)?, files: 1 })
}

/// The second number of the newest glibc among versions of symbols. Those of libgcc up to GCC 4 are as old as any glibc here.
fn newest_glibc(versions: &BTreeSet<String>) -> Result<u32> {
    let mut newest = 0;
    for version in versions {
        let glibc = version.strip_prefix("GLIBC_2.").and_then(|rest| rest.split('.').next()?.parse().ok());
        match glibc {
            Some(number) => newest = newest.max(number),
            None if ["GCC_3.", "GCC_4."].iter().any(|old| version.starts_with(old)) => {}
            None => bail!("it needs {version}, and no tag says who has that"),
        }
    }
    Ok(newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(versions: &[&str]) -> Result<u32> {
        newest_glibc(&versions.iter().map(|&version| version.to_owned()).collect())
    }

    #[test]
    fn the_newest_version_is_so_by_number() {
        assert_eq!(newest(&["GLIBC_2.2.5", "GLIBC_2.9", "GLIBC_2.28", "GCC_4.2.0"]).unwrap(), 28);
        assert_eq!(newest(&["GLIBC_2.2.5"]).unwrap(), 2);
    }

    #[test]
    fn what_no_tag_can_say_is_an_error() {
        for version in ["GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR", "GLIBCXX_3.4.32", "GCC_14.0.0"] {
            let error = newest(&["GLIBC_2.17", version]).unwrap_err().to_string();
            assert!(error.contains(version), "{error}");
        }
    }

    #[test]
    fn a_program_within_bytes_of_others_is_found() {
        // This test's own file is for this machine, and needs some glibc.
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let alone = Platform::of(&own).unwrap();
        assert_eq!(alone.machine, std::env::consts::ARCH);
        assert!(alone.glibc >= 17, "{alone:?}");
        let twice = [&own[..], b"\x7fELF, and no more", &own[..]].concat();
        assert_eq!(Platform::of(&twice).unwrap(), Platform { files: 2 * alone.files, ..alone });
        assert!(Platform::of(b"no ELF file").is_err());
    }
}
