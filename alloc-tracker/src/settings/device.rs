//! The settings of PyTorch's caching allocator, which the recorder models for every run.

/// What PyTorch reads, the first that is set: the newer name comes first.
const VARIABLES: [&str; 2] = ["PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"];

/// The settings in the environment and the variable that has them.
pub fn device_allocator() -> Option<(&'static str, String)> {
    VARIABLES.into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)))
}
