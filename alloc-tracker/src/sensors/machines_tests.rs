//! Machines as files: which sensors are found on each, what they say, and what is said of those that are not there.
//! `fixtures/sensors/README.md` says where the files come from.
use std::fs;
use std::path::{Path, PathBuf};

use super::cores::core_times;
use super::pmic::pmic_rails;
use super::reading::Reading;
use super::source::{Kind, Source};
use super::sources::{Found, find};
use super::tegrastats::tegrastats_rails;

fn machine(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/sensors").join(name)
}

fn text(file: &str) -> String {
    fs::read_to_string(machine(file)).expect("a fixture")
}

/// Each sensor with its name, the sensor that it is a part of, and its reading.
fn sensors(found: &mut Found) -> Vec<(String, Option<String>, Result<Reading, String>)> {
    let of = |source: &mut Source| {
        let readings = source.read();
        source
            .about
            .iter()
            .zip(readings)
            .map(|(about, reading)| (about.name.clone(), about.part_of.clone(), reading))
            .collect::<Vec<_>>()
    };
    found.sources.iter_mut().flat_map(of).collect()
}

fn power(name: &str, part_of: Option<&str>, uw: u64) -> (String, Option<String>, Result<Reading, String>) {
    (name.to_owned(), part_of.map(str::to_owned), Ok(Reading::PowerUw(uw)))
}

#[test]
fn a_server_counts_energy_by_socket_and_memory() {
    let mut found = find(&machine("x86-server"), None);
    let energy = |name: &str, part_of: Option<&str>, counted, range| {
        (name.to_owned(), part_of.map(str::to_owned), Ok(Reading::EnergyUj { counted, range }))
    };
    let (package, dram) = (262_143_328_850, 65_712_999_613);
    assert_eq!(
        sensors(&mut found),
        [
            energy("package-0", None, 142_507_893_021, package),
            energy("package-0/core", Some("package-0"), 61_203_947_112, package),
            energy("package-0/dram", None, 20_394_711_288, dram),
            energy("package-1", None, 98_231_407_755, package),
            energy("package-1/core", Some("package-1"), 61_203_947_113, package),
            energy("package-1/dram", None, 20_394_711_289, dram),
        ]
    );
    assert!(found.sources.iter().all(|source| source.about[0].kind == Kind::Rapl));
    assert_eq!(found.unavailable.len(), 2, "{:?}", found.unavailable);
}

#[test]
fn a_laptop_has_a_battery_that_counts_only_while_it_is_discharged() {
    let mut found = find(&machine("laptop"), None);
    let sensors = sensors(&mut found);
    let parts: Vec<_> = sensors[..2].iter().map(|(name, part_of, _)| (name.as_str(), part_of.as_deref())).collect();
    assert_eq!(parts, [("package-0", Some("psys")), ("psys", None)]);
    // 11.843 V times 1.022 A.
    assert_eq!(sensors[2], power("BAT0", None, 12_103_546));
    let charging = sensors[3].2.as_ref().expect_err("what flows in is no use");
    assert!(charging.ends_with("BAT1/status: Charging"), "{charging}");
}

#[test]
fn a_tx2_has_six_rails_in_its_input() {
    let input = Some("VDD_IN");
    assert_eq!(
        sensors(&mut find(&machine("jetson-tx2"), None)),
        [
            power("VDD_SYS_GPU", input, 153_000),
            power("VDD_SYS_SOC", input, 383_000),
            power("VDD_4V0_WIFI", input, 0),
            power("VDD_IN", None, 1_876_000),
            power("VDD_SYS_CPU", input, 229_000),
            power("VDD_SYS_DDR", input, 134_000),
        ]
    );
    assert_eq!(
        core_times(&text("jetson-tx2/proc-stat.txt")).iter().map(|core| core.core).collect::<Vec<_>>(),
        [0, 3, 4, 5]
    );
}

#[test]
fn an_orin_has_voltage_and_current() {
    assert_eq!(
        sensors(&mut find(&machine("jetson-orin"), None)),
        [
            // 19,704 mV times 120 mA.
            power("VDD_GPU_SOC", None, 2_364_480),
            power("VDD_CPU_CV", None, 788_480),
            power("VIN_SYS_5V0", None, 3_495_040),
            power("VDDQ_VDD2_1V8AO", Some("VIN_SYS_5V0"), 529_152),
        ]
    );
}

