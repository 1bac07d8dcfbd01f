//! Which of the driver's devices is the framework's `cuda:N`. CUDA numbers the devices that `CUDA_VISIBLE_DEVICES` leaves, in
//! an order of its own; NVML numbers all of them by their bus.

/// A device, as NVML lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// `GPU-...`.
    pub uuid: String,
    /// The product's name.
    pub product: String,
    /// Whether it is divided into instances (MIG).
    pub is_divided: bool,
}

/// How NVML is to be asked for a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// By its number.
    Index(u32),
    /// By its name: an instance of a divided device.
    Instance(String),
}

/// The device called `name` and, where that is not sure, a remark. `visible` and `order` are the values of
/// `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`.
///
/// # Errors
/// A sentence on why it cannot be found.
pub fn place(
    name: &str,
    visible: Option<&str>,
    order: Option<&str>,
    listed: &[Listed],
) -> Result<(Place, String), String> {
    let (kind, number) = name.split_once(':').unwrap_or((name, "0"));
    let number: usize = number.parse().map_err(|_| format!("{name} is no device with a number"))?;
    if kind == "gpu" {
        return at(number, listed).map(|place| (place, String::new()));
    }
    if kind != "cuda" {
        return Err(format!("NVML knows NVIDIA's devices alone, not {name}"));
    }
    let by_number = |number: usize| {
        let alike = listed.windows(2).all(|pair| pair[0].product == pair[1].product);
        let sure = alike || order == Some("PCI_BUS_ID");
        let doubt = "; CUDA may number devices of several kinds otherwise than NVML: set CUDA_DEVICE_ORDER=PCI_BUS_ID";
        at(number, listed).map(|place| (place, if sure { String::new() } else { doubt.to_owned() }))
    };
    let Some(visible) = visible else { return by_number(number) };
    // CUDA stops reading at the first entry that is no device.
    let entry = visible.split(',').map(str::trim).take_while(|entry| !entry.is_empty() && *entry != "-1").nth(number);
    let Some(entry) = entry else {
        return Err(format!("CUDA_VISIBLE_DEVICES has no entry for {name}"));
    };
    if entry.starts_with("MIG-") {
        return Ok((Place::Instance(entry.to_owned()), String::new()));
    }
    if let Ok(number) = entry.parse() {
        return by_number(number);
    }
    let mut matching = (0..listed.len()).filter(|&index| listed[index].uuid.starts_with(entry));
    match (matching.next(), matching.next()) {
        (Some(index), None) => at(index, listed).map(|place| (place, String::new())),
        _ => Err(format!("NVML lists no single device that begins with '{entry}' of CUDA_VISIBLE_DEVICES")),
    }
}

fn at(index: usize, listed: &[Listed]) -> Result<Place, String> {
    match listed.get(index) {
        None => Err(format!("NVML lists {} devices and none of number {index}", listed.len())),
        Some(Listed { is_divided: true, .. }) => {
            let divided = "the device is divided (MIG), and which instance is used is not known: name it in \
                           CUDA_VISIBLE_DEVICES by its MIG-... name";
            Err(divided.to_owned())
        }
        Some(_) => Ok(Place::Index(index as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(products: &[&str]) -> Vec<Listed> {
        let one = |(index, product): (usize, &&str)| Listed {
            uuid: format!("GPU-{index}f00"),
            product: (*product).to_owned(),
            is_divided: *product == "divided",
        };
        products.iter().enumerate().map(one).collect()
    }

    fn found(name: &str, visible: Option<&str>, order: Option<&str>, products: &[&str]) -> Result<Place, String> {
        let (place, doubt) = place(name, visible, order, &listed(products))?;
        if doubt.is_empty() { Ok(place) } else { Err(doubt) }
    }

    #[test]
    fn numbers_and_names_of_the_environment_are_followed() {
        let two = &["a", "a"];
        assert_eq!(found("cuda:1", None, None, two), Ok(Place::Index(1)));
        assert_eq!(found("cuda:0", Some("1"), None, two), Ok(Place::Index(1)));
        assert_eq!(found("cuda:1", Some("1, 0"), None, two), Ok(Place::Index(0)));
        assert_eq!(found("cuda:0", Some("GPU-1f"), None, two), Ok(Place::Index(1)));
        assert_eq!(found("cuda:0", Some("MIG-5"), None, two), Ok(Place::Instance("MIG-5".to_owned())));
        assert_eq!(found("gpu:1", Some("0"), None, two), Ok(Place::Index(1)), "NVML's own number");
    }

    #[test]
    fn what_is_not_sure_is_said() {
        let refused = |name, visible, products: &[&str]| found(name, visible, None, products).expect_err(name);
        assert!(refused("cuda:0", None, &["a", "b"]).contains("CUDA_DEVICE_ORDER"));
        assert_eq!(found("cuda:0", None, Some("PCI_BUS_ID"), &["a", "b"]), Ok(Place::Index(0)));
        assert!(refused("cuda:1", Some("0,-1,1"), &["a", "a"]).contains("no entry for cuda:1"));
        assert!(refused("cuda:0", Some("GPU-"), &["a", "a"]).contains("no single device"));
        assert!(refused("cuda:3", None, &["a"]).contains("none of number 3"));
        assert!(refused("cuda:0", None, &["divided"]).contains("MIG"));
        assert!(refused("xpu:0", None, &["a"]).contains("NVIDIA's devices alone"));
    }
}
