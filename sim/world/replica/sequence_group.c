#include "sim/world/replica/sequence_group.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/rng.h"

#include <math.h>
#include <string.h>

/* --- Chance --- */

static struct rng stream_of(const struct sampling_model *model, int64_t request, int64_t place)
{
    struct rng rng;
    rng_init(&rng, model->seed, model->run, model->stream, (uint64_t)request << 32 | (uint64_t)place);
    return rng;
}

/* Standard normal, by the polar form of two uniform numbers (Box and Muller, 1958). */
static double normal(struct rng *rng)
{
    const double radius = sqrt(-2.0 * log(rng_uniform(rng)));
    return radius * cos(2.0 * 3.14159265358979323846 * rng_uniform(rng));
}

int32_t sampling_length(const struct sampling_model *model, int64_t request, int32_t slot, int32_t output_tokens,
                        int64_t most_tokens)
{
    if (slot == 0 || model->is_beam || model->length_sigma <= 0.0) return output_tokens;
    struct rng rng = stream_of(model, request, slot);
    const double tokens = nearbyint(output_tokens * exp(model->length_sigma * normal(&rng)));
    const double most = most_tokens > output_tokens ? (double)most_tokens : (double)output_tokens;
    return (int32_t)fmin(fmax(tokens, 1.0), most);
}

void sampling_parents(const struct sampling_model *model, int64_t request, int64_t position, int32_t *parents)
{
    struct rng rng = stream_of(model, request, position);
    for (int32_t i = 0; i < model->sequences; i++) {
        parents[i] = i;
        if (rng_uniform(&rng) < model->resampled_frac)
            parents[i] = (int32_t)rng_below(&rng, (uint64_t)model->sequences);
    }
}

/* --- Rows of labels --- */

struct sequence_group *sequence_group_make(int32_t width)
{
    struct sequence_group *group = mem_zalloc(1, sizeof *group + (size_t)width * sizeof(struct request *));
    if (group != NULL) group->width = width;
    return group;
}

void sequence_group_free(struct sequence_group *group)
{
    if (group == NULL) return;
    mem_free(group->labels);
    mem_free(group);
}

static int32_t *row_of(const struct sequence_group *group, int32_t row)
{
    return group->labels + (size_t)row * (size_t)group->width;
}

/* Labels of a row become the lowest slots again. Labels up to twice the width may occur, equal ones for one block. */
static void relabel(const struct sequence_group *group, int32_t *labels)
{
    int32_t lowest[2 * SEQUENCES_MAX];
    for (int32_t i = 0; i < 2 * group->width; i++) lowest[i] = -1;
    for (int32_t slot = 0; slot < group->width; slot++) {
        if (group->members[slot] == NULL) continue;
        int32_t *first = &lowest[labels[slot]];
        if (*first < 0) *first = slot;
        labels[slot] = *first;
    }
}

static int64_t blocks_in(const struct sequence_group *group, const int32_t *labels)
{
    int64_t n = 0;
    for (int32_t slot = 0; slot < group->width; slot++) n += group->members[slot] != NULL && labels[slot] == slot;
    return n;
}

static bool is_shared(const struct sequence_group *group, const int32_t *labels, int32_t slot)
{
    for (int32_t other = 0; other < group->width; other++)
        if (other != slot && group->members[other] != NULL && labels[other] == labels[slot]) return true;
    return false;
}

