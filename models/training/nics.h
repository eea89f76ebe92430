/* A plan over clusters whose NICs differ: Holmes (Yang et al. 2024, arXiv 2312.03549).
 *
 * NICs of two kinds, such as InfiniBand and RoCE, reach each other over Ethernet alone. Apart, each stage of the
 * pipeline lies in one cluster: its data ranks then have equal NICs, and only the stages at the border of two clusters
 * send over Ethernet. Mixed, as ranks are dealt without regard to NICs, each stage lies in all clusters, in proportion
 * to their GPUs: its data ranks reduce gradients over Ethernet, and stages send within clusters.
 *
 * Stages with slower NICs get fewer layers. With p_i the passes of a micro-batch through one layer of stage i, and r_i
 * what the reduction of a layer's gradients adds, n_i layers of m micro-batches take
 *
 *     J = (m - 1) max n_i p_i + sum n_i p_i + max n_i r_i
 *
 * The split has the least J of all with a layer or more on each stage. Embedding, head and the update do not weigh, so
 * that equal NICs get equal numbers of layers.
 *
 * Of the stages with equal networks the slowest reduces its gradients last; of several networks the one that ends last
 * counts. Leaves out: clusters with unlike GPUs, stages that finish early and begin to reduce meanwhile. */
#ifndef ORRERY_MODELS_TRAINING_NICS_H
#define ORRERY_MODELS_TRAINING_NICS_H

#include "models/training/plan.h"

/* Of one layer on a stage of a cluster. */
struct training_layer_cost {
    double pass_s;   /* p: of a micro-batch, there and back */
    double reduce_s; /* r */
};

/* Fills plan->nics.layers with the least J for `layers` layers, at least as many as stages, at costs by cluster.
 * Stages of a cluster differ by one layer at most; the first ones have it. */
void training_nics_split(struct training_plan *plan, const struct training_layer_cost *costs, int64_t layers);

/* Clusters that stages lie in; 1 without clusters, or if each stage lies in all. The cluster of a stage. */
int64_t training_nics_clusters(const struct training_plan *plan);
int64_t training_nics_cluster(const struct training_plan *plan, int64_t stage);

/* Bandwidth of a GPU between nodes: within stages and to others in the cluster; between data ranks. */
double training_nics_network(const struct training_plan *plan, int64_t cluster);
double training_nics_data_network(const struct training_plan *plan, int64_t cluster);

/* GPUs of a stage that each of its nodes holds at least, if it fills nodes. Mixed, each stage has the same part of its
 * GPUs in a cluster: that which the cluster's stages are of the pipeline. Of 12 GPUs on nodes of 8, the last node
 * holds 4. */
int64_t training_nics_node_gpus(const struct training_plan *plan);

/* Why these clusters cannot be, as a static text, or NULL. */
const char *training_nics_problem(const struct training_plan *plan, int64_t layers);

#endif
