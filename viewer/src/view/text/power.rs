//! `viewer power`: what the run used of the processors and of energy, by phase, layer and operator, and how wrong a
//! sampling profiler would have been.
use alloc_timeline::{Dimension, Energy, EnergyMeter, ProcessUsage, Utilisation};

use crate::analysis::{Usage, interval_ns, no_power, sampling_error, usage_by, whole_meters};
use crate::model::{Run, exact, share, time};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::table::{Table, short_name, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::energy::joules;
use crate::view::words::names::name_or_dash;

/// Threads that are listed.
const MOST_THREADS: usize = 8;
/// Cores that are listed one by one.
const MOST_CORES: usize = 8;
/// Columns of energy.
const MOST_METERS: usize = 3;

/// The tables, each with at most `most` rows.
pub fn power_text(run: &Run, most: usize, terminal: Terminal) -> String {
    fitted(&text(run, most, terminal.width), terminal.width)
}

fn text(run: &Run, most: usize, width: usize) -> String {
    let mut out = format!("{}\n", run.title());
    let why = no_power(&run.timeline);
    let Some(utilisation) = &run.timeline.utilisation else { return format!("{out}\n{}\n", why.unwrap_or_default()) };
    let length = time(utilisation.duration_ns);
    out.push_str(&format!("\nProcessors, over {length}\n{}", processors(utilisation, run, width)));
    out.push_str(&format!("\nEnergy\n{}", energy_text(run.timeline.energy.as_ref(), why, width)));
    if let Some(why) = why {
        return format!("{out}\nTime by phase and layer\n  {why}\n");
    }
    for dimension in [Dimension::Phase, Dimension::Layer, Dimension::Op] {
        out.push_str(&format!("\nBy {dimension}\n{}", usage_table(run, dimension, most).text(width)));
    }
    out.push_str(&sampling(run, utilisation, width));
    out
}

fn processors(utilisation: &Utilisation, run: &Run, width: usize) -> String {
    let mut out = String::new();
    let mut pair = |name: &str, value: String| {
        out.push_str(&wrapped(&value, &format!("  {name:<18} "), &" ".repeat(21), width));
    };
    if let Some(process) = &utilisation.process {
        let ProcessUsage { user_ns, system_ns, .. } = *process;
        let cores = (user_ns + system_ns) as f64 / utilisation.duration_ns.max(1) as f64;
        let split = format!("{} in the program, {} in the kernel", time(user_ns), time(system_ns));
        pair("process", format!("{cores:.2} of {} cores: {split}", run.timeline.machine.cpus));
        let (minor, major) = (exact(process.minor_faults), exact(process.major_faults));
        pair("page faults", format!("{minor} without a disk, {major} with one"));
        let (waits, taken) = (exact(process.voluntary_switches), exact(process.involuntary_switches));
        pair("context switches", format!("{waits} to wait, {taken} by the kernel"));
    }
    if !utilisation.cores.is_empty() {
        pair("cores", cores_text(utilisation));
    }
    if !utilisation.threads.is_empty() {
        let threads = utilisation.threads.iter().filter(|thread| thread.user_ns + thread.system_ns > 0);
        let busiest: Vec<String> = threads
            .take(MOST_THREADS)
            .map(|thread| format!("{} {}", thread.name, time(thread.user_ns + thread.system_ns)))
            .collect();
        let busiest = if busiest.is_empty() { "none used a tick".to_owned() } else { busiest.join(", ") };
        pair("threads", format!("{}: {busiest}", utilisation.threads.len()));
    }
    utilisation.unavailable.iter().for_each(|reason| out.push_str(&format!("  {reason}\n")));
    out
}

/// How busy the cores were, and how idle all of them together.
fn cores_text(utilisation: &Utilisation) -> String {
    let mut busy: Vec<u64> = utilisation.cores.iter().map(|core| core.busy_permille).collect();
    let percent = |permille: u64| format!("{:.1} %", permille as f64 / 10.0);
    let idle = 1000 - (busy.iter().sum::<u64>() / busy.len() as u64).min(1000);
    let each = if busy.len() <= MOST_CORES {
        let cores = utilisation.cores.iter().map(|core| format!("{}: {}", core.core, percent(core.busy_permille)));
        cores.collect::<Vec<_>>().join(", ")
    } else {
        busy.sort_unstable();
        let used = busy.iter().filter(|&&busy| busy > 500).count();
        let (min, median, max) = (busy[0], busy[busy.len() / 2], busy[busy.len() - 1]);
        format!(
            "{} cores, busy {} to {}, half of them more than {}; {used} for more than half of the time",
            busy.len(),
            percent(min),
            percent(max),
            percent(median)
        )
    };
    format!("{each} busy with this and other programs; {} idle", percent(idle))
}

fn energy_text(energy: Option<&Energy>, why: Option<&str>, width: usize) -> String {
    let Some(energy) = energy else { return format!("  {}\n", why.unwrap_or("unavailable: it was not recorded")) };
    let mut out = String::new();
    if !energy.meters.is_empty() {
        let mut table = table(&["", "instrument", ">energy", ">mean", ">most", ">known for", "part of"]);
        for meter in &energy.meters {
            let known = |text: String| if meter.energy_uj.is_some() { text } else { "-".to_owned() };
            table.add_row([
                meter.name.clone(),
                meter.kind.clone(),
                meter.energy_uj.map_or("unavailable".to_owned(), joules),
                known(format!("{:.2} W", mean_watts(meter))),
                known(format!("{:.2} W", meter.most_mw as f64 / 1e3)),
                known(time(meter.covered_ns)),
                meter.part_of.clone().unwrap_or_default(),
            ]);
        }
        out.push_str(&table.text(width));
        out.push_str(
            "  (of these parts of the machine, whatever program used it; a meter that is part of another is in that)\n",
        );
    }
    for meter in &energy.meters {
        meter.problems.iter().for_each(|problem| out.push_str(&format!("  {}: {problem}\n", meter.name)));
    }
    energy.unavailable.iter().for_each(|reason| out.push_str(&format!("  {reason}\n")));
    out
}

fn mean_watts(meter: &EnergyMeter) -> f64 {
    meter.energy_uj.unwrap_or(0) as f64 * 1e3 / meter.covered_ns.max(1) as f64
}

/// What each name of one dimension used; also for `viewer summary`.
pub(super) fn usage_table(run: &Run, dimension: Dimension, most: usize) -> Table {
    let usages = usage_by(&run.timeline, dimension);
    let energy = run.timeline.energy.as_ref();
    let mut meters = energy.map(whole_meters).unwrap_or_default();
    meters.truncate(MOST_METERS);
    let with_cpu = usages.iter().any(|usage| usage.cpu_ns.is_some());
    let mut heads: Vec<String> = [dimension.name(), ">time", ">", ">cores used"].map(str::to_owned).into();
    heads.extend(with_cpu.then(|| ">own thread".to_owned()));
    heads.extend(meters.iter().filter_map(|&index| Some(format!(">{}", energy?.meters[index].name))));
    if meters.is_empty() {
        heads.push(">energy".to_owned());
    }
    let kinds = KindColumn::for_dimension(run, dimension);
    let heads = kinds.behind(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    let all: u64 = usages.iter().map(|usage| usage.active_ns).sum();
    let mut table = table(&heads);
    let mut row = |name: String, usage: &Usage, kind: Option<String>| {
        let mut cells = vec![name, time(usage.active_ns), share(usage.active_ns, all), cores(usage)];
        cells.extend(with_cpu.then(|| usage.cpu_ns.map_or("-".to_owned(), |ns| share(ns, usage.active_ns))));
        cells.extend(meters.iter().map(|&index| joules(usage.by_meter_uj[index])));
        if meters.is_empty() {
            cells.push("unavailable".to_owned());
        }
        table.add_row(cells.into_iter().chain(kind));
    };
    for usage in usages.iter().take(most) {
        row(short_name(name_or_dash(&usage.name)), usage, kinds.of(&usage.name));
    }
    if let Some(rest) = usages.get(most..).filter(|rest| !rest.is_empty()) {
        let mut sum = Usage { by_meter_uj: vec![0; rest[0].by_meter_uj.len()], ..Usage::default() };
        for usage in rest {
            sum.active_ns += usage.active_ns;
            sum.process_cpu_ns += usage.process_cpu_ns;
            sum.cpu_ns = usage.cpu_ns.map(|ns| ns + sum.cpu_ns.unwrap_or(0)).or(sum.cpu_ns);
            sum.by_meter_uj.iter_mut().zip(&usage.by_meter_uj).for_each(|(sum, uj)| *sum += uj);
        }
        row(format!("rest ({})", rest.len()), &sum, kinds.blank());
    }
    table
}

/// How many cores the process used while this was active.
fn cores(usage: &Usage) -> String {
    if usage.active_ns == 0 {
        return "-".to_owned();
    }
    format!("{:.2}", usage.process_cpu_ns as f64 / usage.active_ns as f64)
}

/// What a profiler would have said that looks every 10 ms which scope is active.
fn sampling(run: &Run, utilisation: &Utilisation, width: usize) -> String {
    let errors = [Dimension::Phase, Dimension::Layer, Dimension::Op].map(|by| sampling_error(&run.timeline, by));
    let interval = interval_ns(utilisation).map_or_else(String::new, time);
    let mut out = format!("\nIf times had been sampled every {interval} instead of measured\n");
    let mut table =
        table(&["by", ">of the time misplaced", ">names", ">never hit", ">half off by more than", ">worst", "which"]);
    for error in errors.into_iter().flatten() {
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        table.add_row([
            error.dimension.name().to_owned(),
            percent(error.misplaced),
            error.names.to_string(),
            error.never_hit.to_string(),
            percent(error.median),
            percent(error.worst),
            short_name(name_or_dash(&error.worst_name)),
        ]);
    }
    out.push_str(&table.text(width));
    out.push_str("  (half and worst: of the names with at least 1 % of the time)\n");
    out
}
