#include "sim/cli/study/figure_work.h"

#include "analysis/figure/page.h"
#include "analysis/query.h"
#include "sim/cli/answer.h"
#include "sim/cli/paths.h"
#include "sim/cli/run/clock.h"
#include "sim/cli/study/figure_board.h"
#include "sim/cli/study/figure_exchanges.h"
#include "sim/cli/study/figure_plans.h"
#include "sim/cli/study/sweep_refused.h"
#include "sim/cli/study/sweeping.h"
#include "sim/core/output.h"
#include "sim/core/path.h"
#include "sim/study/study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Paths --- */

/* DIRECTORY/PAPER/NAME with an ending; NULL when out of memory. */
static char *result_path(struct figure_work *work, const struct figure_options *options, const char *ending)
{
    return arena_printf(&work->arena, "%s/%s%s", options->directory, work->figure.id, ending);
}

/* Makes the directory and its parents. */
static int make_directories(struct arena *arena, const char *path, struct diag *diag)
{
    char *part = arena_strdup(arena, path);
    if (part == NULL) return diag_nomem(diag);
    for (char *slash = part + 1;; slash++) {
        slash = slash + strcspn(slash, "/");
        char end = *slash;
        *slash = 0;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return diag_system_error(diag, part, "cannot make the directory", errno);
        *slash = end;
        if (end == 0) return 0;
    }
}

static int name_databases(struct figure_work *work, const struct figure_options *options, struct diag *diag)
{
    const struct config_list *studies = &work->figure.studies;
    work->databases = arena_alloc(&work->arena, studies->n * sizeof *work->databases);
    if (work->databases == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < studies->n; i++) {
        const char *name = FIGURE_ITEM(struct figure_study, *studies, i)->name;
        char *ending = studies->n > 1 ? arena_printf(&work->arena, ".%s.db", name) : arena_strdup(&work->arena, ".db");
        work->databases[i] = ending != NULL ? result_path(work, options, ending) : NULL;
        if (work->databases[i] == NULL) return diag_nomem(diag);
    }
    return 0;
}

/* "" for the only chart, ".1", ".2" ... for several. */
static const char *chart_suffix(const struct figure_work *work, size_t index, char suffix[24])
{
    suffix[0] = 0;
    if (work->figure.charts.n > 1) snprintf(suffix, 24, ".%zu", index + 1);
    return suffix;
}

/* Settings may not replace the seeds of the studies: a figure has no option for them. */
static int check_seeds(const struct figure_work *work, struct diag *diag)
{
    for (size_t i = 0; i < work->n_settings; i++)
        if (strncmp(work->settings[i], "seed=", 5) == 0)
            return diag_error(diag, SIM_E_USAGE, "--set", "copy the figure's files, and change \"seeds\" of its study",
                              "the studies of a figure have their own seeds");
    return 0;
}

/* Marks a figure that settings change, in its id and title, so that its results stand beside those of the other. */
static int mark_changed(struct figure_work *work, struct diag *diag)
{
    struct arena *arena = &work->arena;
    struct figure *figure = &work->figure;
    const char *what = "";
    for (size_t i = 0; what != NULL && i < work->n_settings; i++)
        what = arena_printf(arena, "%s%s%s", what, i > 0 ? ", " : "", work->settings[i]);
    if (what != NULL) figure->title = arena_printf(arena, "Changed by %s: %s", what, figure->title);
    figure->id = arena_printf(arena, "%s-changed", figure->id);
    figure->tolerances = TOLERANCES_OF_ANOTHER;
    for (size_t i = 0; i < figure->studies.n; i++) {
        const struct figure_study *study = FIGURE_ITEM(struct figure_study, figure->studies, i);
        if (!figure_study_is_made(study)) continue;
        return diag_error(diag, SIM_E_USAGE, "--set", "copy its files, and change these",
                          "'%s' of the figure has no scenario that settings could change", study->path);
    }
    return what != NULL && figure->title != NULL && figure->id != NULL ? 0 : diag_nomem(diag);
}

