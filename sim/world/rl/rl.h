/* Reinforcement learning of an LLM after its pretraining: rollouts beside training.
 *
 * A step generates `prompts` times `samples` samples (its rollouts) as requests of a service. It then trains on them
 * and sends the new weights to the service's replicas. Lengths of prompts and outputs are those of the service's trace.
 * With G the time of a step's rollouts, T that of its training and S that of sending the weights, a step takes
 *
 *     G + T + S    synchronous, staleness 0
 *     max(G, T) + S    staleness 1, replicas that drain, and steps that are alike
 *
 * The rollouts of step k begin when those of step k - 1 have ended and the replicas have weights of k - staleness steps
 * or more. They do not begin while weights are sent, except with `beside`. Training of step k begins when its rollouts
 * and training k - 1 have ended and no weights are sent. New weights are sent when no training runs; with `drain`, also
 * no rollouts may be in progress. Weights that come due meanwhile are sent once, as the latest. The rules are tried in
 * this order: send, train, begin rollouts. Requests arrive one nanosecond after the decision.
 *
 * Layout `apart`: weights go from the training's GPUs to each replica over NVLink, PCIe and the network, all replicas
 * at once; links are shared max-min fairly (link.h). Layout `together`: training runs on the replicas' GPUs between
 * rollouts. Each GPU reads the training's weights and optimizer states from host memory before, and writes them
 * afterwards. The replicas then read their weights from host memory.
 *
 * The time of a training step is that of models/training, with the step's tokens packed into sequences of
 * training.sequence_tokens. A forward pass takes the forward share of the passes.
 *
 * Leaves out: rewards and their time, a value model, samples that a filter drops, the memory for weights that arrive
 * beside requests, and the energy of the training's GPUs. */
#ifndef ORRERY_WORLD_RL_RL_H
#define ORRERY_WORLD_RL_RL_H

#include "sim/world/cluster/cluster.h"
#include "sim/world/links/topology.h"
#include "sim/world/rl/rl_config.h"
#include "sim/world/rows/component.h"
#include "sim/world/rows/site_env.h"
#include "sim/world/service/service.h"

struct rl;

/* The pointers outlive it. */
struct rl_env {
    struct site_env *site;
    struct cluster *cluster;
    struct topology *topology;
    struct service *service;
    bool has_pools; /* the service has */
    double nic_bytes_per_s; /* between nodes, of a NIC in each direction; 0: none */
    bool nic_per_node;      /* the GPUs of a node share one NIC; otherwise each has its own */
};

/* Takes the training's GPUs and the arrivals of the service. Returns 0, SIM_E_CONFIG or SIM_E_UNFIT with a finding,
 * SIM_E_IO or SIM_E_NOMEM. */
int rl_create(const struct rl_config *config, const struct rl_env *env, struct rl **rl);

/* It starts after the service, and finishes with metrics and warnings. */
extern const struct component rl_component;

#endif
