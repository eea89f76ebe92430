#include "sim/cli/study/sweep_refused.h"

#include "sim/cli/run/setup.h"
#include "sim/study/axes.h"
#include "sim/world/world.h"

#include <ctype.h>
#include <string.h>

enum { MOST_POINTS = 100, SPREAD_POINTS = 8 };

/* Loads the first run of a point; with `builds` builds its world, too: not with plug-ins, which could end this process,
 * and not from a pipe, which the run would find empty. */
static int try_point(const struct cli *cli, const struct study *study, size_t point, bool builds, struct diag *diag)
{
    struct study_run run;
    struct arena arena;
    struct setup setup;
    struct world *world;
    arena_init(&arena);
    if (study_run_with(study, point, 0, NULL, NULL, &arena, &run) != 0) {
        arena_fini(&arena);
        return diag_nomem(diag);
    }
    const struct setup_options over = {.run = &run, .plugins = cli->plugins, .data = cli->data};
    int code = setup_load(&setup, study->scenario, &over, diag);
    if (code == 0 && builds && cli->plugins == NULL && !setup_reads_once(&setup)) {
        const struct world_options how = {.config = setup.config, .catalog = &setup.catalog};
        code = world_create(&setup.scenario, &how, &world, diag);
        if (code == 0) world_destroy(world);
    }
    setup_fini(&setup);
    arena_fini(&arena);
    return code;
}

static bool is_at(const struct diag_item *item, const char *where)
{
    return item->level != DIAG_WARNING && strcmp(item->where, where) == 0;
}

static void pass_on(const struct diag *found, const char *where, struct diag *diag)
{
    for (int i = 0; i < found->n_items; i++) {
        const struct diag_item *item = &found->items[i];
        if (where != NULL ? is_at(item, where) : item->level != DIAG_WARNING)
            diag_error(diag, item->code, item->where, item->hint, "%s", item->text);
    }
}

static bool has_error_at(const struct diag *found, const char *where)
{
    for (int i = 0; i < found->n_items; i++)
        if (is_at(&found->items[i], where) && found->items[i].code == SIM_E_CONFIG) return true;
    return false;
}

/* A scenario that no point can load. */
static int check_scenario(const struct cli *cli, const struct study *study, struct diag *diag)
{
    struct diag first, found;
    if (study->n_points > MOST_POINTS) return 0;
    for (size_t point = 0; point < study->n_points; point++) {
        struct diag *findings = point == 0 ? &first : &found;
        diag_init(findings);
        if (try_point(cli, study, point, false, findings) == 0) return 0;
    }
    pass_on(&first, NULL, diag);
    return SIM_E_CONFIG;
}

static bool is_name(const char *value)
{
    return isalpha((unsigned char)value[value[0] == '"']) != 0;
}

/* Points from `point` on whose value of the key is the same. */
static size_t count_points(const struct study *study, size_t point, size_t key)
{
    const char *where = axes_place(study->axes, point, key);
    size_t n = 0;
    for (size_t i = point; i < study->n_points; i++) n += strcmp(axes_place(study->axes, i, key), where) == 0;
    return n;
}

/* The value of a key at a point: an error if each point that has it fails, and one of them blames it. A name that too
 * many points have: if a few of them, spread over all, fail and blame it. */
static int check_value(const struct cli *cli, const struct study *study, size_t point, size_t key, struct diag *diag)
{
    const char *where = axes_place(study->axes, point, key);
    const bool builds = is_name(axes_param(study->axes, point, key).value);
    const size_t n = count_points(study, point, key), stride = n > MOST_POINTS ? n / SPREAD_POINTS : 1;
    struct diag blaming, found;
    size_t n_seen = 0;
    if (has_error_at(diag, where)) return SIM_E_CONFIG; /* told already */
    if (stride > 1 && !builds) return 0;
    diag_init(&blaming);
    for (size_t i = point; i < study->n_points; i++) {
        if (strcmp(axes_place(study->axes, i, key), where) != 0) continue;
        if (n_seen++ % stride != 0) continue;
        diag_init(&found);
        if (try_point(cli, study, i, builds, &found) == 0) return 0;
        if (stride > 1 && !has_error_at(&found, where)) return 0;
        if (has_error_at(&found, where) && !has_error_at(&blaming, where)) blaming = found;
    }
    if (!has_error_at(&blaming, where)) return 0;
    pass_on(&blaming, where, diag);
    return SIM_E_CONFIG;
}

/* The values of the first point with some row of an axis. */
static int check_point(const struct cli *cli, const struct study *study, size_t point, struct diag *diag)
{
    const size_t n_keys = axes_keys(study->axes);
    struct diag found;
    int code = 0;
    diag_init(&found);
    if (try_point(cli, study, point, true, &found) == 0) return 0;
    for (size_t key = 0; key < n_keys; key++) {
        const int key_code = check_value(cli, study, point, key, diag);
        if (code == 0) code = key_code;
    }
    return code;
}

int sweep_refused(const struct cli *cli, const struct study *study, struct diag *diag)
{
    size_t stride = study->n_points;
    if (study->search != NULL || stride == 0) return 0; /* the key of a search has no value yet */
    int code = check_scenario(cli, study, diag);
    if (code != 0) return code;
    for (size_t i = 0; i < study->axes->n; i++) {
        const size_t n_rows = study->axes->axes[i].n_rows;
        stride /= n_rows;
        for (size_t row = i > 0; row < n_rows && row < MOST_POINTS; row++) { /* the first row of all is one point */
            const int point_code = check_point(cli, study, row * stride, diag);
            if (code == 0) code = point_code;
        }
    }
    return code;
}
