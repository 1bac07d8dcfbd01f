//! One line on stderr, by a thread that must not wait: not for a full pipe, not for a stopped terminal, and not for
//! the lock of the program's own output.

/// Pipes take so many bytes as a whole or not at all.
const MOST: usize = libc::PIPE_BUF;

/// Writes `line` and a line feed, cut to what a pipe takes as a whole. Returns whether it was written: it is not when
/// stderr is closed, or when writing would have to wait. It allocates the text.
pub fn say(line: &str) -> bool {
    let mut text = line.to_owned();
    text.truncate(line.floor_char_boundary(MOST - 1));
    text.push('\n');
    let mut ready = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: poll reads and writes one pollfd, which is ours, and with a timeout of 0 it does not wait.
    let count = unsafe { libc::poll(&mut ready, 1, 0) };
    // A pipe that nobody reads any more is in error: writing to it would raise SIGPIPE.
    if count != 1 || ready.revents != libc::POLLOUT {
        return false;
    }
    // SAFETY: write reads the text's bytes, which live until it returns.
    let written = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    usize::try_from(written).is_ok_and(|written| written == text.len())
}
