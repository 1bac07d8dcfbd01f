//! A line of NVIDIA's tool `tegrastats`, by which a Jetson tells the power of its rails.
//!
//! ```text
//! RAM 1404/7860MB ... CPU [0%@345,...] ... GR3D_FREQ 0%@114 ... VDD_SYS_GPU 153/153 VDD_IN 1649/1649     TX2: mW
//! ... GR3D_FREQ 0%@[305,0] ... VDD_GPU_SOC 2456mW/2456mW VIN_SYS_5V0 3523mW/3523mW                      Orin
//! ```
//!
//! A rail is a name and two numbers: the power now, and its mean since the tool began, which is not used here. Memory
//! looks alike, but its second number has the unit MB.

/// The rails of a line, with their power in milliwatts.
pub fn tegrastats_rails(line: &str) -> Vec<(String, u64)> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_name = |word: &str| word.starts_with(|first: char| first.is_ascii_alphabetic());
    let rail = |pair: &[&str]| Some((pair[0].to_owned(), power(pair[1])?)).filter(|(name, _)| is_name(name));
    words.windows(2).filter_map(rail).collect()
}

/// The first number of `153/153` or `2456mW/2456mW`.
fn power(value: &str) -> Option<u64> {
    let (now, mean) = value.split_once('/')?;
    let milliwatts = |text: &str| text.strip_suffix("mW").unwrap_or(text).parse::<u64>().ok();
    milliwatts(mean)?;
    milliwatts(now)
}
