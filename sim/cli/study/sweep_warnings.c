#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include "sim/cli/study/sweep_warnings.h"

#include "sim/cli/answer.h"
#include "sim/cli/study/sweep_view.h"
#include "sim/core/database.h"

#include <ctype.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_KINDS = 64, LINE_CHARS = 1024, SHOWN_KINDS = 10, POINTS_PER_BYTE = 8 };

/* A warning, and the points that have it. */
struct kind {
    char line[LINE_CHARS]; /* of the first point */
    size_t first_point, n_points;
};

/* Warnings in the order in which they were noted, each with a bit for every point. Further ones are left out. */
struct kinds {
    size_t n, n_points, n_steps, n_seeds;
    struct kind items[MOST_KINDS];
    unsigned char *bits; /* behind the structure that holds this one: processes share both */
};

struct heard {
    atomic_flag is_locked;
    size_t bytes;
    struct kinds kinds;
};

static size_t bits_bytes(const struct study *study)
{
    return MOST_KINDS * (study->n_points / POINTS_PER_BYTE + 1);
}

static void init_kinds(struct kinds *kinds, const struct study *study, void *bits)
{
    kinds->bits = bits;
    kinds->n_points = study->n_points;
    kinds->n_seeds = study->n_seeds;
    kinds->n_steps = study->search != NULL ? search_max_steps(study->search) : 1;
}

/* Whether two lines are equal but for numbers. Digits within a word are no number: a10, vllm-0.12, 'v100'. */
static bool is_alike(const char *a, const char *b)
{
    static const char number[] = "0123456789.";
    for (char before = ' '; *a != 0 && *b != 0;) {
        const bool is_start = before == ' ' || before == '(' || before == ':';
        const bool has_number = is_start && isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
        if (!has_number && *a != *b) return false;
        before = *a;
        a += has_number ? strspn(a, number) : 1;
        b += has_number ? strspn(b, number) : 1;
    }
    return *a == *b;
}

static void add_point(struct kinds *kinds, size_t i, size_t point)
{
    unsigned char *byte = &kinds->bits[i * (kinds->n_points / POINTS_PER_BYTE + 1) + point / POINTS_PER_BYTE];
    const unsigned char bit = (unsigned char)(1u << point % POINTS_PER_BYTE);
    kinds->items[i].n_points += (*byte & bit) == 0;
    *byte |= bit;
}

/* The line of the first point stays; of one point, that which is first in the alphabet: the same with any workers. */
static void add_line(struct kinds *kinds, int64_t run_id, const char *line)
{
    const size_t point = (size_t)(run_id - 1) / kinds->n_seeds / kinds->n_steps;
    size_t i = 0;
    if (run_id < 1 || point >= kinds->n_points) return;
    while (i < kinds->n && !is_alike(kinds->items[i].line, line)) i++;
    if (i == MOST_KINDS) return;
    struct kind *kind = &kinds->items[i];
    const bool is_new = i == kinds->n, is_same = !is_new && point == kind->first_point;
    if (is_new) kinds->n++;
    if (is_new || point < kind->first_point || (is_same && strcmp(line, kind->line) < 0)) {
        kind->first_point = point;
        snprintf(kind->line, sizeof kind->line, "%s", line);
    }
    add_point(kinds, i, point);
}

/* --- What processes note --- */

int heard_create(const struct study *study, struct heard **heard, struct diag *diag)
{
    const size_t bytes = sizeof **heard + bits_bytes(study);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *heard = memory != MAP_FAILED ? memory : NULL;
    if (*heard == NULL) return diag_nomem(diag);
    (*heard)->bytes = bytes;
    init_kinds(&(*heard)->kinds, study, *heard + 1);
    atomic_flag_clear(&(*heard)->is_locked);
    return 0;
}

void heard_destroy(struct heard *heard)
{
    if (heard != NULL) munmap(heard, heard->bytes);
}

/* A process that died while it noted a warning leaves the lock behind: later warnings are dropped. */
static bool lock(struct heard *heard)
{
    enum { MOST_TRIES = 100000 };
    for (int i = 0; i < MOST_TRIES; i++) {
        if (!atomic_flag_test_and_set(&heard->is_locked)) return true;
        sched_yield();
    }
    return false;
}

