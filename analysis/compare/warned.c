/* What the runs of one side warn of, and those of the other do not, or less often. */
#include "analysis/compare/work.h"

#include <ctype.h>
#include <string.h>

/* A warning by its kind and by the names in its text: numbers of the run differ, what it is about does not. */
struct warned {
    const char *code, *about, *text;
    size_t n_base, n_changed; /* runs with it */
    size_t last_run;          /* the last one, from 1 */
};

enum { MOST_WARNED = 512 }; /* of a comparison */

struct warned_list {
    size_t n;
    struct warned *items; /* [MOST_WARNED], in the order in which they were met */
    struct warned beyond;
    struct arena *arena;
};

/* The names in quotes of a text, such as "'chat'". An apostrophe within a word, or at its end, begins none. NULL: out
 * of memory. */
static const char *names_of(struct arena *arena, const char *text)
{
    char *names = arena_alloc(arena, strlen(text) + 1), *end = names, before = ' ';
    if (names == NULL) return NULL;
    for (bool is_name = false; *text != 0; before = *text++) {
        const bool begins = !is_name && *text == '\'' && strchr(" (=:", before) != NULL;
        const bool ends = is_name && *text == '\'' && !isalnum((unsigned char)text[1]);
        if (begins || ends) is_name = begins;
        if (is_name) *end++ = *text;
    }
    *end = 0;
    return names;
}

/* The entry of a warning, made if there is none and there is room. NULL: out of memory. */
static struct warned *entry_of(struct warned_list *list, const char *code, const char *text)
{
    const char *about = names_of(list->arena, text);
    if (about == NULL) return NULL;
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i].code, code) == 0 && strcmp(list->items[i].about, about) == 0) return &list->items[i];
    if (list->n == MOST_WARNED) return &list->beyond;
    list->items[list->n] = (struct warned){.code = code, .about = about, .text = text};
    return &list->items[list->n++];
}

/* One warning of a run may be given several times, in other words. */
static void count(struct warned *warned, bool is_changed, size_t run)
{
    size_t *const n = is_changed ? &warned->n_changed : &warned->n_base;
    if (warned->last_run != run) ++*n;
    warned->last_run = run;
}

/* `number`: of the run among all, from 1. */
static int read_run(const struct compare_work *work, const struct compare_run *run, bool is_changed, size_t number,
                    struct warned_list *list)
{
    static const char sql[] = "SELECT code, text FROM warning WHERE run_id = ?1 AND typeof(code) = 'text'\n"
                              "AND typeof(text) = 'text' ORDER BY rowid";
    struct query_answer answer;
    const int code = query_run(run->database, sql, &run->id, 1, "read warnings", work->arena, &answer, work->diag);
    if (code != 0) return code;
    for (size_t i = 0; i < answer.n_rows; i++) {
        struct warned *warned = entry_of(list, answer.columns[0].texts[i], answer.columns[1].texts[i]);
        if (warned == NULL) return SIM_E_NOMEM;
        count(warned, is_changed, number);
    }
    return 0;
}

/* "only the new run warns (over-budget): TEXT". */
static int remark(struct compare_work *work, const struct warned *warned)
{
    const size_t n_base = work->runs.n_base, n_changed = work->runs.n_changed;
    if (warned->n_base * n_changed == warned->n_changed * n_base) return 0;
    if (n_base == 1 && n_changed == 1)
        return work_remark(work, "only the %s warns (%s): %s", warned->n_base > 0 ? "base" : "new run", warned->code,
                           warned->text);
    return work_remark(work, "%zu of %zu runs of the base and %zu of %zu new runs warn (%s), one of them: %s",
                       warned->n_base, n_base, warned->n_changed, n_changed, warned->code, warned->text);
}

int work_remark_warned(struct compare_work *work)
{
    const struct compared_runs *runs = &work->runs;
    struct warned_list list = {.items = arena_alloc(work->arena, MOST_WARNED * sizeof *list.items), .arena = work->arena};
    int code = list.items != NULL ? 0 : SIM_E_NOMEM;
    for (size_t i = 0; i < runs->n_base && code == 0; i++) code = read_run(work, runs->base[i], false, i + 1, &list);
    for (size_t i = 0; i < runs->n_changed && code == 0; i++)
        code = read_run(work, runs->changed[i], true, runs->n_base + i + 1, &list);
    for (size_t i = 0; i < list.n && code == 0; i++) code = remark(work, &list.items[i]);
    if (code == 0 && list.beyond.last_run > 0)
        code = work_remark(work, "warnings beyond the first %d were not compared", MOST_WARNED);
    return code;
}
