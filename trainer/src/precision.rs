//! The numbers that a network computes in: what is typed, and what is refused.
use std::fmt;
use std::str::FromStr;

/// In which numbers a network computes. Parameters, gradients and optimizer state are 32-bit floats in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// 32-bit floats throughout.
    #[default]
    Fp32,
    /// Mixed: under libtorch's autocast, convolutions, linear layers and matrix products compute in bfloat16.
    Bf16,
}

impl Precision {
    /// The name on the command line, in timelines and in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Bf16 => "bf16",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(typed: &str) -> Result<Precision, String> {
        match typed {
            "fp32" => Ok(Precision::Fp32),
            "bf16" => Ok(Precision::Bf16),
            "fp16" => {
                Err("fp16: its gradients need to be scaled, which the trainer does not do; on a CPU bf16 works: give \
                           bf16, or fp32"
                    .to_owned())
            }
            _ => Err(format!("{typed}: there is no such precision here; give fp32 or bf16")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_what_is_written() {
        for precision in [Precision::Fp32, Precision::Bf16] {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
    }

    #[test]
    fn a_refusal_says_what_works() {
        let says = |typed: &str| typed.parse::<Precision>().expect_err(typed);
        assert!(says("fp16").contains("on a CPU bf16 works"));
        assert_eq!(says("tf32"), "tf32: there is no such precision here; give fp32 or bf16");
    }
}
