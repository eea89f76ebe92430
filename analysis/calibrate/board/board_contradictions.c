/* Rows of a table that contradict each other: something that the table does not tell changed between them.
 *
 * A configuration is what the table states beside the number of users. In a closed loop more users never make a token
 * faster, and the same number makes it as fast again. Where a row takes more than `contradiction` times the TPOT of
 * another with as many users or more, one of the two ran otherwise, and which one is not known: no row of the
 * configuration is trusted. Versions that are not stated may differ, so their rows contradict nobody. */
#include "analysis/calibrate/board/board_left_out.h"

#include <math.h>
#include <string.h>

/* Equal rows of one version repeat within 1 % at the median. */
static const double contradiction = 1.3;

static const char because[] = "a row of this configuration takes over 1.3 times the TPOT of another with as many users "
                              "or more: they differ in what the table does not tell";

/* Whether a row can tell of others: a first measurement that nothing else makes suspect. */
static bool counts(const struct board_row *row)
{
    return strcmp(row->mode, "agg") == 0 && row->first_copy && row->suspect == NULL && *row->version != 0 &&
           row->tpot_s > 0.0 && !isnan(row->users);
}

static bool is_same_configuration(const struct board_row *a, const struct board_row *b)
{
    const double sizes[][2] = {{a->tensor, b->tensor},     {a->data, b->data},
                               {a->expert, b->expert},     {a->pipeline, b->pipeline},
                               {a->prompt_tokens, b->prompt_tokens}, {a->output_tokens, b->output_tokens}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!(sizes[i][0] == sizes[i][1])) return false;
    return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0 && strcmp(a->gemm, b->gemm) == 0 &&
           strcmp(a->moe, b->moe) == 0;
}

static bool contradict(const struct board_row *a, const struct board_row *b)
{
    const double slower_s = fmax(a->tpot_s, b->tpot_s), faster_s = fmin(a->tpot_s, b->tpot_s);
    if (!(slower_s > contradiction * faster_s)) return false;
    const struct board_row *slower = a->tpot_s > b->tpot_s ? a : b, *faster = slower == a ? b : a;
    return slower->users <= faster->users;
}

/* Whether any two rows of the configuration of `first` contradict each other. */
static bool is_contradictory(const struct board *board, const struct board_row *first)
{
    for (size_t i = 0; i < board->n; i++) {
        const struct board_row *a = &board->rows[i];
        if (!counts(a) || !is_same_configuration(a, first)) continue;
        for (size_t j = i + 1; j < board->n; j++) {
            const struct board_row *b = &board->rows[j];
            if (counts(b) && is_same_configuration(b, first) && contradict(a, b)) return true;
        }
    }
    return false;
}

int board_find_contradictions(struct board *board)
{
    bool *found = arena_alloc(board->arena, board->n + 1);
    if (found == NULL) return SIM_E_NOMEM;
    for (size_t i = 0; i < board->n; i++)
        found[i] = counts(&board->rows[i]) && is_contradictory(board, &board->rows[i]);
    for (size_t i = 0; i < board->n; i++)
        if (found[i]) board->rows[i].suspect = because;
    return 0;
}
