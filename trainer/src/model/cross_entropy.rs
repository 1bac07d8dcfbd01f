//! The loss of networks that tell classes apart.
use tch::{Kind, Reduction, Result, Tensor};

/// Labels of this value are ignored: PyTorch's default. Our data has no such label.
const IGNORED_LABEL: i64 = -100;

/// Mean cross-entropy of logits `[N, classes]` and labels `[N]`, or of `[N, L, classes]` and `[N, L]`; one f32. The logits
/// are dropped early: the graph needs only the log-probabilities. These are fp32 also where the logits are bf16, as those of
/// PyTorch's `cross_entropy` under autocast.
pub fn cross_entropy(logits: Tensor, labels: &Tensor) -> Result<Tensor> {
    let logits_of_places = logits.dim() > 2;
    let log_probabilities = logits.f_log_softmax(-1, Kind::Float)?;
    drop(logits);
    if logits_of_places {
        let (log_probabilities, labels) = (log_probabilities.f_flatten(0, -2)?, labels.f_flatten(0, -1)?);
        return log_probabilities.f_nll_loss(&labels, None::<&Tensor>, Reduction::Mean, IGNORED_LABEL);
    }
    log_probabilities.f_nll_loss(labels, None::<&Tensor>, Reduction::Mean, IGNORED_LABEL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two equal logits: each class has probability 1/2, and the loss is ln 2 whatever the label.
    #[test]
    fn cross_entropy_of_a_coin() {
        let logits = Tensor::from_slice(&[0.0f32, 0.0]).view([1, 2]);
        let loss = cross_entropy(logits, &Tensor::from_slice(&[1i64])).expect("computes");
        assert!((loss.double_value(&[]) - 2f64.ln()).abs() < 1e-6);
        let logits = Tensor::from_slice(&[0.0f32, 0.0]).view([1, 2]).to_kind(Kind::BFloat16);
        let of_bf16 = cross_entropy(logits, &Tensor::from_slice(&[1i64])).expect("computes");
        assert_eq!(of_bf16, loss, "bf16 has only three digits of ln 2");
    }
}
