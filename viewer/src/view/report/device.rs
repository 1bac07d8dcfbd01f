//! The section about the memory of devices: what was measured beside what was predicted, the account of each device, and the
//! layers of its peak.
use alloc_timeline::Dimension;
use maud::{Markup, PreEscaped, html};

use crate::analysis::{DeviceFigures, devices, no_device};
use crate::model::{Run, exact, share, size};
use crate::view::report::account::totals_and_steps;
use crate::view::report::elements::{bar, cells, heads, with_kind};
use crate::view::waterfall::devices_svg;
use crate::view::words::account::unavailable;
use crate::view::words::device::{account_heading, device_name, settings_name};
use crate::view::words::time_columns::TimeColumns;

/// Rows of a table of layers.
const MOST_ROWS: usize = 15;

/// The section; empty where there is nothing to say of devices.
pub(super) fn section(run: &Run) -> Markup {
    let (devices, none) = (devices(run), no_device(run));
    if devices.is_empty() && none.is_none() && run.timeline.device_predictions.is_empty() {
        return html! {};
    }
    html! {
        h3 { "Memory of devices" }
        @if let Some(none) = &none { p { "Measured: " (none) "." } }
        @if !devices.is_empty() || !run.timeline.device_predictions.is_empty() { (figures(run, &devices)) }
        @if let Some(picture) = devices_svg(run) { figure.waterfall { (PreEscaped(picture)) } }
        @for device in &devices {
            @if device.book.is_empty() { p { (account_heading(device)) ": " (unavailable(&device.source)) "." } }
            @else { (totals_and_steps(&account_heading(device), &device.book)) }
            @if device.peak.is_some() { (layers(run, device)) }
        }
    }
}

/// The most bytes at once, measured and predicted.
fn figures(run: &Run, devices: &[DeviceFigures]) -> Markup {
    let known = |bytes: Option<u64>| bytes.map_or("unavailable".to_owned(), size);
    html! {
        table.numbers {
            caption { "The most at once: measured, and by a model of PyTorch's caching allocator" }
            thead {
                tr {
                    th scope="col" {} th scope="col" { "requested" } th scope="col" { "allocated" } th scope="col" { "reserved" }
                    th scope="col" { "segments" } th.text scope="col" { "source" }
                }
            }
            tbody {
                @for one in devices {
                    tr {
                        th scope="row" { "measured, " (device_name(one)) }
                        td { (known(one.requested_bytes())) } td { (known(one.allocated_bytes())) } td { (known(one.reserved_bytes)) }
                        td {} td.text { (one.source) }
                    }
                }
                @for one in &run.timeline.device_predictions {
                    tr {
                        th scope="row" { "predicted, " (settings_name(one)) }
                        td { (size(one.requested_bytes)) } td { (size(one.allocated_bytes)) } td { (size(one.reserved_bytes)) }
                        td { (exact(one.segments)) } td.text { "the tensors of this run" }
                    }
                }
            }
        }
    }
}

/// The layers of a device's peak.
fn layers(run: &Run, device: &DeviceFigures) -> Markup {
    let times = TimeColumns::for_dimension(&run.timeline, Dimension::Layer);
    let (layers, whole) = (device.layers(), device.allocated_bytes().unwrap_or(0));
    let most = layers.first().map_or(1, |layer| layer.1);
    let rest = layers.get(MOST_ROWS..).unwrap_or_default();
    html! {
        table.numbers.bars.timed[times.any()] {
            caption { "Peak of " (device.device) " by layer" }
            thead { tr { th scope="col" { "layer" } th scope="col" { "bytes" } th scope="col" { "share" } (heads(&times)) th.track scope="col" {} } }
            tbody {
                @for (name, bytes) in layers.iter().take(MOST_ROWS) {
                    tr {
                        th scope="row" { (with_kind(run, name, name)) } td title={ (exact(*bytes)) " bytes" } { (size(*bytes)) } td { (share(*bytes, whole)) }
                        (cells(times.of(Dimension::Layer, name)))
                        (bar(0, *bytes, most, "var(--bar)"))
                    }
                }
                @if !rest.is_empty() {
                    @let bytes = rest.iter().map(|layer| layer.1).fold(0, u64::saturating_add);
                    tr.rest { th scope="row" { "rest (" (rest.len()) ")" } td { (size(bytes)) } td { (share(bytes, whole)) } (cells(times.blank())) td.track {} }
                }
            }
        }
    }
}
