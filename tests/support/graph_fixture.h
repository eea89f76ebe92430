/* A site whose network is a graph, from the members of "cluster", and flows over it. */
#ifndef ORRERY_TESTS_SUPPORT_GRAPH_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_GRAPH_FIXTURE_H

#include "sim/world/cluster_section.h"
#include "sim/world/links/topology.h"
#include "tests/support/harness.h"

struct graph_site {
    struct arena arena;
    struct diag diag;
    struct config *config;
    struct cluster_section cluster;
    struct engine *engine;
    struct site_env env;
    struct topology *topology;
};

extern const struct catalog graph_catalog;

/* The one site there is at a time. *code is what topology_create returned. */
struct graph_site *graph_site_create(int *code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void graph_site_destroy(struct graph_site *site);

/* Nodes of one GPU, so that a node is a NIC of 10 GB/s, without latency. */
struct graph_site *graph_site_of(int nodes, const char *network);

static inline struct graph_nic graph_nic_of(int32_t node)
{
    return (struct graph_nic){node, 0};
}

void graph_path(struct graph_site *site, struct graph_flow flow, struct topology_route route, struct link_path *path);

/* A flow that a test follows. */
struct graph_mover {
    struct link_flow flow;
    sim_ns end_ns; /* -1: not yet */
};

void graph_start(struct graph_site *site, struct graph_mover *mover, const struct link_path *path, int64_t bytes);

#endif
