/* Which adapters a ring among nodes gets of a communication library that takes the first one it meets.
 *
 * A node has an adapter for each GPU, `s` of each behind one PCIe switch. A library that searches adapters in order
 * finds the same one for every GPU of a switch. Where a switch has all its GPUs in one group, the rings of that group
 * use all its adapters. Where its GPUs belong to `k` groups, a k-th of its adapters carries the rings of all of them:
 *
 *     share = 1/k, k = min(stride of the group, s)
 *
 * A ring leaves a node by the adapter that it came in by. If the group has several members on a node and only one
 * behind each switch, the last of them is behind another switch. It sends through host memory, and the adapter sustains
 * `staged_frac` of its bandwidth.
 *
 * NCCL did so until 2.9.6 of April 2021, which takes another adapter for every GPU of a switch (its search.cc,
 * ncclTopoSelectNets). The search of 2.8.4, run on a DGX A100, has one answer for GPUs 0, 2, 4 and 6 and for GPUs 1, 3,
 * 5 and 7: adapters 0, 2, 4 and 6, each left by a GPU behind another switch, without GPUDirect.
 *
 * Leaves out: sends and all-to-all, which take the adapters in turn; adapters of unlike distance; trees. */
#ifndef ORRERY_MODELS_TRAINING_ADAPTERS_H
#define ORRERY_MODELS_TRAINING_ADAPTERS_H

#include "models/training/plan.h"

#include <stdint.h>

struct training_adapters {
    int64_t per_switch;     /* GPUs, and adapters, behind a PCIe switch; 0 and 1: each GPU has its own */
    double staged_frac;     /* of an adapter's bandwidth, left where messages pass host memory */
};

/* Share of the bandwidth of its members' adapters that a ring of the group has, which lies on `nodes` nodes. */
double training_adapter_share(const struct training_adapters *adapters, struct training_group group, double nodes);

#endif
