//! Who held the peak by stack, on the page.
use anyhow::Result;
use maud::{Markup, html};

use crate::analysis::{Measure, site_bytes, sites};
use crate::model::{Run, exact, share, size};
use crate::view::flame::stacks_flame;
use crate::view::report::run::picture;
use crate::view::stacks_text::{calls, growing_stacks, scope};

/// Rows of the table.
const MOST_ROWS: usize = 15;

/// All of it; nothing for a run without stacks.
pub(super) fn section(run: &Run) -> Result<Markup> {
    let Some(stacks) = run.timeline.stacks.as_ref().filter(|stacks| stacks.complete) else { return Ok(html! {}) };
    let sites = sites(&run.timeline, Measure::Peak);
    let whole = site_bytes(&stacks.sums(), Measure::Peak);
    let growing = growing_stacks(run);
    let flame = stacks_flame(run)?;
    Ok(html! {
        h3 { "Who held the peak, by stack" }
        p.dim {
            "Estimated from " (exact(stacks.samples.taken)) " samples, one in " (size(stacks.mean_bytes))
            " of allocated bytes on the average; +- is one standard error."
        }
        @if let Some(flame) = flame { (picture(&format!("Flamegraph of the stacks of {}", run.title()), &flame)) }
        table.numbers {
            thead {
                tr {
                    th scope="col" { "allocated in, called by" } th.text scope="col" { "scope" }
                    th scope="col" { "bytes" } th scope="col" { "+-" } th scope="col" { "share" }
                }
            }
            tbody {
                @for site in sites.iter().take(MOST_ROWS) {
                    @let bytes = site.bytes(Measure::Peak);
                    tr {
                        th scope="row" { (calls(site)) } td.text { (scope(site)) }
                        td title={ (exact(bytes)) " bytes" } { (size(bytes)) }
                        td { (format!("{:.0} %", site.error(Measure::Peak) * 100.0)) } td { (share(bytes, whole)) }
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