int figure_work_load(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                     struct diag *diag)
{
    *work = (struct figure_work){
        .data_folder = options->data, .n_settings = options->n_settings, .settings = options->settings};
    arena_init(&work->arena);
    int code = figure_load(file->id, file->path, options->data, &work->arena, &work->figure, diag);
    if (code == 0) code = check_seeds(work, diag);
    if (code == 0 && work->n_settings > 0) code = mark_changed(work, diag);
    return code == 0 ? name_databases(work, options, diag) : code;
}

static const struct figure_study *study_at(const struct figure_work *work, size_t index)
{
    return FIGURE_ITEM(struct figure_study, work->figure.studies, index);
}

static int load_study(struct figure_work *work, size_t index, struct study *study, struct diag *diag)
{
    const struct study_overlay overlay = {.n_settings = work->n_settings, .settings = work->settings};
    const int code = study_load(study_at(work, index)->path, &work->arena, study, diag);
    return code == 0 && overlay.n_settings > 0 ? study_lay(study, &overlay, &work->arena, diag) : code;
}

/* A folder of a figure that has been copied may name a scenario that is not there. */
static int check_scenarios(struct figure_work *work, struct diag *diag)
{
    for (size_t i = 0; i < work->figure.studies.n; i++) {
        struct study study;
        if (figure_study_is_made(study_at(work, i))) continue;
        const int code = load_study(work, i, &study, diag);
        if (code != 0) return code;
        if (!path_is_json(study.scenario) || paths_is_file(study.scenario)) continue;
        return diag_error(diag, SIM_E_IO, study_at(work, i)->path,
                          "relative paths begin at the folder of their file: copy the scenario too, or name one of "
                          "'orrery list scenarios'",
                          "its scenario is not there: %s", study.scenario);
    }
    return 0;
}

int figure_work_refused(struct figure_work *work, struct cli *cli)
{
    int code = 0;
    for (size_t i = 0; code == 0 && work->n_settings > 0 && i < work->figure.studies.n; i++) {
        struct study study;
        if (figure_study_is_made(study_at(work, i))) continue;
        code = load_study(work, i, &study, &cli->diag);
        if (code == 0) code = sweep_refused(cli, &study, &cli->diag);
    }
    return code;
}

/* A result must not replace the figure's own files. */
static int check_output(const struct figure_work *work, const struct figure_file *file, const char *path,
                        struct diag *diag)
{
    struct outputs outputs = {.diag = diag};
    if (path == NULL) return diag_nomem(diag);
    int code = outputs_add(&outputs, "a result below --output", path);
    if (code == 0) code = outputs_check(&outputs, file->path);
    for (size_t i = 0; code == 0 && i < work->figure.studies.n; i++)
        code = outputs_check(&outputs, FIGURE_ITEM(struct figure_study, work->figure.studies, i)->path);
    return code;
}

int figure_work_check(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                      struct diag *diag)
{
    static const char *const kinds[] = {"svg", "gp", "dat"};
    char suffix[24];
    int code = check_scenarios(work, diag);
    if (code == 0) code = check_output(work, file, result_path(work, options, ".md"), diag);
    for (size_t i = 0; code == 0 && i < work->figure.studies.n; i++)
        code = check_output(work, file, work->databases[i], diag);
    for (size_t i = 0; code == 0 && i < work->figure.charts.n; i++)
        for (size_t k = 0; code == 0 && k < (options->gnuplot ? 3 : 1); k++) {
            const char *ending = arena_printf(&work->arena, "%s.%s", chart_suffix(work, i, suffix), kinds[k]);
            code = check_output(work, file, ending != NULL ? result_path(work, options, ending) : NULL, diag);
        }
    return code;
}

void figure_work_fini(struct figure_work *work)
{
    figure_data_fini(&work->data);
    arena_fini(&work->arena);
}

/* --- Studies --- */

/* Whether the file has results of the study in its present form. Returns 0 or SIM_E_NOMEM. */
static int check_current(const char *path, const struct study *study, struct arena *arena, bool *is_current)
{
    struct database database;
    struct query_answer answer;
    *is_current = false;
    if (!paths_is_file(path)) return 0;
    int code = database_open_read(&database, path, NULL);
    if (code == 0) {
        code = query_run(&database, "SELECT hash FROM study", NULL, 0, "read the study", arena, &answer, NULL);
        *is_current = code == 0 && answer.n_rows == 1 && answer.columns[0].texts != NULL &&
                      strcmp(answer.columns[0].texts[0], study->hash) == 0;
        database_close(&database, false);
    }
    return code == SIM_E_NOMEM ? code : 0;
}

