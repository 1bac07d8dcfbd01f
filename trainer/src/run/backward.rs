//! The backward pass, of any loss.
use tch::Tensor;

/// Runs the backward pass from `loss`, then drops the loss and its graph. Returns the loss as a number.
pub(super) fn backward(loss: Tensor) -> tch::Result<f64> {
    loss.f_backward()?;
    loss.f_double_value(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Kind;

    /// d(x^2)/dx = 2x at x = 3.
    #[test]
    fn backward_leaves_the_gradient() {
        let x = Tensor::from_slice(&[3.0f32]).set_requires_grad(true);
        let loss = (&x * &x).sum(Kind::Float);
        assert_eq!(backward(loss).expect("runs"), 9.0);
        assert_eq!(x.grad().double_value(&[0]), 6.0);
    }
}
