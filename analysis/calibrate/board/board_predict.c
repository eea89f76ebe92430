/* Predicting the rows of a board.
 *
 * Keys and values are as the LLM's file says; TensorRT-LLM stores them in fp8 beside narrower weights, as in the rows
 * that its preset was fitted to. Of a mixture of experts the format of the experts counts, which are most of its
 * weights. Attention data-parallel over GPUs that share their experts is predicted and not judged. So are LLMs with
 * linear or sparse attention, whose kernels were never measured, or with chunks. */
#include "analysis/calibrate/board/board_left_out.h"
#include "analysis/calibrate/board/board_names.h"

#include "sim/catalog/calibration.h"
#include "sim/catalog/cost.h"
#include "sim/core/path.h"

#include <math.h>
#include <string.h>

enum { MOST_GPUS = 8 }; /* of a node */

struct predictor {
    struct board *board;
    struct board_names names;
    struct engine_replicas replicas;
    struct config_variant roofline;
    struct diag *diag;
};

static bool is_aggregated(const struct board_row *row)
{
    return strcmp(row->mode, "agg") == 0;
}

bool board_row_is_judged(const struct board_row *row)
{
    return is_aggregated(row) && row->first_copy && row->suspect == NULL && row->reason == NULL &&
           row->asked.data_parallel <= 1 && !row->unmeasured;
}

const char *board_fit_name(enum board_fit in_fit)
{
    static const char *const words[N_BOARD_FITS] = {"none", "group", "row"};
    return words[in_fit];
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* --- Suspicions --- */

static bool fits(const struct board_which *which, const struct board_row *row)
{
    const char *const texts[][2] = {{which->gpu, row->gpu},         {which->llm, row->llm},      {which->engine, row->engine},
                                    {which->version, row->version}, {which->format, row->gemm}, {which->mode, row->mode}};
    const char *const starts[][2] = {{which->origin, row->origin}, {which->measured, row->measured}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][0] != NULL && (texts[i][1] == NULL || strcmp(texts[i][0], texts[i][1]) != 0)) return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (starts[i][0] != NULL && !begins(starts[i][1], starts[i][0])) return false;
    return which->tensor == 0.0 || which->tensor == row->tensor;
}

/* The sizes of rows that the source multiplied are read from their copies, and sure. */
static const char *suspicion(const struct board_file *file, const struct board_row *row, struct arena *arena)
{
    const struct board_suspect *suspects = file->suspects.items;
    for (size_t i = 0; i < file->suspects.n; i++)
        if (fits(&suspects[i].which, row)) return suspects[i].because;
    if (row->in_progress) return "the source marks it as work in progress";
    if (*row->sizes_note != 0 && strcmp(row->sizes_note, "multiplied") != 0)
        return arena_printf(arena, "sizes: %s", row->sizes_note);
    if (isnan(row->users) && is_aggregated(row)) return "concurrency not stated: users by the batch size";
    return NULL;
}

/* --- What is asked of the predictor --- */

static const char *no_entry(struct predictor *predictor, const char *what, const char *name)
{
    const char *text = arena_printf(predictor->board->arena, "the catalog has no %s '%s'", what, name);
    return text != NULL ? text : "out of memory";
}

static const char *no_llm(struct predictor *predictor, const struct board_row *row)
{
    const struct board_lack *lacks = predictor->board->file->lacks.items;
    for (size_t i = 0; i < predictor->board->file->lacks.n; i++)
        if (strcmp(lacks[i].llm, row->model) == 0) return lacks[i].because;
    return no_entry(predictor, "LLM", row->model);
}

/* Of a replica. Where the concurrency is not stated, the size of the batch stands in for it. */
static double users_of(const struct board_row *row)
{
    if (!is_aggregated(row)) return row->users / row->workers;
    return isnan(row->users) ? row->batch * row->data : row->users;
}

/* Groups of GPUs with sequences of their own that share the experts. Without experts they are replicas. */
static double common_groups(const struct board_row *row, const struct llm_spec *llm)
{
    return llm->experts > 0 ? row->data : 1.0;
}