/* The hash of a board, of plans or of bandwidths in their present form. */
static int hash_made(struct figure_work *work, const struct figure_study *study, char hash[HASH_HEX_CHARS])
{
    struct board_file board;
    struct plans_file plans;
    struct exchanges_file exchanges;
    int code = 0;
    const char *found = exchanges.hash;
    if (figure_study_is_board(study)) {
        code = board_load(study->path, work->data_folder, &work->arena, &board, NULL);
        found = board.hash;
    } else if (figure_study_is_plans(study)) {
        code = plans_load(study->path, work->data_folder, &work->arena, &plans, NULL);
        found = plans.hash;
    } else
        code = exchanges_load(study->path, &work->arena, &exchanges, NULL);
    if (code == 0) memcpy(hash, found, HASH_HEX_CHARS);
    return code;
}

/* Whether the file has the predictions of what has no scenario in its present form. Returns 0 or a negative code. */
static int check_made(struct figure_work *work, size_t index, bool *is_current)
{
    const struct figure_study *study = study_at(work, index);
    const char *sql = figure_study_is_board(study)   ? "SELECT hash FROM board_source"
                      : figure_study_is_plans(study) ? "SELECT hash FROM plans_source"
                                                     : "SELECT hash FROM exchange_source";
    char hash[HASH_HEX_CHARS];
    struct database database;
    struct query_answer answer;
    *is_current = false;
    if (!paths_is_file(work->databases[index])) return 0;
    int code = hash_made(work, study, hash);
    if (code != 0 || database_open_read(&database, work->databases[index], NULL) != 0) return code;
    code = query_run(&database, sql, NULL, 0, "read the figure's rows", &work->arena, &answer, NULL);
    *is_current = code == 0 && answer.n_rows == 1 && answer.columns[0].texts != NULL &&
                  strcmp(answer.columns[0].texts[0], hash) == 0;
    database_close(&database, false);
    return code == SIM_E_NOMEM ? code : 0;
}

/* Whether the results of all studies of the figure exist and are current. Returns 0 or SIM_E_NOMEM. */
static int check_results(struct figure_work *work, bool *are_current)
{
    int code = 0;
    *are_current = true;
    for (size_t i = 0; *are_current && i < work->figure.studies.n; i++) {
        struct study study;
        const bool is_run = !figure_study_is_made(study_at(work, i));
        if (!is_run) code = check_made(work, i, are_current);
        if (is_run) code = load_study(work, i, &study, NULL);
        if (is_run && code == 0) code = check_current(work->databases[i], &study, &work->arena, are_current);
        *are_current = *are_current && code == 0;
    }
    return code == SIM_E_NOMEM ? code : 0;
}

struct figure_watch {
    FILE *err;
    const char *output;
    bool is_shown, has_line;
    struct sweeping_size size;
};

static void show_progress(void *context, const struct sweep_progress *progress)
{
    struct figure_watch *watch = context;
    sweeping_size_warn(&watch->size, progress);
    if (!watch->is_shown || progress->n_runs == 0) return;
    fprintf(watch->err, "\r\033[K%s: %zu of %zu runs", watch->output, progress->n_done + progress->n_failed,
            progress->n_runs);
    fflush(watch->err);
    watch->has_line = true;
}

static void print_closing_line(const struct figure_watch *watch, const struct sweep_result *result, double wall_s)
{
    answer_print(watch->err, "%s: %zu runs", watch->output, result->n_runs);
    if (result->was_complete) {
        fprintf(watch->err, ", all of them found in it\n");
        return;
    }
    if (result->n_found > 0) fprintf(watch->err, ", %zu of them found from an earlier call", result->n_found);
    fprintf(watch->err, ", in %.2f s\n", wall_s);
}

