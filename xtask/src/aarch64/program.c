// A thousand small blocks, a large one, and one of a thread's.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 1000, LARGE = 20 << 20, OF_THREAD = 3 << 20, PAUSE_US = 200000 };

static char *filled(size_t bytes) {
    char *block = malloc(bytes);
    memset(block, 1, bytes);
    return block;
}

__attribute__((noinline)) static char *make_large(void) { return filled(LARGE); }

static void *thread(void *nothing) {
    char *block = filled(OF_THREAD);
    usleep(PAUSE_US);
    free(block);
    return nothing;
}

int main(void) {
    char *held[SMALL];
    for (int i = 0; i < SMALL; i++) held[i] = filled(100 + i);
    char *large = make_large();
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    usleep(PAUSE_US);
    free(large);
    for (int i = 0; i < SMALL; i++) free(held[i]);
    puts("ends well");
    return 0;
}
