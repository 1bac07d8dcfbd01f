//! The instants at which the process came near what it may have.
use std::fmt;

use serde::{Deserialize, Serialize};

/// One such instant: how much room a limit left, who held most, and what was growing.
///
/// Its text is one line, which the recorder prints when it happens, and the viewer afterwards.
///
/// ```
/// use alloc_timeline::{Holder, NearLimit};
///
/// let layer = Some(Holder { name: "fc".into(), bytes: 300 << 20 });
/// let limit = "memory.max of /sys/fs/cgroup/job".to_owned();
/// let near = NearLimit { limit, limit_bytes: 512 << 20, room_bytes: 60 << 20, layer, ..NearLimit::default() };
/// let said = "60.0 MiB left of 512.0 MiB (memory.max of /sys/fs/cgroup/job) after 0.0 s; \
///             held most: layer fc 300.0 MiB";
/// assert_eq!(near.to_string(), said);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearLimit {
    /// When, since the session began.
    pub time_ns: u64,
    /// Which limit: a file of the control group, `RLIMIT_AS`, `RLIMIT_DATA`, or the machine's memory and swap.
    pub limit: String,
    /// The limit.
    pub limit_bytes: u64,
    /// What was left until then.
    pub room_bytes: u64,
    /// Live bytes at that instant.
    pub live_bytes: u64,
    /// The phase that held most; absent when no phase held anything. The same holds for `layer` and `op`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Holder>,
    /// The layer that held most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<Holder>,
    /// The operator that held most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<Holder>,
    /// Who grew most; absent when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growing: Option<Growing>,
    /// How often the control group had been at its limit since it was made. Absent for other limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_hits: Option<u64>,
    /// For how many nanoseconds some process of the group had waited for memory. Absent for other limits, and for
    /// control groups of version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<u64>,
}

/// Who held most, and how much.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The name of a phase, a layer or an operator.
    pub name: String,
    /// Its live bytes.
    pub bytes: u64,
}

/// Who grew most.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growing {
    /// Phase, layer and operator in words, as far as there are any.
    pub owner: String,
    /// By how many bytes.
    pub bytes: u64,
    /// In how many steps; 0 where the run has too few steps to tell, and `over_ns` says in what time.
    pub steps: u64,
    /// In how many nanoseconds.
    pub over_ns: u64,
}

impl fmt::Display for NearLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (room, limit) = (mib(self.room_bytes), mib(self.limit_bytes));
        write!(f, "{room} left of {limit} ({}) after {}", self.limit, seconds(self.time_ns))?;
        let holders = [("layer", &self.layer), ("phase", &self.phase), ("operator", &self.op)];
        let holders: Vec<String> = holders
            .into_iter()
            .filter_map(|(kind, holder)| holder.as_ref().map(|holder| (kind, holder)))
            .map(|(kind, holder)| format!("{kind} {} {}", holder.name, mib(holder.bytes)))
            .collect();
        if !holders.is_empty() {
            write!(f, "; held most: {}", holders.join(", "))?;
        }
        match &self.growing {
            Some(Growing { owner, bytes, steps: 0, over_ns }) => {
                write!(f, "; {owner} grew most: by {} in {}", mib(*bytes), seconds(*over_ns))
            }
            Some(Growing { owner, bytes, steps, .. }) => {
                write!(f, "; {owner} grew most: by {} in {steps} steps", mib(*bytes))
            }
            None => Ok(()),
        }
    }
}

fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1 << 20) as f64)
}

fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known() {
        let holder = |name: &str, mib: u64| Some(Holder { name: name.into(), bytes: mib << 20 });
        let near = NearLimit {
            time_ns: 12_340_000_000,
            limit: "RLIMIT_AS".into(),
            limit_bytes: 1 << 30,
            room_bytes: 1 << 19,
            phase: holder("forward", 300),
            layer: holder("conv1", 200),
            op: holder("aten::conv2d", 100),
            growing: Some(Growing { owner: "conv1 in forward".into(), bytes: 3 << 20, steps: 4, over_ns: 5 }),
            ..NearLimit::default()
        };
        assert_eq!(
            near.to_string(),
            "0.5 MiB left of 1024.0 MiB (RLIMIT_AS) after 12.3 s; held most: layer conv1 200.0 MiB, phase forward \
             300.0 MiB, operator aten::conv2d 100.0 MiB; conv1 in forward grew most: by \
             3.0 MiB in 4 steps"
        );
        let growing = Some(Growing { owner: "loss".into(), bytes: 1 << 20, steps: 0, over_ns: 1_500_000_000 });
        let near = NearLimit { growing, phase: None, layer: None, op: None, ..near };
        let said = "0.5 MiB left of 1024.0 MiB (RLIMIT_AS) after 12.3 s; loss grew most: by 1.0 MiB in 1.5 s";
        assert_eq!(near.to_string(), said);
    }
}
