//! Text of a vendor's tool that somebody else writes to a file while the program runs:
//! `tegrastats --interval 100 --logfile FILE`, or `vcgencmd pmic_read_adc > FILE` in a loop. A profiler must not start
//! processes of its own in the program's.
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ina3221::feeding;
use super::pmic::pmic_rails;
use super::reading::Reading;
use super::source::{About, Kind, Source};
use super::tegrastats::tegrastats_rails;

/// A file that nobody has written to for longer than this says nothing about now.
const MOST_AGE: Duration = Duration::from_secs(5);
/// The end of the file that is read. A line of tegrastats has some 500 bytes, a whole answer of vcgencmd 900.
const TAIL_BYTES: u64 = 8192;

/// The sensors of which the file tells.
///
/// # Errors
/// A sentence on why there is none.
pub fn find(path: &Path) -> Result<Source, String> {
    let said = power(path)?;
    let origin = path.display().to_string();
    let names: Vec<String> = said.iter().map(|rail| rail.name.clone()).collect();
    let about = said
        .iter()
        .map(|rail| {
            let (name, kind) = (rail.name.clone(), rail.kind);
            About { part_of: feeding(&name, &names), name, kind, origin: origin.clone() }
        })
        .collect();
    let path = path.to_owned();
    Ok(Source::new(about, move || match fresh(&path).and_then(|()| power(&path)) {
        Err(reason) => names.iter().map(|_| Err(reason.clone())).collect(),
        Ok(said) => names
            .iter()
            .map(|name| {
                let rail = said.iter().find(|rail| rail.name == *name);
                rail.map(|rail| Reading::PowerUw(rail.uw)).ok_or_else(|| format!("{}: no {name}", path.display()))
            })
            .collect(),
    }))
}

struct Rail {
    name: String,
    kind: Kind,
    uw: u64,
}

fn power(path: &Path) -> Result<Vec<Rail>, String> {
    let text = tail(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let pmic = pmic_rails(&text);
    if !pmic.is_empty() {
        // The rails leave out what feeds USB and other devices, and the losses of the board's own supply.
        let uw = pmic.iter().map(|rail| rail.uw).sum();
        return Ok(vec![Rail { name: "PMIC rails".to_owned(), kind: Kind::Pmic, uw }]);
    }
    // The last line may not be whole yet.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let rails = tegrastats_rails(whole.lines().next_back().unwrap_or_default());
    if rails.is_empty() {
        return Err(format!("{}: neither text of tegrastats with power rails nor of pmic_read_adc", path.display()));
    }
    let rail = |(name, mw): (String, u64)| Rail { name, kind: Kind::Tegrastats, uw: mw.saturating_mul(1_000) };
    Ok(rails.into_iter().map(rail).collect())
}

fn fresh(path: &PathBuf) -> Result<(), String> {
    let age = std::fs::metadata(path).and_then(|file| file.modified()).ok().and_then(|then| then.elapsed().ok());
    // A file of the future is as good as one of now.
    match age {
        Some(age) if age > MOST_AGE => Err(format!("{}: not written to for {} s", path.display(), age.as_secs())),
        _ => Ok(()),
    }
}

fn tail(path: &Path) -> std::io::Result<String> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut text = vec![0; length.min(TAIL_BYTES) as usize];
    let read = file.read_at(&mut text, length.saturating_sub(TAIL_BYTES))?;
    Ok(String::from_utf8_lossy(&text[..read]).into_owned())
}
