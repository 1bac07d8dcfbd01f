// The shim over what c10 knows of devices: the blocks of their caching allocators as they come and go, and the figures that
// such an allocator gives when it is asked. Nothing here needs CUDA: c10's interfaces are the same for every device.
//
// A caching allocator reports to the object in the slot PROFILER_STATE of the calling thread's debug info. libtorch hands
// that on to the threads of the autograd engine, with the rest of the thread's state, as each backward pass begins. So it is
// enough that a thread which runs an operator has our object there. torch's own profiler uses the same slot: where it is
// active, it is left alone, and Rust is told so.
#include "devices.h"

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

extern "C" {
// Of src/devices.rs. `type` and `index` are those of c10::Device; `bytes` is negative for a block that is freed.
void alloc_torch_device_block(
    int8_t type, int8_t index, uintptr_t address, int64_t bytes, uint64_t allocated, uint64_t reserved);
void alloc_torch_device_out_of_memory(int8_t type, int8_t index, int64_t bytes, uint64_t allocated, uint64_t reserved);
void alloc_torch_profiler_is_active();
}

namespace {

using torch::profiler::impl::ActiveProfilerType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;
using torch::profiler::impl::ProfilerStateBase;

// A profiler's state and not only a c10::MemoryReportingInfoBase: libtorch takes what it finds in this slot for one, and asks
// it whether it is disabled. As it is, and wants no memory profile, CPU storages are not reported: those are known already.
// Devices report without asking.
struct BlockReporter final : ProfilerStateBase {
  BlockReporter() : ProfilerStateBase(ProfilerConfig(ProfilerState::Disabled)) {}

  ActiveProfilerType profilerType() override { return ActiveProfilerType::NONE; }

  void reportMemoryUsage(
      void* block, int64_t bytes, size_t total_allocated, size_t total_reserved, c10::Device device) override {
    if (!device.is_cpu() && block != nullptr && bytes != 0) {
      alloc_torch_device_block(
          static_cast<int8_t>(device.type()),
          device.index(),
          reinterpret_cast<uintptr_t>(block),
          bytes,
          total_allocated,
          total_reserved);
    }
  }

  void reportOutOfMemory(
      int64_t bytes, size_t total_allocated, size_t total_reserved, c10::Device device) override {
    if (!device.is_cpu()) {
      alloc_torch_device_out_of_memory(
          static_cast<int8_t>(device.type()), device.index(), bytes, total_allocated, total_reserved);
    }
  }
};

std::atomic<bool> watching{false};

// The one object for all threads. Never freed: a thread may free its last block while the process ends.
const std::shared_ptr<c10::DebugInfoBase>& reporter() {
  static const auto* one = new std::shared_ptr<c10::DebugInfoBase>(std::make_shared<BlockReporter>());
  return *one;
}

// The allocator of a kind of device, when it is one that can be asked.
c10::DeviceAllocator* device_allocator(int8_t type) {
  return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(static_cast<c10::DeviceType>(type)));
}

}  // namespace

void alloc_torch::watch_this_thread() {
  if (!watching.load(std::memory_order_relaxed)) {
    return;
  }
  const c10::DebugInfoBase* present = c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
  if (present == nullptr) {
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, reporter());
  } else if (present != reporter().get()) {
    alloc_torch_profiler_is_active();
  }
}

extern "C" {

// Whether there is a device besides the CPU. The libraries of devices enter themselves in this list as they are loaded. To ask
// at::hasCUDA() would do as well, but libtorch keeps that answer, and would never see a library that is loaded later.
bool alloc_torch_has_device() {
  for (size_t type = 0; type < c10::impl::device_guard_impl_registry.size(); ++type) {
    const auto* kind = c10::impl::device_guard_impl_registry[type].load();
    const auto is_memory_of_its_own =
        type != static_cast<size_t>(c10::DeviceType::CPU) && type != static_cast<size_t>(c10::DeviceType::Meta);
    if (kind != nullptr && is_memory_of_its_own && kind->deviceCount() > 0) {
      return true;
    }
  }
  return false;
}

// Watches the blocks of devices from now on: each thread begins with its next operator, this one at once.
void alloc_torch_watch_devices() {
  reporter();
  watching.store(true);
  alloc_torch::watch_this_thread();
}

// Writes a device's name, as PyTorch has it, into `name`, which has room for `room` bytes. Returns its length; 0: no room.
size_t alloc_torch_device_name(int8_t type, int8_t index, char* name, size_t room) {
  try {
    const std::string text =
        c10::DeviceTypeName(static_cast<c10::DeviceType>(type), /*lower_case=*/true) + ":" + std::to_string(index);
    if (text.size() > room) {
      return 0;
    }
    std::memcpy(name, text.data(), text.size());
    return text.size();
  } catch (const std::exception&) {
    return 0;
  }
}

// Asks a device's caching allocator for its figures: requested, allocated, active, inactive split and reserved bytes and the
// number of segments, each now and at most, then retries and failures. It waits for the allocator's lock and calls nothing
// of the device, so that any thread may ask that does not keep others from what they need to let that lock go.
bool alloc_torch_device_stats(int8_t type, int8_t index, uint64_t figures[14]) {
  try {
    c10::DeviceAllocator* allocator = device_allocator(type);
    if (allocator == nullptr || !allocator->initialized()) {
      return false;
    }
    const auto stats = allocator->getDeviceStats(index);
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const c10::CachingAllocator::StatArray* const arrays[] = {
        &stats.requested_bytes,
        &stats.allocated_bytes,
        &stats.active_bytes,
        &stats.inactive_split_bytes,
        &stats.reserved_bytes,
        &stats.segment};
    size_t next = 0;
    for (const auto* array : arrays) {
      figures[next++] = static_cast<uint64_t>((*array)[all].current);
      figures[next++] = static_cast<uint64_t>((*array)[all].peak);
    }
    figures[next++] = static_cast<uint64_t>(stats.num_alloc_retries);
    figures[next] = static_cast<uint64_t>(stats.num_ooms);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // extern "C"