#[test]
fn tegrastats_tells_the_same_rails() {
    let of = |file: &str| tegrastats_rails(&text(file));
    let named = |rails: &[(&str, u64)]| rails.iter().map(|(name, mw)| ((*name).to_owned(), *mw)).collect::<Vec<_>>();
    let tx2 = [
        ("VDD_SYS_GPU", 153),
        ("VDD_SYS_SOC", 383),
        ("VDD_4V0_WIFI", 0),
        ("VDD_IN", 1876),
        ("VDD_SYS_CPU", 229),
        ("VDD_SYS_DDR", 134),
    ];
    assert_eq!(of("jetson-tx2/tegrastats.txt"), named(&tx2));
    // Now, and not the mean: 3,495 of 3495mW/3427mW.
    let orin = [("VDD_GPU_SOC", 2364), ("VDD_CPU_CV", 788), ("VIN_SYS_5V0", 3495), ("VDDQ_VDD2_1V8AO", 529)];
    assert_eq!(of("jetson-orin/tegrastats.txt"), named(&orin));
    assert_eq!(tegrastats_rails("RAM 1/2MB VDD_IN 12/x GR3D_FREQ off"), []);
}

#[test]
fn a_raspberry_pi_tells_volts_and_amperes_apart() {
    let rails = pmic_rails(&text("raspberry-pi/pmic_read_adc.txt"));
    assert_eq!(rails.len(), 12, "EXT5V and BATT have no current: {rails:?}");
    // 0.88187950 V times 0.81262990 A.
    assert_eq!(rails.iter().find(|rail| rail.name == "VDD_CORE").map(|rail| rail.uw), Some(716_642));
    assert_eq!(pmic_rails("VDD_CORE_V volt(15)=xV\nVDD_CORE_A current(7)=0.8A"), []);
    assert_eq!(pmic_rails("VDD_CORE_V volt(15)=-1V\nVDD_CORE_A current(7)=0.8A"), []);
    assert_eq!(sensors(&mut find(&machine("raspberry-pi"), None)), [], "nothing in its files");
}

/// A copy, because a file of a checkout is as old as the checkout.
#[test]
fn a_file_that_a_vendors_tool_writes_is_read_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tegra, pmic) = (folder.path().join("tegra"), folder.path().join("pmic"));
    let line = text("jetson-orin/tegrastats.txt");
    fs::write(&tegra, &line).expect("written");
    let mut found = find(folder.path(), Some(&tegra));
    assert_eq!(sensors(&mut found).len(), 4);
    // The next line, and half of one more.
    fs::write(&tegra, format!("{line}{}RAM 1/2MB VDD_GPU_SOC 9", line.replace("2364mW/", "1000mW/"))).expect("written");
    assert_eq!(sensors(&mut found)[0], power("VDD_GPU_SOC", None, 1_000_000));
    fs::remove_file(&tegra).expect("removed");
    assert!(sensors(&mut found).iter().all(|(_, _, reading)| reading.is_err()));

    fs::write(&pmic, text("raspberry-pi/pmic_read_adc.txt")).expect("written");
    let mut found = find(folder.path(), Some(&pmic));
    let sum: u64 = pmic_rails(&text("raspberry-pi/pmic_read_adc.txt")).iter().map(|rail| rail.uw).sum();
    assert_eq!(sensors(&mut found), [power("PMIC rails", None, sum)]);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().append(true).open(&pmic).and_then(|file| file.set_modified(old)).expect("made old");
    let said = sensors(&mut found).remove(0).2.expect_err("nobody writes to it");
    assert!(said.contains("not written to for 6"), "{said}");
}

#[test]
fn where_there_is_nothing_each_instrument_says_why() {
    for folder in [tempfile::tempdir().expect("a folder").path().to_owned(), machine("vm")] {
        let found = find(&folder, Some(&folder.join("no file")));
        assert!(found.sources.is_empty());
        let [rapl, battery, ina3221, logged] = &found.unavailable[..] else { panic!("{:?}", found.unavailable) };
        assert!(rapl.starts_with("rapl: unavailable: ") && rapl.contains("virtual machines"), "{rapl}");
        assert!(battery.starts_with("battery: unavailable: ") && battery.ends_with("has no battery"), "{battery}");
        assert!(ina3221.starts_with("ina3221: unavailable: ") && ina3221.ends_with("has no INA3221"), "{ina3221}");
        assert!(logged.starts_with("power file: unavailable: "), "{logged}");
    }
    assert_eq!(core_times(&text("vm/proc-stat.txt")).len(), 2);
}

/// Since 2020 only root may read the counters. Here the file holds no number, which root cannot read either.
#[test]
fn a_counter_that_cannot_be_read_is_named_and_the_rest_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    for (zone, counted) in [("intel-rapl:0", "closed"), ("intel-rapl:1", "7")] {
        let zone = folder.path().join("sys/class/powercap").join(zone);
        fs::create_dir_all(&zone).expect("made");
        fs::write(zone.join("energy_uj"), counted).expect("written");
        fs::write(zone.join("name"), zone.file_name().expect("a name").as_encoded_bytes()).expect("written");
    }
    let mut found = find(folder.path(), None);
    let reading = Reading::EnergyUj { counted: 7, range: 0 };
    assert_eq!(sensors(&mut found), [("intel-rapl:1".to_owned(), None, Ok(reading))]);
    assert!(found.unavailable[0].starts_with("rapl: unavailable: intel-rapl:0: "), "{:?}", found.unavailable);
}
