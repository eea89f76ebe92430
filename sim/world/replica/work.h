/* Work of replicas: what they compute and read, and how well they use their KV cache. Sums over runs of iterations are
 * in closed form, so nothing is done per token or per member of a batch.
 *
 * In iterations j = 0 .. n - 1 of a decode run, N sequences have C + j N tokens together, and sums of tokens are
 * arithmetic series. KV blocks are taken by phases (kvcache.h), at most block_tokens of them, each an arithmetic series
 * of boundaries. Times are quadratic in the boundary (run_clock.h), so blocks in use over time are a sum of cubics.
 *
 * Everything is added at the ends of runs, so results do not depend on how a run was stepped through. */
#ifndef ORRERY_WORLD_REPLICA_WORK_H
#define ORRERY_WORLD_REPLICA_WORK_H

#include "models/hardware.h"
#include "models/iteration.h"
#include "models/power.h"
#include "models/transformer.h"
#include "sim/core/units.h"
#include "sim/world/kv/kvcache.h"
#include "sim/world/replica/run_clock.h"

#include <stdbool.h>
#include <stdint.h>

/* Energy of a replica's GPUs: the model of models/power.h, summed over runs of iterations in closed form.
 *
 * Below the power limit the model is linear, so energy follows from sums that a replica keeps anyway (work.h): time,
 * FLOP, bytes. Only the energy above the limit has a sum of its own. In iteration j of a
 * decode run energy and time are affine in j, so the excess over the limit is affine too and changes sign at most once.
 *
 * Power is that of whole iterations: of their FLOP and bytes over their time, the host's part of it included, as the
 * model was fitted. Between iterations GPUs idle with a process on them. Work counts when its iteration ends: of one
 * that the end of the run cuts off, only the time. */

/* Power of a replica's GPUs together, and energy per unit of work. */
struct energy_model {
    double idle_w, busy_w, limit_w;
    double token_j, row_j, pair_j, weight_byte_j, widened_byte_j, context_j; /* by the members of struct work_sums */
};

struct energy_sums {
    double excess_j; /* that iterations would take beyond the limit, and what a lower clock saves */
    double peak_w;   /* of the replica, in any iteration; 0 before the first */
    double draft_j;  /* of draft models */
};

/* The model of `gpus` GPUs that serve the LLM together. */
struct energy_model energy_model_of(const struct power_model *model, const struct gpu_spec *gpu,
                                    const struct llm_spec *llm, int64_t gpus);

/* Tokens count whole; doubles hold them exactly up to 9e15, and are added in the same order however a run is
 * stepped. */
struct work_sums {
    double tokens;          /* processed: of prompts and decoding */
    double rows;            /* of logits: sequences that made a token, prompts that were not at their end included */
    double pairs;           /* of a query and a key */
    double weight_bytes;    /* of the matrices read, all GPUs of a replica together */
    double widened_bytes;   /* of narrow weights of these, in the format of computing */
    double context_tokens;  /* whose keys and values were read */
    double reserved_slot_s; /* KV slots (tokens) of the blocks in use, over the time of the iterations */
    double held_slot_s;     /* of these with the keys and values of a token */
    double shared_slot_s;   /* slots that further sequences of a request would have taken if they shared none */
    double total_slot_s;    /* all slots there are, over the same time */
    struct energy_sums energy; /* stays zero without an energy model */
};

/* The work of one iteration, by the members of work_sums. */
struct work_parts {
    double tokens, rows, pairs, weight_bytes, widened_bytes, context_tokens;
};

struct work_parts work_parts_of(const struct llm_reads *reads, const struct iteration_work *work);

/* Joules of an iteration beside those of its time: of its FLOP and of widening weights, and of the bytes it reads. */
double work_flop_j(const struct work_parts *parts, const struct energy_model *model);
double work_bytes_j(const struct work_parts *parts, const struct energy_model *model);

/* The replica that works. */
struct work_of {
    const struct llm_reads *reads;
    const struct kvcache *kv;
    const struct energy_model *energy;          /* NULL: not known */
    const struct energy_model *energy_at_clock; /* at which it was done, where that is not `energy`; or NULL */
    double draft_j; /* of a draft model in this iteration, beside those of its time; they fall with the clock alike */
};

/* A decode run of n iterations that has just been stepped through; the cache is as it has left it. */
struct work_run {
    const struct run_clock *clock;
    int64_t from_boundary;      /* of the clock, where the n iterations begin */
    int64_t iterations;
    int64_t step;               /* of the running batch, behind them */
    int64_t sequences;
    int64_t context_tokens;     /* of all sequences in the first of them, the tokens being made included */
    int64_t idle_tokens;        /* in the cache, of sequences that do not decode */
};

/* Joules beside those of idling, in `lasted_s`, of iterations from_boundary .. from_boundary + iterations - 1 of a
 * run. */
double work_run_j(const struct work_of *of, const struct work_run *run, double lasted_s);

/* Joules beside those of idling of one iteration of any work. */
double work_iteration_j(const struct work_of *of, const struct iteration_work *work, double lasted_s);

void work_add_decode(struct work_sums *sums, const struct work_of *of, const struct kv_growth *growth,
                     const struct work_run *run);

/* Adds one iteration of any work, with held_tokens tokens in the cache. */
void work_add_iteration(struct work_sums *sums, const struct work_of *of, const struct iteration_work *work,
                        int64_t held_tokens, sim_ns lasted_ns);

/* Iterations one after the other that differ in their contexts alone: their sequences and drafts are the same. */
struct work_steps {
    struct work_parts parts; /* of each, but for what follows from its context */
    int64_t queries;         /* of each sequence, its drafts included */
    int64_t beyond_tokens;   /* in the cache, beyond the context */
};

/* One of them. */
struct work_step {
    int64_t context_tokens, used_blocks; /* blocks: of KV, while it is under way */
    sim_ns lasted_ns;
    double draft_j; /* as in work_of */
};

/* Adds the n iterations of a row, none of them at another clock: what work_add_iteration comes to, to the bit. */
void work_add_steps(struct work_sums *sums, const struct work_of *of, const struct work_steps *row,
                    const struct work_step *steps, int32_t n);

void work_merge(struct work_sums *into, const struct work_sums *from);

/* Forward FLOP of the processed tokens (llm_flop_per_token): two per weight of the matrices that a token meets, and
 * four per pair, query head and width of a head. The LLM's head counts for the rows of logits only. Includes tokens
 * processed again after a preemption. Leaves out padding, recomputation by kernels and sampling. */
double work_flop(const struct work_sums *sums, const struct llm_spec *llm);

/* Bytes of weights and of the KV cache read. */
double work_bytes(const struct work_sums *sums, const struct llm_spec *llm);

/* Joules of a replica that has done this work in busy_s seconds, and idled for idle_s. */
double work_energy_j(const struct work_sums *sums, const struct energy_model *model, double busy_s, double idle_s);

#endif
