//! Devices in words.
use alloc_timeline::DevicePrediction;

use crate::analysis::DeviceFigures;
use crate::model::time;

/// A device with its product: `cuda:0, NVIDIA H200`.
pub(in crate::view) fn device_name(device: &DeviceFigures) -> String {
    match device.product.as_str() {
        "" => device.device.clone(),
        product => format!("{}, {product}", device.device),
    }
}

/// What the account of a device is of: `Account of cuda:0, NVIDIA H200, at 1.20 s`.
pub(in crate::view) fn account_heading(device: &DeviceFigures) -> String {
    let at = device.book_ns.map_or_else(String::new, |ns| format!(", at {}", time(ns)));
    format!("Account of {}{at}", device_name(device))
}

/// The settings of a prediction.
pub(in crate::view) fn settings_name(prediction: &DevicePrediction) -> &str {
    if prediction.settings.is_empty() { "defaults" } else { &prediction.settings }
}