void heard_add(struct heard *heard, int64_t run_id, const struct diag *findings)
{
    if (heard == NULL || findings->n_warnings == 0 || !lock(heard)) return;
    for (int i = 0; i < findings->n_items; i++) {
        char line[DIAG_LINE_CHARS];
        if (findings->items[i].level != DIAG_WARNING) continue;
        diag_format(&findings->items[i], line, sizeof line);
        add_line(&heard->kinds, run_id, line);
    }
    atomic_flag_clear(&heard->is_locked);
}

/* --- What is printed --- */

/* Adds the warnings of the finished runs in the database. */
static int add_stored(const struct database *database, struct kinds *kinds, struct diag *diag)
{
    static const char sql[] = "SELECT run_id, code, text FROM warning JOIN run ON run.id = run_id "
                              "WHERE status = 'done' ORDER BY run_id, code, text";
    static const char what[] = "read the warnings";
    sqlite3_stmt *select;
    int code = database_prepare(database, sql, &select, what, diag), step;
    if (code != 0) return code;
    while ((step = sqlite3_step(select)) == SQLITE_ROW) {
        char line[LINE_CHARS];
        snprintf(line, sizeof line, "warning: %s: %s", (const char *)sqlite3_column_text(select, 1),
                 (const char *)sqlite3_column_text(select, 2));
        add_line(kinds, sqlite3_column_int64(select, 0), line);
    }
    if (step != SQLITE_DONE) code = database_error(database, what, diag);
    sqlite3_finalize(select);
    return code;
}

static int compare_kinds(const void *a, const void *b)
{
    const struct kind *x = *(const struct kind *const *)a, *y = *(const struct kind *const *)b;
    if (x->first_point != y->first_point) return x->first_point < y->first_point ? -1 : 1;
    return strcmp(x->line, y->line);
}

/* "warning: ... (at 2 of 6 points, first at scheduler tiresias, nodes 2)" */
static void print_kind(const struct study *study, const struct kind *kind, struct arena *arena, FILE *err)
{
    const char *name = kind->n_points < study->n_points ? sweep_name_point(study, kind->first_point, arena) : "";
    answer_print(err, "%s", kind->line);
    if (study->n_points > 1 && kind->n_points == study->n_points)
        answer_print(err, " (at all %zu points)", study->n_points);
    else if (study->n_points > 1)
        answer_print(err, " (at %zu of %zu points, %s%s)", kind->n_points, study->n_points,
                     kind->n_points > 1 ? "first at " : "", name);
    answer_print(err, "\n");
}

static void print_kinds(const struct study *study, const struct kinds *stored, const struct heard *heard,
                        const char *output, FILE *err)
{
    const struct kind *kinds[2 * MOST_KINDS];
    size_t n = 0;
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < stored->n; i++) kinds[n++] = &stored->items[i];
    for (size_t i = 0; heard != NULL && i < heard->kinds.n; i++) kinds[n++] = &heard->kinds.items[i];
    qsort(kinds, n, sizeof(const struct kind *), compare_kinds);
    for (size_t i = 0; i < n && i < SHOWN_KINDS; i++) print_kind(study, kinds[i], &arena, err);
    if (n > SHOWN_KINDS)
        answer_print(err, "... and %zu more warnings: 'orrery show' prints those of a run in %s\n", n - SHOWN_KINDS,
                     output);
    arena_fini(&arena);
}

int sweep_warnings_print(const struct study *study, const char *output, const struct heard *heard, FILE *err,
                         struct diag *diag)
{
    struct merge merge;
    struct kinds *stored = mem_zalloc(1, sizeof *stored + bits_bytes(study));
    if (stored == NULL) return diag_nomem(diag);
    init_kinds(stored, study, stored + 1);
    int code = merge_open(&merge, &output, 1, study->hash, merge_hint_output, diag);
    if (code == 0) code = add_stored(&merge.inputs[0], stored, diag);
    if (code == 0) print_kinds(study, stored, heard, output, err);
    merge_close(&merge);
    mem_free(stored);
    return code;
}
