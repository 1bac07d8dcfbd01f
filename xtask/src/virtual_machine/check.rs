//! What must be true of what a virtual machine has left, and the table that says whether it is.
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

/// One thing that must be true: what was seen, or what is wrong.
#[derive(Debug)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// What was seen; the error is what is wrong.
    pub said: Result<String, String>,
}

impl Check {
    /// Whether it is not true.
    pub fn is_broken(&self) -> bool {
        self.said.is_err()
    }
}

/// A row for each check.
pub fn table(checks: &[Check]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(["check", "", "what was seen"]);
    for check in checks {
        let (verdict, seen) = match &check.said {
            Ok(seen) => ("ok", seen),
            Err(seen) => ("FAILED", seen),
        };
        table.add_row([check.name, verdict, seen]);
    }
    table
}
