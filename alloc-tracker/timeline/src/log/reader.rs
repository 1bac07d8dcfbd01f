//! Reads records from lines, up to the first line that is none.
use std::io::{self, BufRead};

use crate::record::Record;

/// Reads a log record by record.
///
/// Reading ends at the first line that is no record, because records build on those before them. It is the last line
/// where the writing process was killed. Empty lines are left out.
#[derive(Debug)]
pub struct Reader<R> {
    log: R,
    line: Vec<u8>,
    ended: bool,
    read_bytes: u64,
    total_bytes: u64,
}

impl<R: BufRead> Reader<R> {
    /// A reader of `log` from its beginning.
    pub fn new(log: R) -> Self {
        Reader { log, line: Vec::new(), ended: false, read_bytes: 0, total_bytes: 0 }
    }

    /// Bytes of the log. All of them are known when the reader has returned its last record.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Bytes at the end of the log that hold no complete record.
    pub fn skipped_bytes(&self) -> u64 {
        self.total_bytes - self.read_bytes
    }

    /// The next record; `None` at the end, or at a line that is none.
    fn read(&mut self) -> io::Result<Option<Record>> {
        loop {
            self.line.clear();
            let count = self.log.read_until(b'\n', &mut self.line)?;
            self.total_bytes += count as u64;
            if count == 0 {
                return Ok(None);
            }
            if let Ok(record) = serde_json::from_slice(&self.line) {
                self.read_bytes = self.total_bytes;
                return Ok(Some(record));
            }
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                self.total_bytes += io::copy(&mut self.log, &mut io::sink())?;
                return Ok(None);
            }
            self.read_bytes = self.total_bytes;
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Record>;

    /// The next record, or the error that ends the reading.
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let record = self.read().transpose();
        self.ended = !matches!(record, Some(Ok(_)));
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(log: &str) -> (usize, u64, u64) {
        let mut reader = Reader::new(log.as_bytes());
        let records = reader.by_ref().map(Result::unwrap).count();
        assert!(reader.next().is_none(), "the end stays the end");
        (records, reader.skipped_bytes(), reader.total_bytes())
    }

    #[test]
    fn a_line_cut_short_ends_the_log_and_empty_lines_do_not() {
        let fact = "{\"run\":[\"a\",1]}\n";
        assert_eq!(read(""), (0, 0, 0));
        assert_eq!(read(&fact.repeat(3)), (3, 0, 48));
        assert_eq!(read(&format!("{fact}\n  \n{fact}\n")), (2, 0, 37));
        assert_eq!(read(&format!("{fact}{}", fact.trim_end())), (2, 0, 31));
        assert_eq!(read(&format!("{fact}{}", &fact[..7])), (1, 7, 23));
        assert_eq!(read(&format!("{fact}rubbish\n{fact}")), (1, 24, 40));
    }
}