/* Why no law describes the sizes of the row; NULL: one does. */
static const char *size_problem(const struct board_row *row, const struct gpu_spec *gpu, const struct llm_spec *llm)
{
    if (!is_aggregated(row) && isnan(row->workers)) return "disaggregated: number of replicas not stated";
    if (isnan(users_of(row)) || isnan(row->tensor) || isnan(row->data) || isnan(row->expert)) return "sizes not stated";
    if (isnan(row->prompt_tokens) || isnan(row->output_tokens)) return "lengths not stated";
    if (!(row->tpot_s > 0.0)) return "no TPOT was measured";
    if (row->pipeline > 1.0) return "pipeline-parallel";
    if (row->tensor * common_groups(row, llm) > fmax(MOST_GPUS, (double)gpu->nvlink_gpus))
        return "more GPUs than a node has";
    return NULL;
}

/* The format of the weights as they ran. Of a checkpoint with a scale per block, tables also say "fp8". Returns the
 * reason why it is unknown, or NULL. */
static const char *read_formats(struct predictor *predictor, struct board_row *row, const struct llm_spec *llm)
{
    const char *name = llm->experts > 0 && *row->moe != 0 ? row->moe : row->gemm;
    row->asked.weights = llm->weights;
    row->asked.kv = llm->kv;
    if (*name != 0 && !board_format(name, &row->asked.weights)) return no_entry(predictor, "number format", name);
    if (row->asked.weights == FORMAT_FP8 && llm->weights == FORMAT_FP8_BLOCK) row->asked.weights = FORMAT_FP8_BLOCK;
    if (*name != 0 && strcmp(row->engine, "trtllm") == 0) row->asked.kv = FORMAT_FP8;
    return NULL;
}

/* The entry that counts for the row; NULL: none fits it. */
static const struct board_run *find_run(const struct board_file *file, const struct board_row *row)
{
    const struct board_run *runs = file->runs.items, *run = NULL;
    for (size_t i = 0; i < file->runs.n; i++)
        if (fits(&runs[i].which, row)) run = &runs[i];
    return run;
}

/* How the row ran, as its source says. */
static void read_run(const struct predictor *predictor, struct board_row *row)
{
    const struct board_run *run = find_run(predictor->board->file, row);
    if (run == NULL) return;
    row->asked.memory_frac = run->memory_frac;
    row->asked.experts = run->experts;
    if (run->all_to_all && row->expert > 1.0 && row->data > 1.0) row->asked.dispatch = DISPATCH_ALL_TO_ALL;
    if (run->kv != NULL) (void)board_format(run->kv, &row->asked.kv); /* board_load has checked it */
}

/* The users, lengths and batching of the row. Returns the reason why they are unknown, or NULL. */
static const char *read_loop(struct predictor *predictor, struct board_row *row, const struct llm_spec *llm)
{
    const struct board_lengths *lengths = predictor->board->file->lengths.items;
    struct closed_loop *loop = &row->asked.loop;
    double frac = 1.0;
    for (size_t i = 0; i < predictor->board->file->lengths.n; i++)
        if (begins(row->origin, lengths[i].origin)) frac = lengths[i].mean_frac;
    const double groups = common_groups(row, llm);
    loop->users = (int64_t)ceil(users_of(row) / row->data * groups);
    loop->decode_only = !is_aggregated(row);
    loop->prompt_tokens = (int64_t)fmax(1.0, rint(frac * row->prompt_tokens));
    loop->output_tokens = (int64_t)fmax(2.0, rint(frac * row->output_tokens));
    if (!measured_loop_rules(row->engine, loop)) return no_entry(predictor, "rule of batching for", row->engine);
    loop->batch_tokens *= (int64_t)groups; /* each group has a scheduler of its own */
    if (frac != 1.0) row->note = arena_printf(predictor->board->arena, "lengths %g of the nominal ones", frac);
    return NULL;
}