/* Runs the study into the results database `output`, `in_place` of an earlier one. */
static int run_study(struct cli *cli, const struct study *study, const char *output,
                     const struct figure_study_options *options, bool in_place)
{
    struct sweeping_host host;
    struct sweep_result result = {0};
    struct figure_watch watch = {.err = cli->err, .output = output};
    double started_s = clock_wall_s();
    watch.is_shown = !options->quiet && isatty(fileno(cli->err));
    watch.size = (struct sweeping_size){.err = cli->err, .output = output, .keep = study->keep,
                                        .limit_bytes = options->limit_bytes, .is_shown = watch.is_shown};
    struct sweep_options how = {.output = output, .workers = options->workers, .resume = options->resume,
                                .limit_bytes = options->limit_bytes, .replaces = in_place,
                                .interrupt = cli->interrupt, .on_progress = show_progress, .progress_context = &watch};
    int code = sweeping_init(&host, cli);
    if (code == 0) code = sweep(study, &how, &host.runner, &result, &cli->diag);
    sweeping_fini(&host);
    if (watch.has_line) fprintf(cli->err, "\r\033[K");
    if (code == 0 && !options->quiet) print_closing_line(&watch, &result, clock_wall_s() - started_s);
    return code;
}

/* A call that is resumed may have begun to replace the results of an earlier one. */
static bool replaces(struct figure_work *work, size_t index, const struct figure_study_options *options)
{
    const char *begun = arena_printf(&work->arena, "%s.shards", work->databases[index]);
    return !options->resume || begun == NULL || paths_is_directory(begun);
}

int figure_work_missing(struct figure_work *work, const char **file, const char **obtain, struct diag *diag)
{
    int code = 0;
    *file = *obtain = NULL;
    for (size_t i = 0; *file == NULL && i < work->figure.data.n; i++) {
        const struct figure_file_needed *needed = FIGURE_ITEM(struct figure_file_needed, work->figure.data, i);
        if (paths_is_file(needed->path)) continue;
        *file = needed->path;
        *obtain = needed->obtain;
    }
    for (size_t i = 0; code == 0 && *file == NULL && i < work->figure.studies.n; i++) {
        struct board_file board;
        struct plans_file plans;
        if (figure_study_is_plans(study_at(work, i))) {
            code = plans_load(study_at(work, i)->path, work->data_folder, &work->arena, &plans, diag);
            if (code == 0) *file = plans_missing_file(&plans);
            if (code == 0) *obtain = plans.obtain;
            continue;
        }
        if (!figure_study_is_board(study_at(work, i))) continue;
        code = board_load(study_at(work, i)->path, work->data_folder, &work->arena, &board, diag);
        if (code != 0) continue;
        *file = board_missing_file(&board);
        *obtain = board.obtain;
    }
    return code;
}

int figure_work_simulate(struct figure_work *work, const struct figure_options *options, struct cli *cli)
{
    const char *directory = path_directory(&work->arena, work->databases[0]);
    int code = directory != NULL ? make_directories(&work->arena, directory, &cli->diag) : diag_nomem(&cli->diag);
    for (size_t i = 0; code == 0 && i < work->figure.studies.n; i++) {
        struct study study;
        if (figure_study_is_board(study_at(work, i))) {
            code = figure_board_make(cli, study_at(work, i)->path, work->databases[i], options->study.quiet);
            continue;
        }
        if (figure_study_is_plans(study_at(work, i))) {
            code = figure_plans_make(cli, study_at(work, i)->path, work->databases[i], options->study.quiet);
            continue;
        }
        if (figure_study_is_exchanges(study_at(work, i))) {
            code = figure_exchanges_make(cli, study_at(work, i)->path, work->databases[i], options->study.quiet);
            continue;
        }
        code = load_study(work, i, &study, &cli->diag);
        if (code == 0)
            code = run_study(cli, &study, work->databases[i], &options->study, replaces(work, i, &options->study));
    }
    return code;
}

/* --- Results --- */

int figure_work_read(struct figure_work *work, struct diag *diag)
{
    int code = figure_data_read(&work->figure, work->databases, &work->arena, &work->data, diag);
    return code == 0 ? figure_claims(&work->data, &work->claims, diag) : code;
}

/* --- Documents --- */

