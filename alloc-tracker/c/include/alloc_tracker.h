/* Scopes, labels, steps and marks of alloc-tracker, for C11 and C++11 with gcc or clang on Linux.

   This file is all that a program needs: it links nothing (with glibc before 2.34: -ldl). Run it with

       alloc-tracker record -- ./program

   and its memory is told by layer, phase and operator. Run it without, and the functions here do nothing.

   cbindgen made this file of alloc-tracker/c/src and include/inline.h: change those. */

#ifndef ALLOC_TRACKER_H
#define ALLOC_TRACKER_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * What a block is for.
 */
typedef enum {
    /**
     * A trainable variable of the model.
     */
    ALLOC_TRACKER_CATEGORY_PARAMETER,
    /**
     * A tensor of the model that is not trained.
     */
    ALLOC_TRACKER_CATEGORY_BUFFER,
    /**
     * The gradient of a parameter.
     */
    ALLOC_TRACKER_CATEGORY_GRADIENT,
    /**
     * A tensor that outlives the operator that made it.
     */
    ALLOC_TRACKER_CATEGORY_ACTIVATION,
    /**
     * What the optimizer keeps between steps.
     */
    ALLOC_TRACKER_CATEGORY_OPTIMIZER_STATE,
    /**
     * A batch of data.
     */
    ALLOC_TRACKER_CATEGORY_INPUT,
    /**
     * What an operator needs while it runs.
     */
    ALLOC_TRACKER_CATEGORY_WORKSPACE,
} alloc_tracker_category;

/**
 * An entered scope, to be left on the same thread. Its content is the library's; all zeroes where the library is not there.
 */
typedef struct {
    /**
     * The library's.
     */
    uint64_t numbers[2];
} alloc_tracker_scope;

/**
 * The library's functions. The functions of this header call them where the library is there, and do nothing where it is not.
 *
 * A later version has more of them at the end, and a larger `version`.
 */
typedef struct {
    /**
     * 1.
     */
    uint32_t version;
    /**
     * Enters a phase on the calling thread, such as `"forward"`: what the thread allocates from now on belongs to it.
     */
    alloc_tracker_scope (*enter_phase)(const char *name);
    /**
     * Enters a layer on the calling thread. Within another layer, `path` is appended to that layer's path, after a dot.
     */
    alloc_tracker_scope (*enter_layer)(const char *path);
    /**
     * Enters a layer by its whole path, whatever layer it is within.
     */
    alloc_tracker_scope (*enter_layer_alone)(const char *path);
    /**
     * Enters an operator on the calling thread, such as `"MUL_MAT"`. Within another operator nothing is entered: memory belongs
     * to the outermost. A block that is freed in the call that allocated it is workspace.
     */
    alloc_tracker_scope (*enter_op)(const char *name);
    /**
     * Leaves a scope, and all that was entered in it and not left. On the thread that entered it.
     */
    void (*leave)(alloc_tracker_scope scope);
    /**
     * Says what the block is for that starts at `block`, for its whole life. A block that was allocated in no layer becomes
     * `layer`'s, unless that is null. False when it cannot be labelled: nothing records, no tracked block starts there, or it
     * has less than 64 bytes.
     */
    bool (*label)(void *block, uint32_t category, const char *layer);
    /**
     * Begins a training step, and ends the one before. The timeline has the peak of each step.
     */
    void (*begin_step)(void);
    /**
     * Ends the step.
     */
    void (*end_step)(void);
    /**
     * Adds a named instant to the timeline, with the bytes that are live.
     */
    void (*mark)(const char *name);
    /**
     * Adds a named instant with the table of who owns which bytes.
     */
    void (*snapshot)(const char *name);
    /**
     * Adds a fact about the run, such as `"batch"`, `"32"`.
     */
    void (*fact)(const char *key, const char *value);
    /**
     * Writes a copy of the timeline so far beside it. 0: done; 1: nothing records; 2: it cannot be written, and stderr says why.
     */
    int (*dump)(void);
    /**
     * Starts to record into the file `output`, in which `%p` stands for the process id; into `run.timeline.json` for
     * null. 0: done; 1: something records already, such as `alloc-tracker record`; 2: it cannot be written, and stderr says why.
     */
    int (*start)(const char *output);
    /**
     * Writes the timeline of the recording that `start` began; without it, the end of the process does. 0: done; 1: there is
     * none; 2: it cannot be written, and stderr says why.
     */
    int (*finish)(void);
    /**
     * Whether this process is recorded.
     */
    bool (*is_recording)(void);
} alloc_tracker_functions;

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

#endif /* ALLOC_TRACKER_H */