/* Says which version's preset stands in for the row's. */
static void note_version(struct predictor *predictor, struct board_row *row)
{
    const char *dash = strchr(row->preset, '-');
    const size_t n = dash != NULL ? strlen(dash + 1) : 0;
    if (n > 0 && strncmp(row->version, dash + 1, n) == 0 && (row->version[n] == '.' || row->version[n] == 0)) return;
    row->note = arena_printf(predictor->board->arena, "%s%sversion %s by preset %s", row->note != NULL ? row->note : "",
                             row->note != NULL ? "; " : "", *row->version != 0 ? row->version : "not stated",
                             row->preset);
}

/* Fills row->asked, or row->reason. Returns 0 or a negative code. */
static int resolve(struct predictor *predictor, struct board_row *row, const struct board_name **gpu,
                   const struct board_name **llm, struct board_preset **preset)
{
    struct arena *arena = predictor->board->arena;
    int code = board_names_gpu(&predictor->names, row->gpu, gpu);
    if (code == 0) code = board_names_llm(&predictor->names, row->model, llm);
    if (code != 0) return diag_nomem(predictor->diag);
    code = board_names_preset(&predictor->names, row->engine, row->version, preset, predictor->diag);
    if (code != 0) return code;
    if ((*llm)->known) row->llm = (*llm)->llm.name;
    row->group = arena_printf(arena, "%s, %s, %s", row->gpu, row->llm != NULL ? row->llm : row->model, row->engine);
    row->suspect = suspicion(predictor->board->file, row, arena);
    if (row->group == NULL) return diag_nomem(predictor->diag);
    if (!(*gpu)->known) row->reason = no_entry(predictor, "GPU", row->gpu);
    if (row->reason == NULL && !(*llm)->known) row->reason = no_llm(predictor, row);
    if (row->reason == NULL && *preset == NULL) row->reason = no_entry(predictor, "engine", row->engine);
    if (row->reason == NULL) row->reason = size_problem(row, &(*gpu)->gpu, &(*llm)->llm);
    if (row->reason == NULL) row->unmeasured = llm_is_unmeasured_kind(&(*llm)->llm);
    if (row->reason == NULL) row->reason = read_formats(predictor, row, &(*llm)->llm);
    if (row->reason == NULL) read_run(predictor, row);
    if (row->reason == NULL) row->reason = read_loop(predictor, row, &(*llm)->llm);
    if (row->reason != NULL) return 0;
    row->preset = (*preset)->preset.name;
    row->overlapped = (*preset)->preset.overlapped_host;
    row->asked.kind = MEASURED_TPOT;
    row->asked.engine = row->preset;
    row->asked.gpu = row->gpu;
    row->asked.llm = row->llm;
    const double groups = common_groups(row, &(*llm)->llm);
    row->asked.tensor_parallel = (int64_t)(row->tensor * groups);
    row->asked.data_parallel = groups > 1.0 ? (int64_t)groups : 0;
    row->asked.expert_parallel = row->expert > 1.0 ? (int64_t)row->expert : 0;
    row->asked.measured_s = row->tpot_s;
    row->asked.group = row->llm;
    note_version(predictor, row);
    return 0;
}

/* --- In a fit or in none --- */

/* Times of the two tables differ by rounding. */
static bool is_same(const struct measured_row *a, const struct measured_row *b)
{
    return a->kind == b->kind && strcmp(a->engine, b->engine) == 0 && strcmp(a->gpu, b->gpu) == 0 &&
           strcmp(a->llm, b->llm) == 0 && a->weights == b->weights && a->tensor_parallel == b->tensor_parallel &&
           a->loop.users == b->loop.users && a->loop.prompt_tokens == b->loop.prompt_tokens &&
           a->loop.output_tokens == b->loop.output_tokens && fabs(a->measured_s / b->measured_s - 1.0) < 1e-4;
}

