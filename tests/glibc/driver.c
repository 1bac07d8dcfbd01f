/* `main` for one test of glibc's: runs RUN in a child, whose end must be as expected within LIMIT seconds (which the compiler is told). */
#ifndef EXPECTED_SIGNAL
#define EXPECTED_SIGNAL 0
#endif
#ifndef EXPECTED_STATUS
#define EXPECTED_STATUS 0
#endif

int main(void) {
  failed_checks = support_shared_allocate(sizeof(int));
  /* The parent's alarm: some tests catch their own. Whoever started this ends what is left of its process group. */
  alarm(LIMIT);
  pid_t child = xfork();
  if (child == 0)
    exit(RUN);
  int status;
  if (waitpid(child, &status, 0) != child)
    FAIL_EXIT1("waitpid: %s", strerror(errno));
  if (WIFSIGNALED(status) && WTERMSIG(status) != EXPECTED_SIGNAL)
    FAIL_EXIT1("ended by signal %d", WTERMSIG(status));
  if (WIFEXITED(status) && (EXPECTED_SIGNAL != 0 || WEXITSTATUS(status) != EXPECTED_STATUS))
    FAIL_EXIT1("ended with status %d", WEXITSTATUS(status));
  return *failed_checks != 0;
}
