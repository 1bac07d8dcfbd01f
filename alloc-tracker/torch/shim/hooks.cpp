// The shim over libtorch's hooks: three places at which libtorch tells what it is doing, handed on to Rust as plain
// numbers and addresses. All decisions are those of the crate alloc-torch-core; nothing here keeps state but the
// registrations.
//
//   at::RecordFunction   every operator's start and end, forward (FUNCTION) and backward (BACKWARD_FUNCTION)
//   c10::Allocator       every CPU tensor storage, as it is allocated
//   autograd::Node       which parameter an AccumulateGrad node works for, and the gradient it leaves
//
// devices.cpp has a fourth: the blocks of devices.
#include "devices.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

extern "C" {
// Of src/events.rs. `autocasts`: autocast looks at what this operator takes before it runs. `gradient_state`: whether results
// will need a gradient, one of kGradient... `inputs` are the addresses of the storages that the operator takes, none of them
// 0, and `tensors` those of their tensors; `variable` that of the parameter of an AccumulateGrad node, `gradient` that of the
// gradient that it leaves, 0 for all other operators.
// Returns which arguments say what the operator's layer is, to be told with alloc_torch_layer_is: 1 + that of the weight, then
// from bit 8 on that of the stride and from bit 16 on that of the groups; 0: nothing is wanted.
uint32_t alloc_torch_op_start(
    bool backward,
    bool autocasts,
    const char* name,
    size_t name_length,
    int64_t sequence,
    uint64_t forward_thread,
    uintptr_t variable,
    uint8_t gradient_state,
    const uintptr_t* inputs,
    const uintptr_t* tensors,
    size_t input_count);
void alloc_torch_layer_is(
    const char* name,
    size_t name_length,
    const int64_t* weight,
    size_t weight_rank,
    const int64_t* stride,
    size_t stride_length,
    int64_t groups);
void alloc_torch_op_end(uintptr_t gradient);
void alloc_torch_expect_storage(bool expected);
}

namespace {

// Tensors beyond these are not told of.
constexpr size_t kMaxInputs = 512;

// The address of the block that a tensor's elements lie in; 0 when the tensor has none.
uintptr_t storage_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) {
    return 0;
  }
  return reinterpret_cast<uintptr_t>(tensor.storage().data());
}

// What events.rs calls the values of `gradient_state`.
constexpr uint8_t kGradientNotTold = 0;
constexpr uint8_t kGradientOff = 1;
constexpr uint8_t kGradientNone = 2;
constexpr uint8_t kGradientToCome = 3;

// The tensors that an operator takes.
struct Taken {
  uintptr_t inputs[kMaxInputs];
  uintptr_t tensors[kMaxInputs];
  size_t count = 0;
  bool needs_gradient = false;

  // Not a brace initializer: the arrays stay as they are.
  Taken() {}

  void add(const at::Tensor& tensor) {
    const uintptr_t storage = storage_of(tensor);
    if (storage != 0 && count < kMaxInputs) {
      inputs[count] = storage;
      tensors[count++] = reinterpret_cast<uintptr_t>(tensor.unsafeGetTensorImpl());
    }
    needs_gradient = needs_gradient || (tensor.defined() && tensor.requires_grad());
  }

  void add(const c10::IValue& value) {
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isTensorList() || value.isOptionalTensorList()) {
      for (const c10::IValue& element : value.toListRef()) {
        add(element);
      }
    }
  }
};

// Whether autocast is on and outside of its own kernels, within which libtorch switches it off.
bool autocast_looks() {
  return !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU) ||
      !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCUDA);
}

const torch::autograd::AccumulateGrad* accumulating() {
  return dynamic_cast<const torch::autograd::AccumulateGrad*>(torch::autograd::get_current_node().get());
}

