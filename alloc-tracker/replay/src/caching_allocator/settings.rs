//! The settings of the caching allocator, as `PYTORCH_ALLOC_CONF` states them, and the sizes that follow from them.
use std::fmt;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Every block is a multiple of this many bytes.
pub const MIN_BLOCK: u64 = 512;
/// Requests of up to so many bytes are small: they share segments of [`SMALL_SEGMENT`] bytes.
pub const SMALL_REQUEST: u64 = MIB;
/// The bytes of a segment for small requests.
pub const SMALL_SEGMENT: u64 = 2 * MIB;
/// Requests of at least so many bytes get a segment of their own size ...
const OWN_SEGMENT: u64 = 10 * MIB;
/// ... rounded up to a multiple of this.
const ROUND_SEGMENT: u64 = 2 * MIB;

/// The roundings by powers of two are set for intervals of sizes: up to 1 MiB, up to 2 MiB, and so on ...
const FIRST_INTERVAL: u64 = MIB;
/// ... in so many intervals; the last has no end.
const INTERVALS: usize = 16;

/// The settings that the model knows. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `max_split_size_mb`: blocks of at least so many bytes are never split. The default is no limit.
    pub max_split_bytes: u64,
    /// `large_segment_size_mb`: the segments for requests above 1 MiB and below 10 MiB. The default is 20 MiB.
    pub large_segment_bytes: u64,
    /// `max_non_split_rounding_mb`: a free block that may not be split serves a request if it is less than so many bytes
    /// larger. The default is that of `large_segment_bytes`.
    pub max_unsplit_excess_bytes: u64,
    /// `expandable_segments`: one segment a pool that grows, instead of many of fixed sizes.
    pub expandable_segments: bool,
    /// `roundup_power2_divisions`: into how many steps each power of two is divided, by interval of sizes. 0 and 1: sizes
    /// are rounded up to 512 bytes only, which is the default.
    pub power2_divisions: [u64; INTERVALS],
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_split_bytes: u64::MAX,
            large_segment_bytes: 20 * MIB,
            max_unsplit_excess_bytes: 20 * MIB,
            expandable_segments: false,
            power2_divisions: [0; INTERVALS],
        }
    }
}

/// Why a text of settings cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// The settings that `text` states, as in the environment variable `PYTORCH_ALLOC_CONF`: pairs `key:value` with commas
    /// between them, such as `max_split_size_mb:128,expandable_segments:True`. Keys that have no effect on the model are
    /// ignored.
    ///
    /// # Errors
    /// When a value is not what its key wants.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let mut settings = Settings::default();
        let mut excess = None;
        for (key, value) in pairs(text)? {
            match key {
                "max_split_size_mb" => settings.max_split_bytes = mebibytes(key, value)?,
                "large_segment_size_mb" => settings.large_segment_bytes = mebibytes(key, value)?,
                "max_non_split_rounding_mb" => excess = Some(mebibytes(key, value)?),
                "expandable_segments" => settings.expandable_segments = truth(key, value)?,
                "roundup_power2_divisions" => settings.power2_divisions = divisions(key, value)?,
                _ => {}
            }
        }
        settings.max_unsplit_excess_bytes = excess.unwrap_or(settings.large_segment_bytes);
        Ok(settings)
    }

    /// The bytes of the block that a request of `requested` bytes needs.
    pub fn block_bytes(&self, requested: u64) -> u64 {
        let divisions = self.divisions_for(requested);
        if divisions > 1 && requested > MIN_BLOCK * divisions {
            return next_division(requested, divisions);
        }
        requested.max(1).next_multiple_of(MIN_BLOCK)
    }

    /// The bytes of the segment that is made for a block of `bytes`.
    pub fn segment_bytes(&self, bytes: u64) -> u64 {
        if bytes <= SMALL_REQUEST {
            SMALL_SEGMENT
        } else if bytes < OWN_SEGMENT {
            self.large_segment_bytes
        } else {
            bytes.next_multiple_of(ROUND_SEGMENT)
        }
    }

    fn divisions_for(&self, requested: u64) -> u64 {
        let interval = requested.max(1).ilog2().saturating_sub(FIRST_INTERVAL.ilog2()) as usize;
        self.power2_divisions[interval.min(INTERVALS - 1)]
    }
}

/// `bytes` rounded up to the next of `divisions` equal steps between two powers of two.
fn next_division(bytes: u64, divisions: u64) -> u64 {
    let power = 1 << bytes.ilog2();
    // The step is exact: the divisions are a power of two, and `bytes` is above 512 times as many.
    bytes.next_multiple_of((power / divisions).max(1))
}

/// The pairs of `text`. A value may be a list in brackets, with commas in it.
fn pairs(text: &str) -> Result<Vec<(&str, &str)>, SettingsError> {
    let mut pairs = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((key, after)) = rest.split_once(':') else {
            return Err(SettingsError(format!("`{rest}` has no value: write key:value")));
        };
        let end = match after.trim_start().starts_with('[') {
            true => after.find(']').map(|end| end + 1),
            false => Some(after.find(',').unwrap_or(after.len())),
        };
        let Some(end) = end else {
            return Err(SettingsError(format!("the list of `{}` does not end: a `]` is missing", key.trim())));
        };
        pairs.push((key.trim(), after[..end].trim()));
        rest = after[end..].trim_start().trim_start_matches(',').trim_start();
    }
    Ok(pairs)
}

fn wrong(key: &str, value: &str, wanted: &str) -> SettingsError {
    SettingsError(format!("`{key}` is `{value}`, not {wanted}"))
}

fn mebibytes(key: &str, value: &str) -> Result<u64, SettingsError> {
    let number: Option<u64> = value.parse().ok();
    number.and_then(|number| number.checked_mul(MIB)).ok_or_else(|| wrong(key, value, "a number of MiB"))
}

fn truth(key: &str, value: &str) -> Result<bool, SettingsError> {
    match value {
        "True" | "true" => Ok(true),
        "False" | "false" => Ok(false),
        _ => Err(wrong(key, value, "True or False")),
    }
}

/// One number for all sizes, or a list such as `[256:1,512:2,>:8]`: a size in MiB and the number for its interval. As in
/// PyTorch, the first entry also holds for all sizes below its own, an interval without an entry keeps 0, and `>` holds
/// from the entry before it on, that entry included.
fn divisions(key: &str, value: &str) -> Result<[u64; INTERVALS], SettingsError> {
    let refused = || wrong(key, value, "a power of two, or a list such as [256:1,512:2,>:8]");
    let number = |text: &str| text.trim().parse().ok().filter(|number: &u64| *number == 0 || number.is_power_of_two());
    let Some(list) = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')) else {
        return number(value).map(|number| [number; INTERVALS]).ok_or_else(refused);
    };
    let mut divisions = [0; INTERVALS];
    let mut last = None;
    for pair in list.split(',') {
        let (size, divided) = pair.split_once(':').ok_or_else(refused)?;
        let divided = number(divided).ok_or_else(refused)?;
        if size.trim() == ">" {
            divisions[last.unwrap_or(0)..].fill(divided);
            continue;
        }
        let size = number(size).filter(|&size| size > 0).ok_or_else(refused)?;
        let index = (size.ilog2() as usize).min(INTERVALS - 1);
        if last.is_none() {
            divisions[..index].fill(divided);
        }
        divisions[index] = divided;
        last = Some(index);
    }
    Ok(divisions)
}