static bool is_fitted(const struct board_preset *preset, const struct measured_row *asked)
{
    for (size_t f = 0; f < preset->n_files; f++)
        for (size_t i = 0; i < preset->files[f].n; i++) {
            const struct measured_row *row = &preset->files[f].rows[i];
            if (row->fit && row->kind == MEASURED_TPOT && is_same(row, asked)) return true;
        }
    return false;
}

/* Whether a fit has used rows of the group. */
static bool group_is_fitted(const struct board_names *names, const struct board_row *row)
{
    for (const struct board_preset *preset = names->presets; preset != NULL; preset = preset->next)
        if (begins(preset->preset.name, row->engine) && board_group_is_fitted(preset, row->gpu, row->llm)) return true;
    return false;
}

static enum board_fit fit_of(const struct board_names *names, const struct board_row *row)
{
    if (row->llm == NULL) return BOARD_IN_NO_FIT;
    for (const struct board_preset *preset = names->presets; preset != NULL; preset = preset->next)
        if (row->reason == NULL && strcmp(preset->preset.name, row->preset) == 0 && is_fitted(preset, &row->asked))
            return BOARD_ROW_IN_FIT;
    return group_is_fitted(names, row) ? BOARD_GROUP_IN_FIT : BOARD_IN_NO_FIT;
}

/* --- Roofline and bound --- */

static double model_s(const void *context, const struct iteration_work *work)
{
    struct iteration_cost cost;
    const struct iteration_model *model = context;
    model->cost(model->model, work, &cost);
    return cost.first_s;
}

/* TPOT by the cost kind "roofline" with its defaults; NAN where it does not know the LLM. */
static int set_roofline(struct predictor *predictor, struct board_row *row, const struct gpu_spec *gpu,
                        const struct llm_spec *llm)
{
    struct diag ignored = {0};
    struct iteration_model model;
    struct closed_loop_times times;
    const struct cost_request request = {.catalog = predictor->board->catalog, .gpu = gpu, .llm = llm,
                                         .tensor_parallel = row->asked.tensor_parallel, .pipeline_parallel = 1,
                                         .where = "board", .arena = predictor->board->arena, .diag = &ignored};
    const int code = cost_build(&predictor->roofline, &request, &model);
    if (code != 0) return code == SIM_E_NOMEM ? code : 0;
    if (closed_loop_run(&row->asked.loop, model_s, &model, &times) != 0) return SIM_E_NOMEM;
    row->roofline_tpot_s = times.tpot_s;
    return 0;
}

/* The least time of a token that no engine undercuts without writing several tokens at once: all GPUs of a replica
 * read their weights, and the keys of the shortest contexts, at the full bandwidth. */
static double bound_s(const struct board_row *row, const struct gpu_spec *gpu, const struct llm_spec *llm)
{
    const struct closed_loop *loop = &row->asked.loop;
    const double keys = llm_kv_bytes_per_token(llm) * (double)loop->users * (double)loop->prompt_tokens;
    return (llm_read_bytes(llm, loop->users) + keys) / (gpu->memory_bytes_per_s * (double)row->asked.tensor_parallel);
}

static int set_baselines(struct predictor *predictor, struct board_row *row, const struct gpu_spec *gpu,
                         const struct llm_spec *known)
{
    struct llm_spec llm = *known;
    if (llm.weights != row->asked.weights) llm_set_weights(&llm, row->asked.weights);
    llm.kv = row->asked.kv;
    row->bound_tpot_s = bound_s(row, gpu, &llm);
    if (row->suspect == NULL && row->tpot_s < row->bound_tpot_s)
        row->suspect = "faster than memory can be read for each token: several tokens at once (speculation)";
    return set_roofline(predictor, row, gpu, &llm);
}

/* --- Rows --- */

