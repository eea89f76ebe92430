/* Sequences of one request: parallel samples or beams, and the KV blocks that they share.
 *
 * The sequences of a group begin with the same blocks, those of the prompt. A block that several sequences hold counts
 * once. A sequence that writes into such a block copies it first (copy on write); the last holder writes in place.
 * Blocks are numbered by their place in the sequence. Blocks below `common_blocks` are the same for all sequences that
 * share. The blocks behind these are listed, one row of labels per place: equal labels are the same block.
 *
 * A label is the lowest slot of the sequences that hold the block. Samples list one row at most: the last block of the
 * prompt, until each sequence has written. Beams list the rows in which they differ, and the last row.
 *
 * Source: Kwon et al. (SOSP 2023), sections 4.4 and 4.5; vLLM 0.2 to 0.6, BlockSpaceManager.fork and append_slot. */
#ifndef ORRERY_WORLD_REPLICA_SEQUENCE_GROUP_H
#define ORRERY_WORLD_REPLICA_SEQUENCE_GROUP_H

#include "sim/core/units.h"
#include "sim/world/replica/token_wait.h"

#include <stdbool.h>
#include <stdint.h>

struct request;

enum { SEQUENCES_MAX = 64 };

/* How the requests of a service are decoded: into several sequences. Shared by the replicas of a service. */
struct sampling_model {
    int32_t sequences; /* of a request, at least 2 */
    int32_t returned;  /* of these, whose tokens are output: 1 .. sequences */
    bool is_beam;
    double length_sigma;   /* of samples: standard deviation of the logarithm of their lengths */
    double resampled_frac; /* of beams: how often a beam continues one drawn at random */
    uint64_t seed;         /* with run and stream: the random stream of lengths and parents */
    uint32_t run;
    const char *stream;
};

/* Output tokens of a sequence: `output_tokens`, times a lognormal factor of median 1 for all slots but the first. At
 * least 1, and at most `most_tokens` or output_tokens if that is larger. */
int32_t sampling_length(const struct sampling_model *model, int64_t request, int32_t slot, int32_t output_tokens,
                        int64_t most_tokens);

/* parents[sequences]: the slot whose history each beam continues behind an output position. With probability
 * resampled_frac it is drawn from all slots alike, otherwise it is the beam's own. */
void sampling_parents(const struct sampling_model *model, int64_t request, int64_t position, int32_t *parents);

/* What the ended sequences of a group come to. */
struct sequence_sums {
    int64_t returned_tokens;
    int32_t n, preemptions;
    struct token_wait max_gap;
    bool any_finished;
};

struct sequence_group {
    struct sequence_group *prev, *next; /* of the service's list */
    int32_t width, live;                /* sequences; those that have not ended */
    int32_t n_sharing;                  /* members */
    int64_t common_blocks;              /* without those of the prefix cache */
    int32_t *labels;                    /* [n_rows][width] */
    int32_t n_rows, capacity;           /* capacity: labels allocated */
    int64_t last_block;                 /* place of the last row */
    const struct request *survivor;     /* of beams that have lost their KV; the others are dropped */
    struct sequence_sums ended;
    sim_ns arrival_ns;
    bool is_written;                    /* its row is */
    struct request *members[];          /* [width], by slot: those that hold blocks of the group, or NULL */
};

/* A group whose members hold nothing; NULL when out of memory. */
struct sequence_group *sequence_group_make(int32_t width);
void sequence_group_free(struct sequence_group *group); /* NULL is allowed */

/* The members, just set, share `full_blocks` full blocks, of which cached_blocks are the prefix cache's, and with
 * has_partial one more. Returns 0 or SIM_E_NOMEM. */
int sequence_group_share(struct sequence_group *group, int64_t full_blocks, int64_t cached_blocks, bool has_partial);

/* Blocks that are counted more than once if each member counts all of its own. */
int64_t sequence_group_overlap(const struct sequence_group *group);

/* Blocks of a member that others hold too. */
int64_t sequence_group_shared_blocks(const struct sequence_group *group, int32_t slot);

/* Whether others hold the member's block at this place, so that it copies the block before it writes. */
bool sequence_group_copies(const struct sequence_group *group, int32_t slot, int64_t block);

/* Whether a lower slot has the member's block at this place, so that the block is counted there. */
bool sequence_group_repeats(const struct sequence_group *group, int32_t slot, int64_t block);

/* The member writes into its block at this place. Returns whether it has copied the block. */
bool sequence_group_write(struct sequence_group *group, int32_t slot, int64_t block);

/* Each beam takes a block of its own for a new row. Returns 0 or SIM_E_NOMEM. */
int sequence_group_grow(struct sequence_group *group);

/* Each beam continues the history of its parent. parents: [width]. All slots are members. */
void sequence_group_resample(struct sequence_group *group, const int32_t *parents);

/* Forgets rows that no longer matter: of samples that all have written. */
void sequence_group_end_row(struct sequence_group *group);

/* The member no longer holds blocks of the group. */
void sequence_group_leave(struct sequence_group *group, int32_t slot);

#endif
