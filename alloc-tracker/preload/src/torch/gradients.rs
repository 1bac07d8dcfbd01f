//! Gradients, as they are accumulated. When a parameter has one, libtorch's node `AccumulateGrad` asks
//! `torch::autograd::impl::post_acc_grad_hooks` for the hooks that wait for it; this library has a function of that name as well, which the
//! loader finds first. So a gradient has its label before hooks of the program's see it, and no hook of the package's is needed, for
//! each of which the engine would take the interpreter's lock.
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;

use alloc_tracker::hooks;

use super::layers;
use super::objects::{Objects, as_they_are};
use super::own::Own;

/// `at::Tensor`: a pointer to its `TensorImpl`.
#[repr(C)]
pub struct Variable(*const c_void);

type Hooks = unsafe extern "C-unwind" fn(*const Variable) -> *mut c_void;
type Gradient = unsafe extern "C" fn(*const c_void) -> *const Variable;

static HOOKS: Own = Own::new(c"_ZN5torch8autograd4impl19post_acc_grad_hooksERKN2at6TensorE", c"libtorch_cpu.so");
/// `c10::TensorImpl::grad() const`: a reference to a tensor, which is one without an implementation of its own where there is no gradient.
static GRADIENT: Own = Own::new(c"_ZNK3c1010TensorImpl4gradEv", c"libc10.so");

/// The hooks of a variable that has none.
static NO_HOOKS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// How the memory of a gradient is found, from when on gradients are told.
static TOLD: OnceLock<Objects> = OnceLock::new();

thread_local! {
    /// In a trial: whether the next variable of which hooks are asked for on this thread is the one that Python has announced.
    static IS_AWAITED: Cell<bool> = const { Cell::new(false) };
    /// The announced one's implementation, and that of its gradient.
    static SEEN: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// The next variable of the calling thread is the round's.
pub fn look() {
    IS_AWAITED.set(true);
}

/// The implementations of the variable that was looked for and of its gradient; `None` where libtorch has not asked here.
pub fn looked() -> Option<(u64, u64)> {
    IS_AWAITED.set(false);
    SEEN.take()
}

/// Tells gradients from now on.
pub fn begin(objects: Objects) {
    let _ = TOLD.set(objects);
}

/// `torch::autograd::impl::post_acc_grad_hooks(const at::Tensor&)`.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(export_name = "_ZN5torch8autograd4impl19post_acc_grad_hooksERKN2at6TensorE")]
pub unsafe extern "C-unwind" fn post_acc_grad_hooks(variable: *const Variable) -> *mut c_void {
    // SAFETY: the caller passes a tensor, which has an implementation, and the type of libtorch's function is this one.
    unsafe {
        if let Some(objects) = TOLD.get() {
            label(objects, (*variable).0);
        } else if IS_AWAITED.replace(false) {
            let implementation = (*variable).0;
            SEEN.set(gradient(implementation).map(|gradient| (implementation.addr() as u64, gradient)));
        }
        // libtorch's function of this name takes a tensor and returns a reference, to a pointer.
        HOOKS.function::<Hooks>().map_or(NO_HOOKS.as_ptr().cast(), |real| real(variable))
    }
}

/// The implementation of a variable's gradient.
///
/// # Safety
/// It is the implementation of a tensor that is alive, and nobody gives it another gradient meanwhile.
unsafe fn gradient(variable: *const c_void) -> Option<u64> {
    // SAFETY: libtorch's function of this name takes an implementation and returns a reference to a tensor.
    unsafe { GRADIENT.function::<Gradient>().map(|gradient| (*gradient(variable)).0.addr() as u64) }
}

/// Labels the gradient of a variable. In the processor's memory it is of the layer of the variable, also where a module uses another one's
/// parameter, but for blocks that several gradients share (DDP's buckets).
///
/// # Safety
/// As for [`gradient`].
unsafe fn label(objects: &Objects, variable: *const c_void) {
    // SAFETY: as the caller promises.
    unsafe {
        let Some(at) = gradient(variable).and_then(|gradient| objects.data(gradient, as_they_are())) else { return };
        let own = objects.data(variable.addr() as u64, as_they_are());
        let layer = own.and_then(|own| hooks::layer_of(ptr::with_exposed_provenance(own as usize))).unwrap_or_default();
        let bytes = |at: u64| hooks::size_of(ptr::with_exposed_provenance(at as usize)).map(|size| size.requested);
        // A network that an imported module builds has its layers later.
        let fits =
            || matches!((bytes(at), own.and_then(bytes)), (Some(gradient), Some(parameter)) if gradient <= parameter);
        let is_alone = || fits() && !hooks::text(layer).starts_with(alloc_c::IMPORT);
        layers::label_gradient(at, layer.0, is_alone);
    }
}
