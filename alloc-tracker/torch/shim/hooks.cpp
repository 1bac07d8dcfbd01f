// The shim over libtorch's hooks: three places at which libtorch tells what it is doing, handed on to Rust as plain
// numbers and addresses. All decisions are Rust's (src/ops.rs); nothing here keeps state but the registrations.
//
//   at::RecordFunction   every operator's start and end, forward (FUNCTION) and backward (BACKWARD_FUNCTION)
//   c10::Allocator       every CPU tensor storage, as it is allocated
//   autograd::Node       which parameter an AccumulateGrad node works for, and the gradient it leaves
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

extern "C" {
// Of src/ops.rs. `inputs` are the storages that the operator reads, `variable` the parameter of an AccumulateGrad node.
void alloc_torch_op_start(
    bool backward,
    const char* name,
    size_t name_length,
    int64_t sequence,
    uint64_t forward_thread,
    const void* variable,
    const void* const* inputs,
    size_t input_count);
void alloc_torch_op_end(void* gradient);
void alloc_torch_expect_storage(bool expected);
}

namespace {

constexpr size_t kMaxInputs = 64;

const void* storage_of(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) {
    return nullptr;
  }
  return tensor.storage().data();
}

void collect(const c10::IValue& value, const void** inputs, size_t& count) {
  if (value.isTensor()) {
    const void* storage = storage_of(value.toTensor());
    if (storage != nullptr && count < kMaxInputs) {
      inputs[count++] = storage;
    }
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      const void* storage = storage_of(tensor);
      if (storage != nullptr && count < kMaxInputs) {
        inputs[count++] = storage;
      }
    }
  }
}

const torch::autograd::AccumulateGrad* accumulating() {
  return dynamic_cast<const torch::autograd::AccumulateGrad*>(torch::autograd::get_current_node().get());
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function) {
  const bool backward = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  const char* name = function.name();
  const void* variable = nullptr;
  const void* inputs[kMaxInputs];
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
  void* gradient = nullptr;
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    if (const auto* node = accumulating()) {
      gradient = const_cast<void*>(storage_of(node->variable.grad()));
    }
  }
  alloc_torch_op_end(gradient);
}

// Tells of each storage and leaves everything else to the allocator that was there before.
struct StorageTeller final : c10::Allocator {
  explicit StorageTeller(c10::Allocator* inner) : inner_(inner) {}

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

at::CallbackHandle callback = at::INVALID_CALLBACK_HANDLE;

}  // namespace

extern "C" {

// Watches operators from now on; with inputs, tells the storages that each reads as well.
void alloc_torch_watch_ops(bool with_inputs) {
  if (callback != at::INVALID_CALLBACK_HANDLE) {
    at::removeCallback(callback);
  }
  callback = at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end)
                                       .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION})
                                       .needsInputs(with_inputs));
}

// Watches CPU storages from now on.
void alloc_torch_watch_storages() {
  // Never freed: libtorch keeps the pointer until the process ends.
  c10::SetCPUAllocator(new StorageTeller(c10::GetCPUAllocator()), /*priority=*/100);
}

// The storage of a tensor as libtorch's C API hands it out; null when it has none.
void* alloc_torch_storage(const at::Tensor* tensor) { return const_cast<void*>(storage_of(*tensor)); }

}  // extern "C"
