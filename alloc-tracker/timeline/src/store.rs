//! Writes a timeline so that a reader sees the whole file or none.
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::file::Timeline;

/// Writes `timeline` beside `path` first and renames it when it is complete. On an error nothing is left behind.
pub fn store(timeline: &Timeline, path: &Path) -> io::Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = File::create(partial).and_then(|file| {
        let mut out = BufWriter::new(file);
        encode(timeline, &mut out)?;
        out.flush()
    });
    let renamed = written.and_then(|()| fs::rename(partial, path));
    if renamed.is_err() {
        // The first error is the one to report; a leftover that cannot be removed either is named by it.
        let _ = fs::remove_file(partial);
    }
    renamed
}

/// Writes `timeline` as one JSON object and a newline.
pub fn encode(timeline: &Timeline, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, timeline)?;
    out.write_all(b"\n")
}
