/* An interpreter of a graph, as inference engines in C are: a scope for each node.

       alloc-tracker header > alloc_tracker.h
       cc -o graph graph.c
       alloc-tracker record -- ./graph

   Four nodes with a weight of 1 MiB each. Running, each needs its input and its output, of 512 KiB, and 2 MiB of workspace: at
   the peak there are 4 + 2 * 0.5 + 2 = 7 MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_tracker.h"

enum { NODES = 4, WEIGHT = 1 << 20, OUTPUT = 512 << 10, WORKSPACE = 2 << 20 };

struct node {
    const char *layer, *op;
    char *weight;
};

static char *written(size_t bytes) {
    char *block = malloc(bytes);
    if (!block) exit(1);
    return memset(block, 1, bytes);
}

static void load(struct node *nodes) {
    alloc_tracker_scope phase = alloc_tracker_enter_phase("load");
    for (int i = 0; i < NODES; i++) {
        alloc_tracker_scope layer = alloc_tracker_enter_layer(nodes[i].layer);
        nodes[i].weight = written(WEIGHT);
        alloc_tracker_label(nodes[i].weight, ALLOC_TRACKER_CATEGORY_PARAMETER, NULL);
        alloc_tracker_leave(layer);
    }
    alloc_tracker_leave(phase);
}

static char *run(const struct node *node, char *input) {
    alloc_tracker_scope layer = alloc_tracker_enter_layer(node->layer);
    alloc_tracker_scope op = alloc_tracker_enter_op(node->op);
    char *output = written(OUTPUT), *workspace = written(WORKSPACE);
    alloc_tracker_label(output, ALLOC_TRACKER_CATEGORY_ACTIVATION, NULL);
    output[0] = (char)(node->weight[0] + input[0] + workspace[0]);
    free(workspace);
    free(input);
    alloc_tracker_leave(op);
    alloc_tracker_leave(layer);
    return output;
}

int main(void) {
    struct node nodes[NODES] = {
        {"blk.0.attn", "MUL_MAT", NULL},
        {"blk.0.ffn", "MUL_MAT", NULL},
        {"blk.1.attn", "MUL_MAT", NULL},
        {"blk.1.ffn", "MUL_MAT", NULL},
    };
    alloc_tracker_fact("model", "graph");
    load(nodes);
    alloc_tracker_snapshot("loaded");
    for (int token = 0; token < 3; token++) {
        alloc_tracker_scope phase = alloc_tracker_enter_phase("infer");
        char *block = written(OUTPUT);
        alloc_tracker_label(block, ALLOC_TRACKER_CATEGORY_INPUT, NULL);
        for (int i = 0; i < NODES; i++) block = run(&nodes[i], block);
        printf("token %d: %d\n", token, block[0]);
        free(block);
        alloc_tracker_leave(phase);
    }
    for (int i = 0; i < NODES; i++) free(nodes[i].weight);
    return 0;
}
