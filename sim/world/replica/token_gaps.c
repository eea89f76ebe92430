#include "sim/world/replica/token_gaps.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <string.h>

void token_gaps_init(struct token_gaps *gaps)
{
    *gaps = (struct token_gaps){0};
}

void token_gaps_fini(struct token_gaps *gaps)
{
    mem_free(gaps->gaps);
    token_gaps_init(gaps);
}

int token_gaps_add(struct token_gaps *gaps, int64_t step, sim_ns gap_ns)
{
    while (gaps->n > 0 && gaps->gaps[gaps->n - 1].gap_ns <= gap_ns) gaps->n--;
    if (gaps->n == gaps->capacity) {
        size_t capacity = gaps->capacity ? 2 * gaps->capacity : 16;
        struct token_gap *grown = mem_realloc(gaps->gaps, capacity * sizeof *grown);
        if (grown == NULL) return SIM_E_NOMEM;
        gaps->gaps = grown;
        gaps->capacity = capacity;
    }
    gaps->gaps[gaps->n++] = (struct token_gap){step, gap_ns};
    return 0;
}

/* Index of the first entry at `step` or later; n when there is none. */
static size_t token_gaps_find(const struct token_gaps *gaps, int64_t step)
{
    size_t low = 0, high = gaps->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (gaps->gaps[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

sim_ns token_gaps_max_from(const struct token_gaps *gaps, int64_t step)
{
    size_t at = token_gaps_find(gaps, step);
    return at < gaps->n ? gaps->gaps[at].gap_ns : 0;
}

void token_gaps_forget_before(struct token_gaps *gaps, int64_t step)
{
    size_t at = token_gaps_find(gaps, step);
    if (at == 0) return;
    gaps->n -= at;
    memmove(gaps->gaps, gaps->gaps + at, gaps->n * sizeof *gaps->gaps);
}
