//! Writes records as lines, to a file or to memory.
use std::io::{self, Write};

use crate::record::Record;

/// How many bytes [`write_all`] gathers before it writes, and how much room for lines a [`Writer`] keeps from one flush to the next.
const CHUNK_BYTES: usize = 64 << 10;

/// Writes records to a sink, one a line.
///
/// Lines are gathered in memory until [`Writer::flush`]. After the first error nothing more is written, because records
/// build on those before them.
///
/// ```
/// use alloc_timeline::{Ending, Record, log};
///
/// let mut writer = log::Writer::new(Vec::new());
/// writer.record(&Record::End { time_ns: 7, ending: Ending::Finished });
/// writer.flush()?;
/// assert_eq!(writer.into_inner(), b"{\"end\":{\"time_ns\":7,\"ending\":\"finished\"}}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
    lines: Vec<u8>,
    bytes: u64,
    failed: bool,
}

impl<W: Write> Writer<W> {
    /// A writer to `sink`, which has nothing of the log yet.
    pub fn new(sink: W) -> Self {
        Writer { sink, lines: Vec::new(), bytes: 0, failed: false }
    }

    /// A writer to `sink`, which has the first `bytes` of the log already.
    pub(super) fn resume(sink: W, bytes: u64) -> Self {
        Writer { bytes, ..Writer::new(sink) }
    }

    /// Takes in one record; it reaches the sink with [`Writer::flush`]. Returns its line, which is empty once the sink
    /// has failed.
    pub fn record(&mut self, record: &Record) -> &[u8] {
        let before = self.lines.len();
        if !self.failed {
            // Writing to memory, and no map with keys that are not strings: this cannot fail.
            let _ = serde_json::to_writer(&mut self.lines, record);
            self.lines.push(b'\n');
        }
        &self.lines[before..]
    }

    /// Takes in lines that were made elsewhere.
    pub(super) fn lines(&mut self, lines: &[u8]) {
        if !self.failed {
            self.lines.extend_from_slice(lines);
        }
    }

    /// Hands all lines since the last flush to the sink, in one piece.
    ///
    /// # Errors
    /// The first error of the sink. It is told once: all later calls do nothing and return `Ok`. See [`Writer::failed`].
    pub fn flush(&mut self) -> io::Result<()> {
        if self.failed || self.lines.is_empty() {
            return Ok(());
        }
        let written = self.sink.write_all(&self.lines).and_then(|()| self.sink.flush());
        match &written {
            Ok(()) => self.bytes += self.lines.len() as u64,
            Err(_) => self.failed = true,
        }
        self.lines.clear();
        // Some records are a hundred times as long as most.
        self.lines.shrink_to(CHUNK_BYTES);
        written
    }

    /// Whether the sink has failed, and the log ends early.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// How many bytes were handed to the sink.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The sink, to do something else with it than to write.
    pub(super) fn sink(&mut self) -> &mut W {
        &mut self.sink
    }

    /// The sink. Lines that were not flushed are lost.
    pub fn into_inner(self) -> W {
        self.sink
    }
}

/// Writes a whole log to `sink`, and returns its bytes.
///
/// # Errors
/// When the sink has one.
pub fn write_all<'a>(records: impl IntoIterator<Item = &'a Record>, sink: impl Write) -> io::Result<u64> {
    let mut writer = Writer::new(sink);
    for record in records {
        writer.record(record);
        if writer.lines.len() >= CHUNK_BYTES {
            writer.flush()?;
        }
    }
    writer.flush()?;
    Ok(writer.bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A disk that has room for `room` writes.
    struct Disk {
        room: usize,
        writes: Vec<Vec<u8>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.writes.len() == self.room {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.writes.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn fact(number: u64) -> Record {
        Record::Run("n".into(), json!(number))
    }

    #[test]
    fn a_flush_is_one_write_and_counts_its_bytes() {
        let mut writer = Writer::new(Disk { room: 9, writes: Vec::new() });
        assert_eq!(writer.record(&fact(1)), b"{\"run\":[\"n\",1]}\n");
        writer.record(&fact(2));
        assert_eq!(writer.bytes(), 0, "nothing is written before a flush");
        writer.flush().unwrap();
        writer.flush().unwrap();
        writer.record(&fact(3));
        writer.flush().unwrap();
        assert_eq!(writer.bytes(), 3 * 16);
        let lengths: Vec<usize> = writer.into_inner().writes.iter().map(Vec::len).collect();
        assert_eq!(lengths, [32, 16]);
    }

    #[test]
    fn the_first_error_is_told_once_and_ends_the_log() {
        let mut writer = Writer::new(Disk { room: 1, writes: Vec::new() });
        writer.record(&fact(1));
        writer.flush().unwrap();
        writer.record(&fact(2));
        assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(writer.failed());
        assert_eq!(writer.record(&fact(3)), b"");
        writer.flush().unwrap();
        assert_eq!((writer.bytes(), writer.into_inner().writes.len()), (16, 1));
    }

    #[test]
    fn a_whole_log_is_written_in_pieces() {
        let records: Vec<Record> = (0..10_000).map(fact).collect();
        let mut disk = Disk { room: usize::MAX, writes: Vec::new() };
        let bytes = write_all(&records, &mut disk).unwrap();
        let log = disk.writes.concat();
        assert_eq!((log.len() as u64, log.iter().filter(|&&byte| byte == b'\n').count()), (bytes, 10_000));
        assert!(disk.writes.iter().all(|piece| piece.len() < CHUNK_BYTES + 100 && piece.ends_with(b"\n")));
        assert!(write_all(&records, Disk { room: 2, writes: Vec::new() }).is_err());
    }
}
