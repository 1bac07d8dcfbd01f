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

extern "C" {
// Of src/events.rs. `autocasts` says whether autocast looks at what this operator takes before it runs. `inputs` are the addresses
// of the storages that the operator takes, none of them 0; `variable` that of the parameter of an AccumulateGrad node, `gradient`
// that of the gradient that it leaves, 0 for all other operators.
void alloc_torch_op_start(
    bool backward,
    bool autocasts,
    const char* name,
    size_t name_length,
    int64_t sequence,
    uint64_t forward_thread,
    uintptr_t variable,
    const uintptr_t* inputs,
    size_t input_count);
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

void collect(const at::Tensor& tensor, uintptr_t* inputs, size_t& count) {
  const uintptr_t storage = storage_of(tensor);
  if (storage != 0 && count < kMaxInputs) {
    inputs[count++] = storage;
  }
}

void collect(const c10::IValue& value, uintptr_t* inputs, size_t& count) {
  if (value.isTensor()) {
    collect(value.toTensor(), inputs, count);
  } else if (value.isTensorList() || value.isOptionalTensorList()) {
    for (const c10::IValue& element : value.toListRef()) {
      collect(element, inputs, count);
    }
  }
}

// Whether autocast is on and outside of its own kernels, within which libtorch switches it off.
bool autocast_looks() {
  return !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCPU) ||
      !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutocastCUDA);
}

const torch::autograd::AccumulateGrad* accumulating() {
  return dynamic_cast<const torch::autograd::AccumulateGrad*>(torch::autograd::get_current_node().get());
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  alloc_torch::watch_this_thread();
  const bool backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  const char* name = function.name();
  uintptr_t variable = 0;
  uintptr_t inputs[kMaxInputs];
  size_t count = 0;
  if (backward) {
    if (const auto* node = accumulating()) {
      variable = storage_of(node->variable);
    }
  } else if (function.needsInputs()) {
    for (const c10::IValue& value : function.inputs()) {
      collect(value, inputs, count);
    }
  }
  alloc_torch_op_start(
      backward,
      autocast_looks(),
      name,
      std::strlen(name),
      function.seqNr(),
      backward ? function.forwardThreadId() : function.threadId(),
      variable,
      inputs,
      count);
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

}  // extern "C"
