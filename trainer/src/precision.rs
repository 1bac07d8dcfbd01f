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
    /// Mixed as well, in 16-bit floats of IEEE 754. Their least number is 2^-24 and their largest 65,504; so that small gradients do
    /// not become 0, the loss is scaled before the backward pass.
    Fp16,
}

impl Precision {
    /// The name on the command line, in timelines and in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Fp32 => "fp32",
            Precision::Bf16 => "bf16",
            Precision::Fp16 => "fp16",
        }
    }

    /// Whether a processor without instructions for it computes in this precision far more slowly than in fp32. oneDNN's kernels for
    /// 16 bits begin with AVX-512 on x86-64 (its documentation: Data Types). Of other processors nothing is known here.
    pub fn is_slow_here(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let has_kernels = std::arch::is_x86_feature_detected!("avx512bw");
        #[cfg(not(target_arch = "x86_64"))]
        let has_kernels = true;
        self.is_slow(has_kernels)
    }

    fn is_slow(self, has_kernels: bool) -> bool {
        self != Precision::Fp32 && !has_kernels
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
            "fp16" => Ok(Precision::Fp16),
            _ => Err(format!("{typed}: there is no such precision here; give fp32, bf16 or fp16")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_what_is_written() {
        for precision in [Precision::Fp32, Precision::Bf16, Precision::Fp16] {
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
    }

    #[test]
    fn only_16_bits_need_kernels() {
        let slow =
            |has_kernels| [Precision::Fp32, Precision::Bf16, Precision::Fp16].map(|one| one.is_slow(has_kernels));
        assert_eq!((slow(true), slow(false)), ([false; 3], [false, true, true]));
    }

    #[test]
    fn a_refusal_says_what_works() {
        let says = |typed: &str| typed.parse::<Precision>().expect_err(typed);
        assert_eq!(says("tf32"), "tf32: there is no such precision here; give fp32, bf16 or fp16");
    }
}
