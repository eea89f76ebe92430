/* The messages of a training plan on the network (models/training/exchange.h).
 *
 * Ranks fill the job's nodes in order, those with the most GPUs first, one rank on each GPU. Ranks that the plan leaves
 * out idle. Each group of ranks then exchanges its data over NICs, where it spans nodes; the rest stays inside nodes:
 *
 *     ring         from each node of the group to its next one, over as many NICs as its smallest node has members
 *     all-to-all   each member sends to one member on each other node, on at most STEP_PARTNERS nodes, evenly spaced
 *     shift        each member sends to the next one
 *     stages       each rank sends to the same rank of the next stage, which sends as much back
 *
 * A GPU has the network bandwidth that the plan was priced with. An edge claims the part of it that its bytes have of
 * all that leaves the one GPU, or of all that reaches the other, whichever is smaller. Exchanges of one kind follow
 * those of another, and together they never ask for more than a GPU has. Edges of one kind between the same NICs are
 * one claim. Kinds take turns on a NIC: the weight of a claim is the share of its kind in all that leaves the NIC.
 * Flows of one kind to several partners are sent at once, and each counts as one where it meets those of others.
 *
 * The step is priced as `orrery plan` prices it (models/training/step.h), with two changes: a group spans as many nodes
 * as it does here, and each kind of exchange has a share of the bandwidth. That is the smallest share that a sender of
 * it gets: of all claims of the sender over links that are short of bandwidth, the sum of the grants over the sum of
 * the demands, at most what the links of its path can carry. So kinds that cross one oversubscribed switch share its
 * loss, as they would one after another. The speed of the job is the ratio of two such steps, that on adjacent GPUs in
 * an idle network over that at present. */
#ifndef ORRERY_WORLD_JOBS_JOB_MESSAGES_H
#define ORRERY_WORLD_JOBS_JOB_MESSAGES_H

#include "models/training/exchange.h"
#include "models/training/phases.h"
#include "sim/catalog/training.h"

struct job_traffic;
struct traffic_edges;

/* A plan on some number of GPUs: its exchanges, and its step on adjacent GPUs in an idle network. */
struct job_messages {
    struct training_setup *setup;
    struct training_plan plan;
    struct training_exchanges *stages; /* [plan.pipeline] */
    double ideal_s;                    /* 0: not priced yet */
};

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
