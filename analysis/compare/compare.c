#include "analysis/compare/compare.h"

#include "analysis/compare/work.h"

#include <inttypes.h>
#include <string.h>

const char *compare_verdict_name(enum compare_verdict verdict)
{
    static const char *const names[] = {[COMPARE_UNCLEAR] = "unclear",
                                        [COMPARE_SAME] = "same",
                                        [COMPARE_BETTER] = "better",
                                        [COMPARE_WORSE] = "worse",
                                        [COMPARE_DIFFERS] = "differs"};
    return names[verdict];
}

const char *compare_method_name(enum compare_method method)
{
    static const char *const names[] = {[COMPARE_SINGLE] = "none",          [COMPARE_BOOTSTRAP] = "bootstrap",
                                        [COMPARE_T_REQUESTS] = "paired t",  [COMPARE_BATCH_MEANS] = "batch means",
                                        [COMPARE_T_SEEDS] = "t over seeds", [COMPARE_WELCH] = "Welch"};
    return names[method];
}

/* --- Two files, or one twice --- */

struct inputs {
    struct database files[2];
    size_t n_files;
    struct compare_group all[2]; /* runs of the base's file and of the changed file */
};

static int open_inputs(struct inputs *inputs, const char *base, const char *changed, struct arena *arena,
                       struct diag *diag)
{
    const char *const paths[] = {base, changed};
    *inputs = (struct inputs){0};
    for (size_t i = 0; i < 2; i++) {
        if (i == 1 && strcmp(base, changed) == 0) {
            inputs->all[1] = inputs->all[0];
            return 0;
        }
        int code = database_open_read(&inputs->files[i], paths[i], diag);
        if (code != 0) return code;
        inputs->n_files++;
        code = runs_read(&inputs->files[i], arena, &inputs->all[i], diag);
        if (code != 0) return code;
    }
    return 0;
}

static void close_inputs(struct inputs *inputs)
{
    for (size_t i = 0; i < inputs->n_files; i++) database_close(&inputs->files[i], false);
}

static struct compare_work begin(struct comparison *comparison, const struct compare_options *options,
                                 struct diag *diag)
{
    *comparison = (struct comparison){0};
    arena_init(&comparison->arena);
    return (struct compare_work){
        .options = options, .comparison = comparison, .arena = &comparison->arena, .diag = diag};
}

static int out_of_memory(int code, struct diag *diag)
{
    if (code == SIM_E_NOMEM && (diag == NULL || diag->n_errors == 0)) diag_nomem_at(diag, NULL);
    return code;
}

/* --- Two runs --- */

static int find_run(const struct compare_group *all, int64_t id, const struct compare_run **run, struct diag *diag)
{
    *run = NULL;
    for (size_t i = 0; i < all->n; i++)
        if (id == 0 || all->runs[i].id == id) *run = &all->runs[i];
    if (*run == NULL && id == 0) return diag_error(diag, SIM_E_STORE, all->label, NULL, "there is no run in it");
    if (*run == NULL) return diag_error(diag, SIM_E_STORE, all->label, NULL, "there is no run %" PRId64 " in it", id);
    if (strcmp((*run)->status, "open") == 0 || strcmp((*run)->status, "failed") == 0)
        return diag_error(diag, SIM_E_DATA, all->label, NULL, "run %" PRId64 " did not end: its status is '%s'",
                          (*run)->id, (*run)->status);
    if (strcmp((*run)->status, "done") != 0)
        diag_warning(diag, all->label, "its later requests and jobs are missing", "run %" PRId64 " ended early (%s)",
                     (*run)->id, (*run)->status);
    return 0;
}

static const char *label_run(struct arena *arena, const struct compare_run *run)
{
    return arena_printf(arena, "%s:%" PRId64 " (%s, seed %" PRId64 ")", run->database->path, run->id, run->name,
                        run->seed);
}

int compare_runs(const struct compare_source *base, const struct compare_source *changed,
                 const struct compare_options *options, struct comparison *comparison, struct diag *diag)
{
    struct inputs inputs;
    const struct compare_run *runs[2];
    struct compare_work work = begin(comparison, options, diag);
    int code = open_inputs(&inputs, base->path, changed->path, work.arena, diag);
    if (code == 0) code = find_run(&inputs.all[0], base->run_id, &runs[0], diag);
    if (code == 0) code = find_run(&inputs.all[1], changed->run_id, &runs[1], diag);
    if (code == 0) {
        comparison->base = label_run(work.arena, runs[0]);
        comparison->changed = label_run(work.arena, runs[1]);
        code = comparison->base != NULL && comparison->changed != NULL ? 0 : SIM_E_NOMEM;
    }
    if (code == 0) code = compare_pair(&work, runs[0], runs[1]);
    if (code == 0) code = work_judge(&work);
    close_inputs(&inputs);
    return out_of_memory(code, diag);
}

/* --- Two groups --- */

static int copy_all(const struct compare_group *all, struct arena *arena, struct compare_group *group,
                    struct diag *diag)
{
    *group = *all;
    if (all->n == 0) return diag_error(diag, SIM_E_STORE, all->label, NULL, "there is no run in it");
    group->runs = arena_alloc(arena, all->n * sizeof *group->runs);
    if (group->runs == NULL) return SIM_E_NOMEM;
    memcpy(group->runs, all->runs, all->n * sizeof *group->runs);
    return 0;
}

static int choose(const struct compare_group *all, const char *selection, struct arena *arena,
                  struct selection_keys *keys, struct compare_group *group, struct diag *diag)
{
    if (selection == NULL) return copy_all(all, arena, group, diag);
    return runs_select(all, selection, arena, keys, group, diag);
}

int compare_groups(const char *base_path, const char *base, const char *changed_path, const char *changed,
                   const struct compare_options *options, struct comparison *comparison, struct diag *diag)
{
    struct inputs inputs;
    struct selection_keys keys = {0};
    struct compare_group groups[2];
    struct compare_work work = begin(comparison, options, diag);
    int code = open_inputs(&inputs, base_path, changed_path, work.arena, diag);
    if (code == 0) code = choose(&inputs.all[0], base, work.arena, &keys, &groups[0], diag);
    if (code == 0) code = choose(&inputs.all[1], changed, work.arena, &keys, &groups[1], diag);
    for (size_t i = 0; code == 0 && i < 2; i++) code = runs_set_points(&groups[i], &keys, work.arena);
    if (code == 0) {
        comparison->base = arena_strdup(work.arena, groups[0].label);
        comparison->changed = arena_strdup(work.arena, groups[1].label);
        code = comparison->base != NULL && comparison->changed != NULL ? 0 : SIM_E_NOMEM;
    }
    if (code == 0) code = compare_selected(&work, &groups[0], &groups[1], &keys);
    if (code == 0) code = work_judge(&work);
    close_inputs(&inputs);
    return out_of_memory(code, diag);
}

void comparison_fini(struct comparison *comparison)
{
    arena_fini(&comparison->arena);
    *comparison = (struct comparison){0};
}
