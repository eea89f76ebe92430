/* What the files about the data that jobs exchange share: job_traffic.c holds the claims, job_step.c has stated steps,
 * job_messages.c the messages of training plans. */
#ifndef ORRERY_WORLD_JOBS_JOB_TRAFFIC_STATE_H
#define ORRERY_WORLD_JOBS_JOB_TRAFFIC_STATE_H

#include "models/training/exchange.h"
#include "models/training/phases.h"
#include "sim/catalog/training.h"
#include "sim/world/jobs/job.h"
#include "sim/world/links/topology.h"

enum { MOST_NICS = 64 }; /* of a node: bits of a set */

/* A plan on some number of GPUs: its exchanges, and its step on adjacent GPUs in an idle network. */
struct job_messages {
    struct training_setup *setup;
    struct training_plan plan;
    struct training_exchanges *stages; /* [plan.pipeline] */
    double ideal_s;                    /* 0: not priced yet */
};

/* A type with steps, in the terms of the model. */
struct traffic_type {
    int32_t n;
    struct step_collective *collectives; /* [n] */
    enum step_collective_kind kind;      /* of those between nodes */
    int32_t block_nodes;                 /* of a group between nodes; 0: all nodes of the job */
    bool is_between;                     /* some collective leaves its node */
};

struct job_network {
    struct topology *topology;
    struct traffic_type *types;  /* [types of jobs]; n 0: without steps */
    struct step_rates *rates;    /* [node types] */
    uint64_t *nics_used;         /* [nodes of the site] NICs of jobs that run */
    struct owner settle;
    struct job_traffic *stale;   /* whose claims have changed at this moment */
    struct gpu_time_share speed; /* of jobs that exchange data: GPU time times their speed */
};

/* An edge of an exchange: from a NIC of one node to one of another. */
struct traffic_edge {
    struct graph_flow flow;
    double bytes, demand_bytes_per_s; /* bytes: in a step */
    int32_t kind;                     /* of messages: place in the plan's spread */
    int32_t port;                     /* of messages: the GPU, or the node with one NIC, that sends */
    double alone_bytes_per_s;         /* of messages: its rate in an idle network while only its kind is sent */
    double weight;                    /* of its claim: at most 1 */
};

struct traffic_edges {
    int32_t n, capacity;
    struct traffic_edge *of;
};

struct job_flow {
    struct link_flow claim;
    struct job_traffic *traffic;
    double bytes, demand_bytes_per_s;
    int32_t kind, port;
    double alone_bytes_per_s;
    double weight;    /* of the claim */
    double lone_bytes_per_s, lone_frac; /* on links that no other job uses; of its demand */
    bool is_squeezed; /* some link of it is short of bandwidth */
    bool is_lone_squeezed, is_open; /* is_squeezed on links that no other job uses; it has no lone rate yet */
};

/* What the squeezed claims of a sender want and get. */
struct traffic_port {
    double demand_bytes_per_s, grant_bytes_per_s;
    double lone_frac; /* of what those want that the job's own claims squeeze */
};

/* What a claim of a job asks of a link of its path. */
struct traffic_load {
    int32_t link, flow; /* number of the link in the network; of the flow in the job */
    double link_bytes_per_s;
};

struct traffic_loads {
    int32_t n, capacity;
    struct traffic_load *of;
};

/* A node of the job and its adapters there. */
struct traffic_node {
    struct graph_nic first; /* node in the site */
    int32_t gpus;
    uint64_t nics;
};

struct job_traffic {
    struct job *job;
    const struct traffic_type *type;     /* of a job with stated steps */
    struct job_messages *messages;       /* of a job that trains by a plan; NULL: its steps are stated */
    struct training_spread spread, spread_now; /* of its messages: by the job's place; at the present grants */
    bool *far_stages;                    /* [pipeline stages] of both spreads */
    struct traffic_port *ports;          /* [n_ports] of the senders of messages */
    int32_t n_ports;
    double step_now_s;                   /* of its plan at spread_now */
    struct power_stage phases[TRAINING_PHASES]; /* of that step */
    struct step_place place;
    double ideal_s, speed;  /* of a step in an idle network; present speed relative to that */
    double compute_s;       /* of a stated step, with its code and its late nodes */
    double held_gpus;       /* since it began */
    sim_ns since_ns, began_at_ns; /* of the present speed; work done when it began */
    int32_t n_nodes, n_flows;
    struct traffic_node *nodes;
    struct job_flow *flows;
    double sends_frac;           /* of a step in an idle network, in which it sends; 1: it is taken to send always */
    struct traffic_loads loads;  /* while its claims start, unless it is taken to send always */
    bool is_stale;
    struct job_traffic *before_stale, *next_stale;
};

/* Bandwidth of an adapter. */
static inline double nic_bytes_per_s(const struct job_network *network)
{
    return topology_config(network->topology)->network.bytes_per_s;
}

/* The adapter of a node that carries channel or GPU `number` of the job there. */
struct graph_nic job_traffic_nic(const struct job_traffic *traffic, int32_t node, int32_t number);

/* Reports an error of a section of a type. */
int job_traffic_refuse(const struct jobs *jobs, const struct job_type *type, const char *section, const char *hint,
                       const char *text);

/* How seldom a job sends (job_duty.c). Before its claims start: sets sends_frac. For each claim: notes its path. Once
 * all have started: sets lone_frac of flows and ports. Codes: 0 or SIM_E_NOMEM. */
void job_duty_begin(struct job_traffic *traffic, const struct traffic_edges *edges);
int job_duty_note(struct job_traffic *traffic, int32_t flow, const struct link_path *path);
void job_duty_settle(struct job_traffic *traffic);

/* The share of its demand that a claim gets while it sends, of a share `net_frac` that the network grants. */
double job_duty_share(const struct job_traffic *traffic, double net_frac, double lone_frac);

/* Stated steps: reads a type; the rates within nodes; where the job is; its edges; times of a step. Codes: 0 or
 * negative. */
int job_step_read_type(const struct jobs *jobs, const struct job_type *type, struct traffic_type *out);
int job_step_read_rates(const struct jobs *jobs, struct job_network *network);
void job_step_place(struct job_traffic *traffic);
int job_step_compute(struct job_traffic *traffic); /* sets compute_s, behind ideal_s */
int job_step_edges(const struct job_traffic *traffic, struct traffic_edges *edges);
double job_step_ideal_s(const struct job_traffic *traffic);
double job_step_now_s(const struct job_traffic *traffic, double least_bytes_per_s);
double job_step_flow_bytes_per_s(const struct job_traffic *traffic); /* of each claim in an idle network */

/* --- Messages of training plans: job_messages.c --- */

/* A step if its groups are so spread and links of hosts are so shared (NULL: its own), and its phases; its seconds on
 * links of its own. */
struct training_step job_messages_step(const struct job_messages *messages, const struct training_spread *spread,
                                       const struct training_link_shares *shares,
                                       struct power_stage phases[TRAINING_PHASES]);
double job_messages_step_s(const struct job_messages *messages, const struct training_spread *spread,
                           struct power_stage phases[TRAINING_PHASES]);

/* Seconds of a step on adjacent GPUs in an idle network; 0: out of memory. */
double job_messages_ideal_s(struct job_messages *messages);

/* Lists the edges of a job on its nodes, and sets its spread. Returns 0 or SIM_E_NOMEM. */
int job_messages_edges(struct job_traffic *traffic, struct traffic_edges *edges);

#endif