// Tells the arguments that `wanted`, which alloc_torch_op_start returned, names. Tells nothing where they are not what they
// should be.
void tell_layer(const at::RecordFunction& function, uint32_t wanted) {
  const auto arguments = function.inputs();
  const size_t weight_at = (wanted & 0xff) - 1;
  const size_t stride_at = wanted >> 8 & 0xff;
  const size_t groups_at = wanted >> 16 & 0xff;
  if (weight_at >= arguments.size() || stride_at >= arguments.size() || groups_at >= arguments.size()) {
    return;
  }
  const c10::IValue& value = arguments[weight_at];
  at::Tensor weight;
  if (value.isTensor()) {
    weight = value.toTensor();
  } else if (value.isTensorList() && !value.toListRef().empty()) {
    weight = value.toListRef()[0].toTensor();
  }
  if (!weight.defined()) {
    return;
  }
  const auto sizes = weight.sizes();
  std::vector<int64_t> stride;
  if (stride_at != 0 && arguments[stride_at].isIntList()) {
    stride = arguments[stride_at].toIntVector();
  }
  const bool has_groups = groups_at != 0 && arguments[groups_at].isInt();
  alloc_torch_layer_is(
      function.name(),
      std::strlen(function.name()),
      sizes.data(),
      sizes.size(),
      stride.data(),
      stride.size(),
      has_groups ? arguments[groups_at].toInt() : 1);
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  alloc_torch::watch_this_thread();
  const bool backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  const char* name = function.name();
  uintptr_t variable = 0;
  uint8_t gradient_state = kGradientNotTold;
  Taken taken;
  if (backward) {
    if (const auto* node = accumulating()) {
      variable = storage_of(node->variable);
    }
  } else if (function.needsInputs()) {
    for (const c10::IValue& value : function.inputs()) {
      taken.add(value);
    }
    const uint8_t while_on = taken.needs_gradient ? kGradientToCome : kGradientNone;
    gradient_state = at::GradMode::is_enabled() ? while_on : kGradientOff;
  }
  const uint32_t wanted = alloc_torch_op_start(
      backward,
      autocast_looks(),
      name,
      std::strlen(name),
      function.seqNr(),
      backward ? function.forwardThreadId() : function.threadId(),
      variable,
      gradient_state,
      taken.inputs,
      taken.tensors,
      taken.count);
  if (wanted != 0) {
    tell_layer(function, wanted);
  }
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext*) {
  uintptr_t gradient = 0;
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    if (const auto* node = accumulating()) {
      gradient = storage_of(node->variable.grad());
    }
  }
  alloc_torch_op_end(gradient);
}

// Announces each storage and leaves everything else to the allocator that was there before.
struct StorageAnnouncer final : c10::Allocator {
  explicit StorageAnnouncer(c10::Allocator* inner) : inner_(inner) {}

  c10::DataPtr allocate(size_t bytes) override {
    struct Expecting {
      Expecting() { alloc_torch_expect_storage(true); }
      ~Expecting() { alloc_torch_expect_storage(false); }
    } expecting;
    return inner_->allocate(bytes);
  }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return inner_->is_simple_data_ptr(data); }
  c10::DeleterFnPtr raw_deleter() const override { return inner_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { inner_->copy_data(to, from, bytes); }

 private:
  c10::Allocator* inner_;
};

at::CallbackHandle forward_callback = at::INVALID_CALLBACK_HANDLE;
at::CallbackHandle backward_callback = at::INVALID_CALLBACK_HANDLE;

}  // namespace

extern "C" {

// Watches operators from now on; with inputs, tells the storages that each takes as well. Nodes of the backward pass tell
// none: what they read is read by the operators that they call.
void alloc_torch_watch_ops(bool with_inputs) {
  if (forward_callback != at::INVALID_CALLBACK_HANDLE) {
    at::removeCallback(forward_callback);
  }
  forward_callback = at::addGlobalCallback(
      at::RecordFunctionCallback(on_start, on_end).scopes({at::RecordScope::FUNCTION}).needsInputs(with_inputs));
  if (backward_callback == at::INVALID_CALLBACK_HANDLE) {
    backward_callback = at::addGlobalCallback(
        at::RecordFunctionCallback(on_start, on_end).scopes({at::RecordScope::BACKWARD_FUNCTION}));
  }
}

// Watches CPU storages from now on.
void alloc_torch_watch_storages() {
  // Never freed: libtorch keeps the pointer until the process ends.
  c10::SetCPUAllocator(new StorageAnnouncer(c10::GetCPUAllocator()), /*priority=*/100);
}

// The address of the storage of a tensor as libtorch's C API hands it out; 0 when it has none.
uintptr_t alloc_torch_storage(const at::Tensor* tensor) { return storage_of(*tensor); }

// What tells a tensor from all others, whatever its storage; 0 when it is undefined.
uintptr_t alloc_torch_tensor(const at::Tensor* tensor) {
  return tensor->defined() ? reinterpret_cast<uintptr_t>(tensor->unsafeGetTensorImpl()) : 0;
}

// Keeps what tells this tensor from others from being given to another tensor, until the process ends. The tensor's elements
// are freed as ever: a weak reference keeps the few words that describe them.
void alloc_torch_keep_identity(const at::Tensor* tensor) {
  new c10::weak_intrusive_ptr<c10::TensorImpl>(tensor->getIntrusivePtr());
}

}  // extern "C"
