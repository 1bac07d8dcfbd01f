//! What an executable file says of itself, read from its bytes. Pure: nothing here opens a file.
use object::read::elf::{FileHeader, ProgramHeader as _, Sym as _};
use object::{Endianness, elf};

/// What decides whether a library can be preloaded into an executable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executable {
    /// The loader that the kernel starts; `None` for a static program.
    pub loader: Option<String>,
    /// Whether this machine's processor and word size are the file's.
    pub is_native: bool,
    /// Its processor, in words.
    pub architecture: String,
    /// Whether it has a `malloc` of its own, which goes before a preloaded one.
    pub brings_malloc: bool,
}

/// A file that the kernel can execute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text whose first line names the program that reads it.
    Script {
        /// That program.
        interpreter: String,
    },
    /// An ELF file.
    Elf(Executable),
    /// Neither of the two.
    Other,
}

/// The processor of this machine, as ELF numbers it.
const NATIVE: u16 = if cfg!(target_arch = "aarch64") { elf::EM_AARCH64.0 } else { elf::EM_X86_64.0 };

/// What the file of these bytes is.
pub fn kind(bytes: &[u8]) -> Kind {
    if let Some(rest) = bytes.strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(&line[..line.len().min(255)]).into_owned();
        // As the kernel does it: a carriage return belongs to the name.
        let interpreter = line.split([' ', '\t']).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
        return Kind::Script { interpreter };
    }
    if !bytes.starts_with(b"\x7fELF") || bytes.len() < 20 {
        return Kind::Other;
    }
    let read = if bytes[4] == elf::ELFCLASS64.0 { read::<elf::FileHeader64<Endianness>>(bytes) } else { None };
    let (is_64, machine) = (bytes[4] == elf::ELFCLASS64.0, machine(bytes));
    let architecture = format!("{}, {} bits", name(machine), if is_64 { 64 } else { 32 });
    let is_native = is_64 && machine == NATIVE;
    Kind::Elf(Executable { is_native, architecture, ..read.unwrap_or_default() })
}

/// The processor's number, in the byte order that the header names.
fn machine(bytes: &[u8]) -> u16 {
    let number = [bytes[18], bytes[19]];
    if bytes[5] == elf::ELFDATA2MSB.0 { u16::from_be_bytes(number) } else { u16::from_le_bytes(number) }
}

fn name(machine: u16) -> String {
    let names = [
        (elf::EM_X86_64.0, "x86-64"),
        (elf::EM_AARCH64.0, "aarch64"),
        (elf::EM_386.0, "x86"),
        (elf::EM_ARM.0, "arm"),
        (elf::EM_RISCV.0, "riscv"),
        (elf::EM_PPC64.0, "ppc64"),
        (elf::EM_S390.0, "s390x"),
    ];
    let known = names.into_iter().find(|(number, _)| *number == machine);
    known.map_or_else(|| format!("processor number {machine}"), |(_, name)| name.to_owned())
}

/// Loader and malloc; `None` when the headers cannot be read.
fn read<Header: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Option<Executable> {
    let header = Header::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let interpreter = segments.iter().find_map(|segment| segment.interpreter(endian, bytes).ok().flatten());
    let loader = interpreter.map(|path| String::from_utf8_lossy(path).into_owned());
    Some(Executable { loader, brings_malloc: brings_malloc::<Header>(header, endian, bytes), ..Executable::default() })
}

/// Whether the dynamic symbols have a `malloc` that is defined here.
fn brings_malloc<Header: FileHeader<Endian = Endianness>>(header: &Header, endian: Endianness, bytes: &[u8]) -> bool {
    let Ok(sections) = header.sections(endian, bytes) else { return false };
    let Ok(symbols) = sections.symbols(endian, bytes, elf::SHT_DYNSYM) else { return false };
    let strings = symbols.strings();
    symbols.iter().any(|symbol| {
        symbol.is_definition(endian, strings) && symbol.name(endian, strings).is_ok_and(|name| name == b"malloc")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF header of 64 bytes and nothing behind it.
    fn header(class: u8, machine: u16) -> Vec<u8> {
        let mut bytes = b"\x7fELF".to_vec();
        bytes.extend([class, 1, 1, 0]);
        bytes.resize(64, 0);
        bytes[16] = 2;
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[20] = 1;
        bytes[52] = 64;
        bytes
    }

    #[test]
    fn a_script_names_its_interpreter() {
        let script = |text: &str| kind(text.as_bytes());
        assert_eq!(script("#!/bin/sh\nls\n"), Kind::Script { interpreter: "/bin/sh".to_owned() });
        assert_eq!(script("#! /usr/bin/env python3"), Kind::Script { interpreter: "/usr/bin/env".to_owned() });
        assert_eq!(script("#!/bin/sh\r\nls\r\n"), Kind::Script { interpreter: "/bin/sh\r".to_owned() });
        assert_eq!(script("ls\n"), Kind::Other);
        assert_eq!(script(""), Kind::Other);
    }

    #[test]
    fn the_processor_and_its_words_are_told_apart() {
        let Kind::Elf(native) = kind(&header(2, NATIVE)) else { panic!("an ELF file") };
        assert!(native.is_native && native.loader.is_none());
        let Kind::Elf(short) = kind(&header(1, elf::EM_386.0)) else { panic!("an ELF file") };
        assert_eq!((short.is_native, short.architecture.as_str()), (false, "x86, 32 bits"));
        let Kind::Elf(other) = kind(&header(2, elf::EM_RISCV.0)) else { panic!("an ELF file") };
        assert_eq!((other.is_native, other.architecture.as_str()), (false, "riscv, 64 bits"));
    }

    #[test]
    fn this_test_has_a_loader_and_no_malloc_of_its_own() {
        let own = std::fs::read(std::env::current_exe().expect("a path")).expect("this test");
        let Kind::Elf(own) = kind(&own) else { panic!("an ELF file") };
        assert!(own.is_native && own.loader.is_some() && !own.brings_malloc, "{own:?}");
    }
}