/* A row in which all members have one block, or each its own. */
static int add_row(struct sequence_group *group, bool is_common)
{
    const int32_t needed = (group->n_rows + 1) * group->width;
    if (needed > group->capacity) {
        int32_t *grown = mem_realloc(group->labels, (size_t)needed * 2 * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        group->labels = grown;
        group->capacity = needed * 2;
    }
    int32_t *labels = row_of(group, group->n_rows++);
    for (int32_t slot = 0; slot < group->width; slot++) labels[slot] = is_common ? 0 : slot;
    relabel(group, labels);
    return 0;
}

/* --- Sharing --- */

int sequence_group_share(struct sequence_group *group, int64_t full_blocks, int64_t cached_blocks, bool has_partial)
{
    group->n_sharing = group->n_rows = 0;
    for (int32_t slot = 0; slot < group->width; slot++) group->n_sharing += group->members[slot] != NULL;
    group->common_blocks = full_blocks - cached_blocks;
    group->last_block = full_blocks - !has_partial;
    group->survivor = NULL;
    return has_partial ? add_row(group, true) : 0;
}

int64_t sequence_group_overlap(const struct sequence_group *group)
{
    if (group->n_sharing < 2) return 0;
    int64_t blocks = group->common_blocks * (group->n_sharing - 1);
    for (int32_t row = 0; row < group->n_rows; row++) blocks += group->n_sharing - blocks_in(group, row_of(group, row));
    return blocks;
}

int64_t sequence_group_shared_blocks(const struct sequence_group *group, int32_t slot)
{
    if (group->n_sharing < 2) return 0;
    int64_t blocks = group->common_blocks;
    for (int32_t row = 0; row < group->n_rows; row++) blocks += is_shared(group, row_of(group, row), slot);
    return blocks;
}

/* The row of a place; NULL: it is not listed. */
static int32_t *row_at(const struct sequence_group *group, int64_t block)
{
    const int64_t row = group->n_rows - 1 - (group->last_block - block);
    return row >= 0 && row < group->n_rows ? row_of(group, (int32_t)row) : NULL;
}

bool sequence_group_copies(const struct sequence_group *group, int32_t slot, int64_t block)
{
    const int32_t *labels = row_at(group, block);
    return labels != NULL && is_shared(group, labels, slot);
}

bool sequence_group_repeats(const struct sequence_group *group, int32_t slot, int64_t block)
{
    const int32_t *labels = row_at(group, block);
    return labels != NULL && labels[slot] != slot;
}

bool sequence_group_write(struct sequence_group *group, int32_t slot, int64_t block)
{
    if (!sequence_group_copies(group, slot, block)) return false;
    int32_t *labels = row_at(group, block);
    labels[slot] = group->width + slot;
    relabel(group, labels);
    return true;
}

/* Leading rows that are one block for all belong to the common ones. The last row stays: it may be written. */
static void trim(struct sequence_group *group)
{
    int32_t n = 0;
    while (n + 1 < group->n_rows && blocks_in(group, row_of(group, n)) == 1) n++;
    if (n == 0) return;
    group->common_blocks += n;
    group->n_rows -= n;
    memmove(group->labels, row_of(group, n), (size_t)group->n_rows * (size_t)group->width * sizeof *group->labels);
}

int sequence_group_grow(struct sequence_group *group)
{
    const int code = add_row(group, false);
    group->last_block++;
    trim(group);
    return code;
}

void sequence_group_resample(struct sequence_group *group, const int32_t *parents)
{
    SIM_REQUIRE(group->n_sharing == group->width);
    for (int32_t row = 0; row < group->n_rows; row++) {
        int32_t before[SEQUENCES_MAX], *labels = row_of(group, row);
        memcpy(before, labels, (size_t)group->width * sizeof *labels);
        for (int32_t slot = 0; slot < group->width; slot++) labels[slot] = before[parents[slot]];
        relabel(group, labels);
    }
    trim(group);
}

void sequence_group_end_row(struct sequence_group *group)
{
    if (group->n_rows > 0 && blocks_in(group, row_of(group, 0)) == group->n_sharing) group->n_rows = 0;
}

void sequence_group_leave(struct sequence_group *group, int32_t slot)
{
    SIM_REQUIRE(group->members[slot] != NULL);
    group->members[slot] = NULL;
    if (--group->n_sharing < 2) {
        group->common_blocks = group->n_rows = 0;
        return;
    }
    for (int32_t row = 0; row < group->n_rows; row++) relabel(group, row_of(group, row));
}
