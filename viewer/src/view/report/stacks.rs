//! The section about the sampled stacks of one run.
use anyhow::Result;
use maud::{Markup, html};

use crate::analysis::{Measure, measured_bytes, sites};
use crate::model::{Run, exact, share, size};
use crate::view::flame::stacks_flamegraph;
use crate::view::report::elements::{cells, heads, with_kind};
use crate::view::report::flame_frame::flame_frame;
use crate::view::words::names::owner_name;
use crate::view::words::stacks::{call_chain, growing_stacks};
use crate::view::words::time_columns::{TimeColumns, Times};

/// Rows of the table.
const MOST_ROWS: usize = 15;

/// The section; empty for a run without stacks.
pub(super) fn section(run: &Run) -> Result<Markup> {
    let Some(stacks) = run.timeline.stacks.as_ref().filter(|stacks| stacks.complete) else { return Ok(html! {}) };
    let sites = sites(&run.timeline, Measure::Peak);
    let whole = measured_bytes(&stacks.sums(), Measure::Peak);
    let growing = growing_stacks(run);
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let flame = stacks_flamegraph(run)?;
    Ok(html! {
        h3 { "Who held the peak, by stack" }
        p.dim {
            "Estimated from " (exact(stacks.samples.taken)) " samples, one in " (size(stacks.mean_bytes))
            " of allocated bytes on the average; +- is one standard error."
        }
        @if let Some(flame) = flame { (flame_frame(&format!("Flamegraph of the stacks of {}", run.title()), &flame)) }
        table.numbers {
            thead {
                tr {
                    th scope="col" { "allocated in, called by" } th.text scope="col" { "scope" }
                    th scope="col" { "bytes" } th scope="col" { "+-" } th scope="col" { "share" } (heads(&times))
                }
            }
            tbody {
                @for site in sites.iter().take(MOST_ROWS) {
                    @let bytes = site.bytes(Measure::Peak);
                    tr {
                        th scope="row" { (call_chain(site)) } td.text { (with_kind(run, &owner_name(&site.scope), &site.scope.layer)) }
                        td title={ (exact(bytes)) " bytes" } { (size(bytes)) }
                        td { (format!("{:.0} %", site.error(Measure::Peak) * 100.0)) } td { (share(bytes, whole)) }
                        (cells(times.of_layer(&site.scope.layer)))
                    }
                }
            }
        }
        @if !growing.is_empty() {
            p { "From step to step:" }
            ul.verdicts { @for line in &growing { li { (line) } } }
        }
    })
}