/* An error of the predictor about a row is its reason; the text is the first finding. */
static int take_reason(struct predictor *predictor, struct board_row *row, int code, const struct diag *finding)
{
    if (code != SIM_E_CONFIG && code != SIM_E_UNFIT) {
        if (finding->n_items > 0)
            diag_error(predictor->diag, code, finding->items[0].where, NULL, "%s", finding->items[0].text);
        return code;
    }
    row->reason = arena_strdup(predictor->board->arena,
                               finding->n_items > 0 ? finding->items[0].text : "no prediction");
    return row->reason != NULL ? 0 : diag_nomem(predictor->diag);
}

static int predict(struct predictor *predictor, struct board_row *row)
{
    const struct board_name *gpu = NULL, *llm = NULL;
    struct board_preset *preset = NULL;
    struct diag finding;
    diag_init(&finding);
    row->predicted_ttft_s = row->predicted_tpot_s = row->left_out_tpot_s = row->roofline_tpot_s = (double)NAN;
    row->bound_tpot_s = (double)NAN;
    int code = resolve(predictor, row, &gpu, &llm, &preset);
    if (code != 0) return code;
    if (row->reason == NULL) {
        code = engine_point_init(&predictor->replicas, &preset->preset, &row->asked, &row->point, &finding);
        if (code != 0) code = take_reason(predictor, row, code, &finding);
    }
    if (code != 0 || row->reason != NULL) return code;
    row->foreign = !engine_preset_measured_on(&preset->preset, row->gpu);
    row->predicted_tpot_s = engine_point_s(&preset->preset, &row->point);
    row->predicted_ttft_s = engine_point_ttft_s(&preset->preset, &row->point);
    return set_baselines(predictor, row, &gpu->gpu, &llm->llm) == 0 ? 0 : diag_nomem(predictor->diag);
}

/* --- The roofline of scenarios --- */

struct roofline_holder {
    struct config_variant cost;
};

static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    (void)context;
    return strcmp(family, "cost") == 0 && cost_alternative(index, out);
}

/* The cost kind with the defaults that a scenario gets. */
static int make_roofline(struct predictor *predictor)
{
    static const struct config_field fields[] = {
        {.name = "cost", .kind = CONFIG_VARIANT, .flags = CONFIG_SHORT,
         .offset = offsetof(struct roofline_holder, cost), .value = "roofline", .family = "cost", .tag = "kind"},
        {0}};
    static const struct config_families families = {.alternative = alternative};
    struct roofline_holder holder;
    struct config *config;
    int code = config_parse("roofline", ".", "{}", 2, &config, predictor->diag);
    if (code == 0)
        code = config_bind(config, fields, &families, predictor->board->arena, &holder, sizeof holder, predictor->diag);
    config_destroy(config);
    if (code == 0) predictor->roofline = holder.cost;
    return code;
}

/* The set of experts that a run names must be one of a GPU whose rows it may fit. */
static int check_runs(const struct board *board, struct diag *diag)
{
    const struct board_run *runs = board->file->runs.items;
    const struct board_table *tables = board->file->tables.items;
    int code = 0;
    for (size_t i = 0; i < board->file->runs.n; i++)
        for (size_t k = 0; code == 0 && runs[i].experts != NULL && k < board->file->tables.n; k++) {
            const struct calibration_request request = {.gpu = tables[k].gpu, .kernels = runs[i].experts,
                                                        .collectives = runs[i].experts, .where = board->file->path,
                                                        .sets_where = board->file->path};
            struct calibration calibration;
            const bool is_of = runs[i].which.gpu == NULL || strcmp(runs[i].which.gpu, tables[k].gpu) == 0;
            if (is_of) code = calibration_read(board->catalog, &request, board->arena, &calibration, diag);
        }
    return code;
}

/* --- Entries without effect --- */

/* Whether the i-th entry of a list fits a row. */
typedef bool fits_fn(const struct board_file *file, size_t i, const struct board_row *row);

static bool run_fits(const struct board_file *file, size_t i, const struct board_row *row)
{
    return fits(&((const struct board_run *)file->runs.items)[i].which, row);
}

static bool suspect_fits(const struct board_file *file, size_t i, const struct board_row *row)
{
    return fits(&((const struct board_suspect *)file->suspects.items)[i].which, row);
}