static int write_text(const char *path, const struct text *text, struct diag *diag)
{
    struct output *output;
    if (text->failed || path == NULL) return diag_nomem(diag);
    int code = output_open(path, &output, diag);
    if (code != 0) return code;
    text_add_bytes(output_text(output), text->chars, text->length);
    code = output_flush(output, diag);
    int close_code = output_close(output, code != 0, diag);
    return code != 0 ? code : close_code;
}

static int write_chart(struct figure_work *work, size_t index, const struct figure_options *options, struct diag *diag)
{
    char suffix[24];
    struct text svg;
    text_init(&svg);
    int code = figure_chart_svg(&work->data, index, &svg);
    chart_suffix(work, index, suffix);
    const char *ending = arena_printf(&work->arena, "%s.svg", suffix);
    if (code == 0) code = write_text(ending != NULL ? result_path(work, options, ending) : NULL, &svg, diag);
    text_fini(&svg);
    return code;
}

/* Writes the gnuplot script and its data, which it reads from its own directory. */
static int write_gnuplot(struct figure_work *work, size_t index, const struct figure_options *options,
                         struct diag *diag)
{
    char suffix[24];
    struct text script, numbers;
    text_init(&script);
    text_init(&numbers);
    chart_suffix(work, index, suffix);
    char *gp = arena_printf(&work->arena, "%s.gp", suffix), *dat = arena_printf(&work->arena, "%s.dat", suffix);
    char *path = dat != NULL ? result_path(work, options, dat) : NULL;
    int code = gp != NULL && path != NULL ? 0 : diag_nomem(diag);
    if (code == 0) code = figure_chart_gnuplot(&work->data, index, strrchr(path, '/') + 1, &script, &numbers);
    if (code == 0) code = write_text(path, &numbers, diag);
    if (code == 0) code = write_text(result_path(work, options, gp), &script, diag);
    text_fini(&script);
    text_fini(&numbers);
    return code;
}

/* Links to the files of a figure relative to `base`: "PAPER/NAME" for the gallery, "NAME" for the file beside them. */
static int make_links(struct figure_work *work, const char *base, struct diag *diag)
{
    struct arena *arena = &work->arena;
    const struct figure *figure = &work->figure;
    struct figure_link *links = arena_alloc(arena, (figure->charts.n + 2 * figure->studies.n + 1) * sizeof *links);
    char suffix[24];
    size_t n = 0;
    if (links == NULL) return diag_nomem(diag);
    links[n++] = (struct figure_link){"table", arena_printf(arena, "%s.md", base)};
    for (size_t i = 0; i < figure->charts.n; i++) {
        const char *title = FIGURE_ITEM(struct figure_chart, figure->charts, i)->title;
        links[n++] = (struct figure_link){title, arena_printf(arena, "%s%s.svg", base, chart_suffix(work, i, suffix))};
    }
    for (size_t i = 0; i < figure->studies.n; i++) {
        const char *name = strrchr(work->databases[i], '/') + 1, *slash = strrchr(base, '/');
        int length = slash != NULL ? (int)(slash + 1 - base) : 0;
        links[n++] = (struct figure_link){name, arena_printf(arena, "%.*s%s", length, base, name)};
        if (figure_study_is_board(study_at(work, i)))
            links[n++] = (struct figure_link){"every row", arena_printf(arena, "%s.rows.html", base)};
    }
    work->links = links;
    work->n_links = n;
    for (size_t i = 0; i < n; i++)
        if (links[i].target == NULL) return diag_nomem(diag);
    return 0;
}

static struct figure_entry as_entry(const struct figure_work *work)
{
    return (struct figure_entry){&work->data, &work->claims, work->n_links, work->links};
}

static int write_markdown(struct figure_work *work, const struct figure_options *options, struct diag *diag)
{
    const char *slash = strrchr(work->figure.id, '/');
    int code = make_links(work, slash != NULL ? slash + 1 : work->figure.id, diag);
    struct text markdown;
    text_init(&markdown);
    struct figure_entry entry = as_entry(work);
    if (code == 0) figure_markdown(&entry, &markdown);
    if (code == 0) code = write_text(result_path(work, options, ".md"), &markdown, diag);
    text_fini(&markdown);
    return code;
}

