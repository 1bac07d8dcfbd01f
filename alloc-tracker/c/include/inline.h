/** The library's functions; null where it is not there, neither preloaded nor linked. */
static inline const alloc_tracker_functions *alloc_tracker_library(void) {
    static const alloc_tracker_functions *found;
    static int looked;
    if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
        const alloc_tracker_functions *(*ask)(void);
        /* The way from an object to a function that POSIX gives for dlsym. RTLD_DEFAULT, which is null on Linux, is not standard. */
        *(void **)(&ask) = dlsym((void *)0, "alloc_tracker_api");
        __atomic_store_n(&found, ask ? ask() : (const alloc_tracker_functions *)0, __ATOMIC_RELAXED);
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&found, __ATOMIC_RELAXED);
}

static inline alloc_tracker_scope alloc_tracker_no_scope(void) {
    alloc_tracker_scope none = {{0, 0}};
    return none;
}

static inline alloc_tracker_scope alloc_tracker_enter_phase(const char *name) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->enter_phase(name) : alloc_tracker_no_scope();
}

static inline alloc_tracker_scope alloc_tracker_enter_layer(const char *path) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->enter_layer(path) : alloc_tracker_no_scope();
}

static inline alloc_tracker_scope alloc_tracker_enter_layer_alone(const char *path) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->enter_layer_alone(path) : alloc_tracker_no_scope();
}

static inline alloc_tracker_scope alloc_tracker_enter_op(const char *name) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->enter_op(name) : alloc_tracker_no_scope();
}

static inline void alloc_tracker_leave(alloc_tracker_scope scope) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    if (library) library->leave(scope);
}

static inline bool alloc_tracker_label(void *block, alloc_tracker_category category, const char *layer) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library && library->label(block, (uint32_t)category, layer);
}

static inline void alloc_tracker_begin_step(void) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    if (library) library->begin_step();
}

static inline void alloc_tracker_end_step(void) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    if (library) library->end_step();
}

static inline void alloc_tracker_mark(const char *name) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    if (library) library->mark(name);
}

static inline void alloc_tracker_snapshot(const char *name) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    if (library) library->snapshot(name);
}

static inline void alloc_tracker_fact(const char *key, const char *value) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    if (library) library->fact(key, value);
}

static inline int alloc_tracker_dump(void) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->dump() : 1;
}

static inline int alloc_tracker_start(const char *output) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->start(output) : 1;
}

static inline int alloc_tracker_finish(void) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library ? library->finish() : 1;
}

static inline bool alloc_tracker_is_recording(void) {
    const alloc_tracker_functions *library = alloc_tracker_library();
    return library && library->is_recording();
}

#ifdef __cplusplus
namespace alloc_tracker {

/** A scope that ends with the block in which it is declared, also when an exception leaves that. */
class Scope {
  public:
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope() { alloc_tracker_leave(entered); }

  protected:
    explicit Scope(alloc_tracker_scope scope) : entered(scope) {}

  private:
    alloc_tracker_scope entered;
};

/** `alloc_tracker::Phase phase("forward");` */
class Phase : public Scope {
  public:
    explicit Phase(const char *name) : Scope(alloc_tracker_enter_phase(name)) {}
};

/** `alloc_tracker::Layer layer("conv1");` */
class Layer : public Scope {
  public:
    explicit Layer(const char *path) : Scope(alloc_tracker_enter_layer(path)) {}
};

/** `alloc_tracker::Op op("MUL_MAT");` */
class Op : public Scope {
  public:
    explicit Op(const char *name) : Scope(alloc_tracker_enter_op(name)) {}
};

/** A training step that ends with the block in which it is declared. */
class Step {
  public:
    Step() { alloc_tracker_begin_step(); }
    Step(const Step &) = delete;
    Step &operator=(const Step &) = delete;
    ~Step() { alloc_tracker_end_step(); }
};

} // namespace alloc_tracker
#endif
