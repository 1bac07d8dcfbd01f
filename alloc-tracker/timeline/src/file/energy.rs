//! Energy, by sensor and by scope.
use serde::{Deserialize, Serialize};

/// The energy of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Energy {
    /// What each sensor measured.
    pub meters: Vec<EnergyMeter>,
    /// Energy by scope, in the order of the scopes' numbers. The scope without names has the energy of the time in no scope.
    pub scopes: Vec<ScopeEnergy>,
    /// A sentence for each instrument that is not there or could not be read.
    pub unavailable: Vec<String>,
}

/// What one sensor measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnergyMeter {
    /// The part of the machine: `package-0`, `VDD_IN`, `gpu-0`, ...
    pub name: String,
    /// The instrument: `rapl`, `battery`, `ina3221`, `tegrastats`, `pmic`, `nvml`.
    pub kind: String,
    /// The name of the sensor that measures this part along with others. Absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// Energy of the whole machine part, whatever process used it, in microjoules. Absent when the sensor gave no two
    /// readings.
    pub energy_uj: Option<u64>,
    /// How long `energy_uj` was measured for.
    pub covered_ns: u64,
    /// The most power in any interval, in milliwatts.
    pub most_mw: u64,
    /// Where the readings came from.
    pub source: String,
    /// What went wrong, in sentences.
    pub problems: Vec<String>,
}

/// The energy of one scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeEnergy {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scope: u32,
    /// Microjoules by each of the meters, in their order. All scopes together have what the meter measured.
    pub by_meter_uj: Vec<u64>,
}