/* Writes the page with every row of the figure's board. */
static int write_rows(struct figure_work *work, size_t index, const struct figure_options *options, struct diag *diag)
{
    struct text html;
    text_init(&html);
    int code = figure_board_page(&work->data, index, &html, diag);
    if (code == 0) code = write_text(result_path(work, options, ".rows.html"), &html, diag);
    text_fini(&html);
    return code;
}

int figure_work_write(struct figure_work *work, const struct figure_options *options, struct diag *diag)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < work->figure.charts.n; i++) {
        code = write_chart(work, i, options, diag);
        if (code == 0 && options->gnuplot) code = write_gnuplot(work, i, options, diag);
    }
    for (size_t i = 0; code == 0 && i < work->figure.studies.n; i++)
        if (figure_study_is_board(study_at(work, i))) code = write_rows(work, i, options, diag);
    return code == 0 ? write_markdown(work, options, diag) : code;
}

/* --- The gallery --- */

/* The figures that come with the program, and those of `own`, which replace a figure of their id; sorted by id. */
static int collect_files(struct arena *arena, const struct figure_file *own, size_t n_own, struct figure_files *all,
                         struct diag *diag)
{
    struct figure_files shelf;
    int code = figure_shelf_list(arena, &shelf, diag);
    if (code != 0) return code;
    *all = (struct figure_files){0, arena_alloc(arena, (shelf.n + n_own + 1) * sizeof *all->items)};
    if (all->items == NULL) return diag_nomem(diag);
    for (size_t i = 0; i < n_own; i++) all->items[all->n++] = own[i];
    for (size_t i = 0; i < shelf.n; i++) {
        bool is_own = false;
        for (size_t k = 0; k < n_own; k++) is_own = is_own || strcmp(own[k].id, shelf.items[i].id) == 0;
        if (!is_own) all->items[all->n++] = shelf.items[i];
    }
    qsort(all->items, all->n, sizeof *all->items, figure_file_compare);
    return 0;
}

/* Reads the results of a figure, if they exist. */
static int add_work(struct figure_work *work, const struct figure_file *file, const struct figure_options *options,
                    bool *has_results, struct diag *diag)
{
    int code = figure_work_load(work, file, options, diag);
    *has_results = false;
    if (code == 0 && check_results(work, has_results) != 0) code = diag_nomem(diag);
    if (!*has_results) return code;
    code = figure_work_read(work, diag);
    return code == 0 ? make_links(work, work->figure.id, diag) : code;
}

static int write_page(const struct figure_work *works, size_t n, struct arena *arena,
                      const struct figure_options *options, struct diag *diag)
{
    struct figure_entry *entries = arena_alloc(arena, (n + 1) * sizeof *entries);
    struct text html;
    text_init(&html);
    int code = entries != NULL ? 0 : diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < n; i++) entries[i] = as_entry(&works[i]);
    if (code == 0) code = figure_gallery(entries, n, &html);
    if (code == 0) code = write_text(path_join(arena, options->directory, "index.html"), &html, diag);
    text_fini(&html);
    return code;
}

int figure_work_gallery(const struct figure_file *own, size_t n_own, const struct figure_options *options,
                        struct diag *diag)
{
    struct arena arena;
    struct figure_files files = {0};
    arena_init(&arena);
    int code = make_directories(&arena, options->directory, diag);
    if (code == 0) code = collect_files(&arena, own, n_own, &files, diag);
    struct figure_work *works = arena_alloc(&arena, (files.n + 1) * sizeof *works);
    if (code == 0 && works == NULL) code = diag_nomem(diag);
    size_t n = 0;
    for (size_t i = 0; code == 0 && i < files.n; i++) {
        bool has_results;
        code = add_work(&works[n], &files.items[i], options, &has_results, diag);
        if (has_results || code != 0)
            n++;
        else
            figure_work_fini(&works[n]);
    }
    if (code == 0) code = write_page(works, n, &arena, options, diag);
    for (size_t i = 0; i < n; i++) figure_work_fini(&works[i]);
    arena_fini(&arena);
    return code;
}
