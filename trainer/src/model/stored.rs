//! The variables of a network in a file of safetensors, from one run to the next.
use std::path::Path;

use tch::nn::VarStore;
use tch::{Result, Tensor, no_grad};

/// What of a file of weights went into a network.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    /// How many variables it gave.
    pub taken: usize,
    /// The network's variables that the file lacks, or has in another shape; they are as they were.
    pub left: Vec<String>,
}

/// Writes all variables of `store` to the file `path`, by the names that PyTorch gives them.
///
/// # Errors
/// When it cannot be written.
pub fn save(store: &VarStore, path: &Path) -> Result<()> {
    let mut variables: Vec<(String, Tensor)> = store.variables().into_iter().collect();
    variables.sort_by(|(one, _), (other, _)| one.cmp(other));
    Tensor::write_safetensors(&variables, path)
}

/// Gives the variables of `store` the values that the file `path` has for variables of their name and shape.
///
/// # Errors
/// When it cannot be read.
pub fn take(store: &VarStore, path: &Path) -> Result<Taken> {
    let mut left = store.variables();
    let mut taken = 0;
    for (name, tensor) in Tensor::read_safetensors(path)? {
        if left.get(&name).is_some_and(|variable| variable.size() == tensor.size())
            && let Some(mut variable) = left.remove(&name)
        {
            no_grad(|| variable.f_copy_(&tensor))?;
            taken += 1;
        }
    }
    let mut left: Vec<String> = left.into_keys().collect();
    left.sort_unstable();
    Ok(Taken { taken, left })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tch::Device;

    fn store(classes: i64) -> VarStore {
        let store = VarStore::new(Device::Cpu);
        let path = store.root();
        let _variables = [path.sub("conv1").zeros("weight", &[6, 1, 5, 5]), path.sub("fc3").zeros("bias", &[classes])];
        store
    }

    /// A network of 4 classes takes all but the last layer of one of 3.
    #[test]
    fn what_fits_goes_from_one_network_to_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("weights.safetensors");
        let (one, other) = (store(3), store(4));
        let mut weight = one.variables()["conv1.weight"].shallow_clone();
        no_grad(|| weight.f_fill_(2.0).map(drop)).expect("filled");
        save(&one, &path).expect("written");
        let taken = take(&other, &path).expect("read");
        assert_eq!(taken, Taken { taken: 1, left: vec!["fc3.bias".to_owned()] });
        let weight = other.variables()["conv1.weight"].shallow_clone();
        assert_eq!((weight.double_value(&[5, 0, 4, 4]), weight.requires_grad()), (2.0, true), "it learns on");
        assert_eq!(take(&store(3), &path).expect("read").left, Vec::<String>::new());
    }
}