static bool lengths_fit(const struct board_file *file, size_t i, const struct board_row *row)
{
    return begins(row->origin, ((const struct board_lengths *)file->lengths.items)[i].origin);
}

/* Of an LLM that the catalog has, nothing is lacking. */
static bool lack_fits(const struct board_file *file, size_t i, const struct board_row *row)
{
    return row->llm == NULL && strcmp(row->model, ((const struct board_lack *)file->lacks.items)[i].llm) == 0;
}

/* A list of the file, where several entries fit a row the last or the first of which counts. */
struct entries {
    const struct config_list *list;
    fits_fn *fits;
    bool last_counts;
};

/* Whether another entry counts for the row, which the i-th fits. */
static bool is_shadowed(const struct board_file *file, const struct entries *entries, size_t i,
                        const struct board_row *row)
{
    const size_t from = entries->last_counts ? i + 1 : 0, end = entries->last_counts ? entries->list->n : i;
    for (size_t k = from; k < end; k++)
        if (entries->fits(file, k, row)) return true;
    return false;
}

static void warn_if_idle(const struct board *board, const struct entries *entries, size_t i, const char *where,
                         struct diag *diag)
{
    const char *hint = "names of GPUs and LLMs are those of the catalog, all others as in the tables";
    for (size_t k = 0; k < board->n; k++) {
        if (!entries->fits(board->file, i, &board->rows[k])) continue;
        if (!is_shadowed(board->file, entries, i, &board->rows[k])) return;
        hint = entries->last_counts ? "a later entry fits all its rows" : "an earlier entry fits all its rows";
    }
    diag_warning(diag, where, hint, "this entry counts for no row");
}

static void warn_of_idle_entries(const struct board *board, struct diag *diag)
{
    const struct board_file *file = board->file;
    const struct board_run *runs = file->runs.items;
    const struct board_suspect *suspects = file->suspects.items;
    const struct board_lengths *lengths = file->lengths.items;
    const struct board_lack *lacks = file->lacks.items;
    const struct entries of_runs = {&file->runs, run_fits, true}, of_suspects = {&file->suspects, suspect_fits, false},
                         of_lengths = {&file->lengths, lengths_fit, true}, of_lacks = {&file->lacks, lack_fits, false};
    for (size_t i = 0; i < file->runs.n; i++) warn_if_idle(board, &of_runs, i, runs[i].which.where, diag);
    for (size_t i = 0; i < file->suspects.n; i++) warn_if_idle(board, &of_suspects, i, suspects[i].which.where, diag);
    for (size_t i = 0; i < file->lengths.n; i++) warn_if_idle(board, &of_lengths, i, lengths[i].where, diag);
    for (size_t i = 0; i < file->lacks.n; i++) warn_if_idle(board, &of_lacks, i, lacks[i].where, diag);
}

int board_predict(struct board *board, struct diag *diag)
{
    struct predictor predictor = {.board = board, .diag = diag};
    const struct board_table *tables = board->file->tables.items;
    const char *directory = path_directory(board->arena, tables[0].path);
    if (directory == NULL) return diag_nomem(diag);
    engine_replicas_init(&predictor.replicas, board->catalog, board->arena);
    int code = check_runs(board, diag);
    if (code == 0) code = board_names_init(&predictor.names, board->catalog, board->arena, directory, diag);
    if (code == 0) code = make_roofline(&predictor);
    for (size_t i = 0; code == 0 && i < board->n; i++) code = predict(&predictor, &board->rows[i]);
    if (code == 0 && board_find_contradictions(board) != 0) code = diag_nomem(diag);
    for (size_t i = 0; code == 0 && i < board->n; i++)
        board->rows[i].in_fit = fit_of(&predictor.names, &board->rows[i]);
    if (code == 0) warn_of_idle_entries(board, diag);
    return code == 0 ? board_leave_out(board, &predictor.names, diag) : code;
}
