// A device of libtorch's kind PrivateUse1 that needs no hardware. Its memory is mapped from the host, so that no malloc is
// seen; its operators are the CPU's, between copies. What a test wants of it is real: libtorch takes it for a device, runs
// its backward passes on a thread of the autograd engine, and its allocator reports each block through c10 as the CUDA
// caching allocator does. It rounds to 512 bytes as that does, and gives memory back at once.
#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr size_t kRounding = 512;
constexpr size_t kSegment = 2 << 20;

c10::Device the_device() { return {kType, 0}; }

// The one device. Nothing on it is asynchronous.
struct Guard final : c10::impl::NoOpDeviceGuardImpl<kType> {
  c10::Device exchangeDevice(c10::Device) const override { return the_device(); }
  c10::Device getDevice() const override { return the_device(); }
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, the_device()); }
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const noexcept override { return stream(); }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
};

// What libtorch asks of an accelerator beyond that.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
};

// An event as the test reads it: the block, how large it is (negative: freed), and the thread.
struct Told {
  uint64_t address;
  int64_t bytes;
  int64_t thread;
};

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

struct FakeAllocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override;
  c10::DeleterFnPtr raw_deleter() const override;
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stats_;
  }

  // As in the CUDA caching allocator, the lock is held while a block is reported.
  void report(void* block, int64_t bytes, int64_t requested) {
    const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto change = [all](c10::CachingAllocator::StatArray& array, int64_t by) {
      bytes_change(array[all], by);
    };
    change(stats_.requested_bytes, requested);
    change(stats_.allocated_bytes, bytes);
    change(stats_.active_bytes, bytes);
    const auto allocated = static_cast<size_t>(stats_.allocated_bytes[all].current);
    const auto reserved = static_cast<int64_t>(rounded(allocated, kSegment));
    change(stats_.reserved_bytes, reserved - stats_.reserved_bytes[all].current);
    told_.push_back({reinterpret_cast<uint64_t>(block), bytes, syscall(SYS_gettid)});
    c10::reportMemoryUsageToProfiler(
        block, bytes, allocated, static_cast<size_t>(reserved), the_device());
  }

  static void bytes_change(c10::CachingAllocator::Stat& stat, int64_t by) {
    stat.current += by;
    stat.peak = std::max(stat.peak, stat.current);
  }

  std::mutex mutex_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
  std::unordered_map<void*, size_t> requested_;
  std::vector<Told> told_;
};

FakeAllocator& the_allocator() {
  static auto* one = new FakeAllocator();
  return *one;
}

void release(void* block) {
  if (block == nullptr) {
    return;
  }
  FakeAllocator& allocator = the_allocator();
  const std::lock_guard<std::mutex> lock(allocator.mutex_);
  const size_t requested = allocator.requested_.at(block);
  allocator.requested_.erase(block);
  const size_t bytes = rounded(requested, kRounding);
  allocator.report(block, -static_cast<int64_t>(bytes), -static_cast<int64_t>(requested));
  munmap(block, bytes);
}

c10::DeleterFnPtr FakeAllocator::raw_deleter() const { return &release; }

c10::DataPtr FakeAllocator::allocate(size_t requested) {
  if (requested == 0) {
    return {nullptr, nullptr, &release, the_device()};
  }
  const size_t bytes = rounded(requested, kRounding);
  void* block = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (block == MAP_FAILED) {
    c10::reportOutOfMemoryToProfiler(
        static_cast<int64_t>(requested),
        static_cast<size_t>(stats_.allocated_bytes[0].current),
        static_cast<size_t>(stats_.reserved_bytes[0].current),
        the_device());
    TORCH_CHECK(false, "the fake device has no room for ", requested, " bytes");
  }
  requested_[block] = requested;
  report(block, static_cast<int64_t>(bytes), static_cast<int64_t>(requested));
  return {block, block, &release, the_device()};
}

at::Tensor empty(
    c10::IntArrayRef size,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>,
    std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(
      size,
      &the_allocator(),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      at::dtype_or_default(type),
      format);
}

at::Tensor empty_strided(
    c10::IntArrayRef size,
    c10::IntArrayRef stride,
    std::optional<at::ScalarType> type,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>) {
  return at::detail::empty_strided_generic(
      size,
      stride,
      &the_allocator(),
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      at::dtype_or_default(type));
}

// The same elements on the CPU, without a copy: the memory is the host's.
at::Tensor seen_by_cpu(const at::Tensor& tensor) {
  if (tensor.device().is_cpu()) {
    return tensor;
  }
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(c10::kCPU));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  seen_by_cpu(to).copy_(seen_by_cpu(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  at::native::resize_impl_cpu_(to.unsafeGetTensorImpl(), from.sizes(), std::nullopt);
  return copy_from(from, to, false);
}

void on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) { at::native::cpu_fallback(op, stack); }

}  // namespace

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", &at::native::view);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>()); }

extern "C" {

// Makes libtorch know the device. With a name of its own it is an accelerator, which the autograd engine asks for streams.
void fake_device_register() {
  c10::register_privateuse1_backend("fake");
  // Never freed: libtorch keeps the pointer.
  at::RegisterPrivateUse1HooksInterface(new Hooks());
  c10::SetAllocator(kType, &the_allocator());
}

// A tensor of floats, all of them `value`, on the device; nullptr where that fails. The caller owns it.
at::Tensor* fake_device_full(int64_t elements, float value) {
  try {
    auto* made = new at::Tensor(at::empty({elements}, at::TensorOptions().dtype(at::kFloat).device(the_device())));
    seen_by_cpu(*made).fill_(value);
    return made;
  } catch (const std::exception&) {
    return nullptr;
  }
}

// How many events there were.
size_t fake_device_told() {
  const std::lock_guard<std::mutex> lock(the_allocator().mutex_);
  return the_allocator().told_.size();
}

// Writes event number `index` into `event`.
void fake_device_event(size_t index, Told* event) {
  const std::lock_guard<std::mutex> lock(the_allocator().mutex_);
  *event = the_allocator().told_.at(index);
}

}  // extern "C"
