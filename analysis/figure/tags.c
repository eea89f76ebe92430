/* Where a number was read, and what that lets a claim do. */
#include "analysis/figure/claim_kind.h"
#include "analysis/figure/figure.h"

#include <math.h>
#include <string.h>

static const char *const tag_words[] = {"src", "src2", "derived", "memory"};
enum { N_TAG_WORDS = sizeof tag_words / sizeof *tag_words, MEMORY = 3 };

/* The index of the word before the colon, or N_TAG_WORDS. */
static int tag_word(const char *tag)
{
    size_t length = strcspn(tag, ":");
    int i = 0;
    while (i < N_TAG_WORDS && (strlen(tag_words[i]) != length || strncmp(tag, tag_words[i], length) != 0)) i++;
    return i;
}

bool figure_tag_exists(const char *tag)
{
    return tag_word(tag) != N_TAG_WORDS;
}

bool figure_tag_gates(const char *tag)
{
    return tag_word(tag) != MEMORY;
}

/* --- Points --- */

struct search {
    const struct figure *figure;
    bool found;
};

/* Whether the paper has points from memory in the range; of a formula every x counts. */
static void look_for_memory(void *context, const char *name, double from, double to)
{
    struct search *search = context;
    const struct figure_series *series = figure_series_at(search->figure, figure_series_index(search->figure, name));
    if (series == NULL || series->paper.tag == NULL || figure_tag_gates(series->paper.tag)) return;
    search->found = search->found || series->paper.sql != NULL;
    for (size_t i = 0; i < series->paper.points.n; i++) {
        double x = FIGURE_ITEM(struct figure_point, series->paper.points, i)->x;
        search->found = search->found || (!(x < from) && !(x > to));
    }
}

/* What a query stands for is in the claim's rests_on. */
static void pass_query(void *context, const char *sql, const char *study)
{
    (void)context;
    (void)sql;
    (void)study;
}

bool figure_claim_is_on_memory(const struct figure *figure, const struct figure_claim *claim)
{
    struct search search = {figure, false};
    const struct claim_kind *kind = claim->test.entry;
    if (kind != NULL) kind->places(claim->test.params, &(struct claim_places){&search, look_for_memory, pass_query});
    for (size_t i = 0; i < claim->rests_on.n; i++) {
        const struct figure_span *span = FIGURE_ITEM(struct figure_span, claim->rests_on, i);
        look_for_memory(&search, span->series, span->from, span->to);
    }
    return search.found;
}

/* --- Claims --- */

const char *figure_claim_unjudged(const struct figure *figure, const struct figure_claim *claim)
{
    if (claim->test.entry == NULL) return "not covered by the simulator";
    if (!figure_tag_gates(claim->tag)) return "from memory";
    if (figure_claim_is_on_memory(figure, claim)) return "about points that are from memory";
    return claim->up_to ? "stated as 'up to'" : NULL;
}

bool figure_claim_gates(const struct figure *figure, const struct figure_claim *claim)
{
    return figure_claim_unjudged(figure, claim) == NULL && claim->reported_because == NULL;
}
