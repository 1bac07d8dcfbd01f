/* What the tests of glibc's malloc take from glibc's own test support, in as few lines as they can do with. Every header
   that they include (support/check.h, libc-diag.h, ...) is this one; driver.c, which they include last, has `main`. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAYBE static __attribute__((unused))

/* Checks that failed, in this process and in those that it forked. */
static int *failed_checks;

#define SAY(...) (printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), putchar('\n'), fflush(stdout))
#define FAIL(...) (SAY(__VA_ARGS__), __atomic_add_fetch(failed_checks, 1, __ATOMIC_RELAXED), (void)0)
#define FAIL_EXIT1(...) (SAY(__VA_ARGS__), exit(1))
#define TEST_VERIFY(holds) ((holds) ? (void)0 : FAIL("not so: %s", #holds))
#define TEST_VERIFY_EXIT(holds) ((holds) ? (void)0 : FAIL_EXIT1("not so: %s", #holds))
#define TEST_COMPARE(a, b) TEST_VERIFY((a) == (b))

/* Something that must succeed and gives its result. */
#define MUST(result, type, good) \
  ({ type got_ = (result); if (!(good)) FAIL_EXIT1("%s: %s", #result, strerror(errno)); got_; })
#define xmalloc(size) MUST(malloc(size), void *, got_)
#define xcalloc(count, size) MUST(calloc(count, size), void *, got_)
#define xrealloc(block, size) MUST(realloc(block, size), void *, got_)
#define xstrdup(text) MUST(strdup(text), char *, got_)
#define xfork() MUST(fork(), pid_t, got_ >= 0)
#define xopen(path, flags, mode) MUST(open(path, flags, mode), int, got_ >= 0)
#define xsysconf(name) MUST(sysconf(name), long, got_ >= 0)
#define xmmap(at, bytes, protection, flags, file) \
  MUST(mmap(at, bytes, protection, flags, file, 0), void *, got_ != MAP_FAILED)
#define xmunmap(at, bytes) MUST(munmap(at, bytes), int, got_ == 0)
#define xsignal(number, handler) MUST(signal(number, handler), __sighandler_t, got_ != SIG_ERR)

/* pthread functions give their error as their result. */
#define THREADS(call) ((void)MUST(errno = (call), int, got_ == 0))
#define xpthread_join(thread) ({ void *end_; THREADS(pthread_join(thread, &end_)); end_; })
#define xpthread_create(attributes, function, closure) \
  ({ pthread_t new_; THREADS(pthread_create(&new_, attributes, function, closure)); new_; })
#define xpthread_kill(thread, number) THREADS(pthread_kill(thread, number))
#define xpthread_barrierattr_init(attributes) THREADS(pthread_barrierattr_init(attributes))
#define xpthread_barrierattr_setpshared(attributes, how) THREADS(pthread_barrierattr_setpshared(attributes, how))
#define xpthread_barrierattr_destroy(attributes) THREADS(pthread_barrierattr_destroy(attributes))
#define xpthread_barrier_init(barrier, attributes, count) THREADS(pthread_barrier_init(barrier, attributes, count))
#define xpthread_barrier_destroy(barrier) THREADS(pthread_barrier_destroy(barrier))
#define xpthread_barrier_wait(barrier) \
  MUST(errno = pthread_barrier_wait(barrier), int, got_ == 0 || got_ == PTHREAD_BARRIER_SERIAL_THREAD)

#define array_length(array) (sizeof(array) / sizeof((array)[0]))
#define DIAG_PUSH_NEEDS_COMMENT
#define DIAG_POP_NEEDS_COMMENT
#define DIAG_IGNORE_NEEDS_COMMENT(version, option)
#define MALLOC_ALIGN_MASK (_Alignof(max_align_t) - 1)
/* Seconds. Those that run for a while take one less than this. */
#define DEFAULT_TIMEOUT 2

MAYBE void write_message(const char *text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0)
    _exit(1);
}

MAYBE void ignore_stderr(void) {
  dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
}

MAYBE void *support_shared_allocate(size_t bytes) {
  return xmmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
}

/* The mapping goes with the process. */
MAYBE void support_shared_free(void *shared) {
  (void)shared;
}

/* A file in the working directory, which is the test's own. */
MAYBE int create_temp_file(const char *base, char **path) {
  char *name = NULL;
  if (asprintf(&name, "%s.XXXXXX", base) < 0)
    return -1;
  int file = mkstemp(name);
  if (path != NULL)
    *path = name;
  else
    free(name);
  return file;
}

#endif
