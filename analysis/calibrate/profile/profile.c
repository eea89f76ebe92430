#include "analysis/calibrate/profile/profile_format.h"

#include "models/kernel.h"
#include "sim/core/path.h"
#include "sim/core/text.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(bytes) mem_alloc(bytes)
#define uthash_free(block, bytes) mem_free(block)
#include <uthash.h>

enum { MAX_SET_CHARS = 64 };

const char profile_faster_than_peak[] = "faster than the peak";

/* Data sheets state the peak at a clock that GPUs exceed in short kernels. */
static const double peak_slack = 1.1;

/* No kernel is faster, and no size is larger. */
static const double least_s = 1e-9, max_number = 1e18;

struct profile_group {
    const char *name;
    uint32_t index;
    UT_hash_handle hh;
};

/* --- groups and rows --- */

static int append_group(struct profile_reader *reader, const char *name, uint32_t *index)
{
    struct profile *profile = reader->profile;
    const char **groups = rows_grown(reader->sheet.arena, profile->groups, profile->n_groups, &reader->group_capacity,
                                     sizeof *groups, reader->sheet.diag);
    if (groups == NULL) return SIM_E_NOMEM;
    profile->groups = groups;
    struct profile_group *entry = arena_alloc(reader->sheet.arena, sizeof *entry);
    char *text = arena_strdup(reader->sheet.arena, name);
    if (entry == NULL || text == NULL) return diag_nomem_at(reader->sheet.diag, reader->profile->path);
    *entry = (struct profile_group){.name = text, .index = (uint32_t)profile->n_groups};
    HASH_ADD_KEYPTR(hh, reader->group_index, entry->name, strlen(entry->name), entry);
    if (entry->hh.tbl == NULL) return diag_nomem_at(reader->sheet.diag, reader->profile->path);
    profile->groups[profile->n_groups++] = text;
    *index = entry->index;
    return 0;
}

static int find_group(struct profile_reader *reader, const char *name, uint32_t *index)
{
    struct profile_group *entry = NULL;
    HASH_FIND_STR(reader->group_index, name, entry);
    if (entry == NULL) return append_group(reader, name, index);
    *index = entry->index;
    return 0;
}

int profile_group(struct profile_reader *reader, uint32_t *group, const char *format, ...)
{
    char name[DIAG_WHERE_CHARS];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    return find_group(reader, name, group);
}

static int append_row(struct profile_reader *reader, const struct profile_row *row)
{
    struct profile *profile = reader->profile;
    profile->rows = rows_grown(reader->sheet.arena, profile->rows, profile->n, &reader->row_capacity, sizeof *row,
                               reader->sheet.diag);
    if (profile->rows == NULL) return SIM_E_NOMEM;
    profile->rows[profile->n++] = *row;
    return 0;
}

const char profile_no_shape[] = "no shape";

/* Whether all members of the shape, and the axes that follow from them, are finite. */
static bool has_shape(const struct kernel_call *call)
{
    double axes[KERNEL_MAX_AXES] = {0.0};
    kernel_call_axes(call, axes);
    for (size_t i = 0; i < kernel_class_info(call->class)->n_axes; i++)
        if (!isfinite(axes[i])) return false;
    for (const struct kernel_member *member = kernel_members(call->class); member->name != NULL; member++)
        if (!isfinite(kernel_member_value(call, member))) return false;
    return true;
}

struct kernel_time profile_row_work(const struct profile_row *row)
{
    const struct kernel_class_info *info = kernel_class_info(row->call.class);
    union kernel_params params = {{0.0}};
    for (size_t i = 0; i < info->n_params; i++) params.values[i] = kernel_param_default(&info->params[i]);
    return kernel_call_time(&params, row->gpu, &row->call);
}

/* Why a row is left out; NULL: it is not. */
static const char *reason_to_drop(const struct profile_row *row)
{
    if (!(row->measured_s >= least_s)) return "no time";
    if (!has_shape(&row->call)) return profile_no_shape;
    const struct kernel_time law = profile_row_work(row);
    if (!isfinite(law.seconds)) return "no finite time by the fit of its class";
    const double peak_s = law.flop / gpu_peak_flop_per_s(row->gpu, kernel_call_compute(&row->call));
    return row->measured_s * peak_slack < peak_s ? profile_faster_than_peak : NULL;
}

int profile_add(struct profile_reader *reader, const struct profile_row *row)
{
    struct profile_row kept = *row;
    kept.gpu = reader->options->gpu;
    kept.line = (uint32_t)csv_line(reader->sheet.csv);
    const char *reason = reason_to_drop(&kept);
    if (reason == NULL) return append_row(reader, &kept);
    return profile_drop(reader, reason);
}

int profile_drop(struct profile_reader *reader, const char *reason)
{
    dropped_add(reader->profile->dropped, &reader->profile->n_dropped, reason, 1);
    return 0;
}

/* --- files --- */

static int report_unknown(struct profile_reader *reader, const struct profile_format *const *formats, size_t n)
{
    char where[DIAG_WHERE_CHARS];
    struct text known;
    csv_where(reader->sheet.csv, 0, 0, where);
    text_init(&known);
    for (size_t i = 0; i < n; i++) text_printf(&known, "%s%s", i == 0 ? "known are " : ", ", formats[i]->name);
    const int status = diag_error(reader->sheet.diag, SIM_E_DATA, where, known.chars,
                                  "no known profile has these columns");
    text_fini(&known);
    return status;
}

/* Returns 1 when the file is of this format, 0 when not, or SIM_E_NOMEM. */
static int recognise(struct profile_reader *reader, const struct profile_format *format)
{
    const int status = sheet_choose(&reader->sheet, format->columns, format->n_columns, format->n_required);
    return status > 0 && format->recognise != NULL ? format->recognise(reader) : status;
}

static int read_rows(struct profile_reader *reader, const struct profile_format *format)
{
    struct profile *profile = reader->profile;
    profile->format = format->name;
    profile->set = format->set;
    profile->grouped_by = format->grouped_by;
    int status = format->begin != NULL ? format->begin(reader) : 0;
    while (status == 0 && (status = sheet_next(&reader->sheet)) > 0) status = format->read_row(reader);
    if (status == 0 && format->finish != NULL) format->finish(profile);
    return status;
}

static int read_file(struct profile_reader *reader)
{
#define FORMAT_ADDRESS(name) &profile_##name,
    static const struct profile_format *const formats[] = {PROFILE_FORMATS(FORMAT_ADDRESS)};
#undef FORMAT_ADDRESS
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const int status = recognise(reader, formats[i]);
        if (status == 0) continue;
        if (status > 0 && reader->kernel != NULL && !formats[i]->names_kernels)
            return diag_error(reader->sheet.diag, SIM_E_DATA, reader->profile->path, "leave out '@' and what follows",
                              "%s profiles do not name kernels, so none can be chosen", formats[i]->name);
        return status < 0 ? status : read_rows(reader, formats[i]);
    }
    return report_unknown(reader, formats, sizeof formats / sizeof *formats);
}

int profile_read(const char *path, const struct profile_options *options, struct arena *arena, struct profile *profile,
                 struct diag *diag)
{
    *profile = (struct profile){.path = path};
    struct profile_reader reader = {.sheet = {.arena = arena, .diag = diag, .max = max_number, .empty = (double)NAN},
                                    .options = options, .profile = profile};
    const char *at = strrchr(path, '@'), *file = path;
    if (at != NULL && at[1] != 0 && strchr(at, '/') == NULL && access(path, F_OK) != 0) {
        file = arena_printf(arena, "%.*s", (int)(at - path), path);
        reader.kernel = at + 1;
        if (file == NULL) return diag_nomem(diag);
    }
    int status = file_hash(file, profile->hash, diag);
    if (status == 0) status = sheet_open(&reader.sheet, file);
    if (status == 0) status = read_file(&reader);
    if (status == 0 && reader.kernel != NULL && !reader.has_kernel)
        status = diag_error(diag, SIM_E_DATA, file, "the column kernel_source names those that it has",
                            "has no rows of kernel '%s'", reader.kernel);
    HASH_CLEAR(hh, reader.group_index);
    sheet_close(&reader.sheet);
    return status;
}

bool profile_is_set_name(const char *chars, size_t n_chars)
{
    if (n_chars == 0 || n_chars > MAX_SET_CHARS) return false;
    for (size_t i = 0; i < n_chars; i++)
        if (isalnum((unsigned char)chars[i]) == 0 && (chars[i] == 0 || strchr("_.-", chars[i]) == NULL)) return false;
    return true;
}

/* --- several profiles as one --- */

static int join_rows(struct profile_reader *reader, const struct profile *from)
{
    for (size_t i = 0; i < from->n; i++) {
        struct profile_row row = from->rows[i];
        int status = find_group(reader, from->groups[row.group], &row.group);
        if (status == 0) status = append_row(reader, &row);
        if (status < 0) return status;
    }
    for (size_t i = 0; i < from->n_dropped; i++)
        dropped_add(reader->profile->dropped, &reader->profile->n_dropped, from->dropped[i].reason,
                    from->dropped[i].rows);
    return 0;
}

int profile_join(const struct profile *profiles, size_t n, struct arena *arena, struct profile *joined,
                 struct diag *diag)
{
    *joined = (struct profile){0};
    if (n == 0) return 0;
    *joined = (struct profile){.format = profiles->format, .set = profiles->set, .grouped_by = profiles->grouped_by};
    struct profile_reader reader = {.sheet = {.arena = arena, .diag = diag}, .profile = joined};
    int status = 0;
    for (size_t i = 0; status == 0 && i < n; i++) status = join_rows(&reader, &profiles[i]);
    HASH_CLEAR(hh, reader.group_index);
    return status;
}

enum { GPUS_PER_NODE = 8, MAX_TENSOR = 1024 };

/* --- LLMs --- */

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Whether `text` contains `word` in any case, with no letter or digit on either side. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; *at != '\0'; at++) {
        if (strncasecmp(at, word, n) != 0 || is_word_char(at[n])) continue;
        if (at == text || !is_word_char(at[-1])) return true;
    }
    return false;
}

/* The N of a word "tpN" in the file's name, else 1. */
static int64_t tensor_of_name(const char *name)
{
    for (const char *at = strstr(name, "tp"); at != NULL; at = strstr(at + 2, "tp")) {
        const bool starts_word = at == name || !is_word_char(at[-1]);
        if (starts_word && isdigit((unsigned char)at[2])) return strtol(at + 2, NULL, 10);
    }
    return 1;
}

/* The longest name of the catalog that the file's name contains; NULL without one. */
static int llm_of_name(struct profile_reader *reader, const char **llm)
{
    struct catalog_names names;
    const int status = catalog_list_llms(reader->options->catalog, reader->sheet.arena, &names, reader->sheet.diag);
    *llm = NULL;
    for (size_t i = 0; status == 0 && i < names.n; i++) {
        const bool longer = *llm == NULL || strlen(names.names[i]) > strlen(*llm);
        if (longer && has_word(path_name(reader->profile->path), names.names[i])) *llm = names.names[i];
    }
    return status;
}

static int set_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor)
{
    const char *problem = tensor < 1 || tensor > MAX_TENSOR ? "no such tensor-parallel degree"
                                                            : llm_parallel_problem(&llm->spec, tensor, 1);
    if (problem != NULL)
        return diag_error(reader->sheet.diag, SIM_E_CONFIG, reader->profile->path, NULL, "'%s' split %lld ways: %s",
                          llm->spec.name, (long long)tensor, problem);
    llm->split = (struct llm_split){.tensor = tensor, .pipeline = 1, .expert = 1, .samples = true,
                                    .gpus_per_node = GPUS_PER_NODE};
    llm->shard = llm_shard(&llm->spec, tensor, 1);
    return 0;
}

int profile_llm_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor)
{
    reader->profile->uses_tensor_parallel = false;
    return set_split(reader, llm, tensor);
}

int profile_llm_find(struct profile_reader *reader, struct profile_llm *llm)
{
    const struct profile_options *options = reader->options;
    const char *path = reader->profile->path, *name = options->llm;
    *llm = (struct profile_llm){.gpu = options->gpu};
    int status = name != NULL ? 0 : llm_of_name(reader, &name);
    if (status == 0 && name == NULL)
        status = diag_error(reader->sheet.diag, SIM_E_CONFIG, path, "name it with --llm; `orrery list llms` shows all",
                            "the file's name contains no LLM of the catalog");
    if (status == 0)
        status = catalog_llm(options->catalog, name, path, reader->sheet.arena, &llm->spec, reader->sheet.diag);
    if (status < 0) return status;
    const int64_t tensor = options->tensor_parallel;
    reader->profile->uses_llm = reader->profile->uses_tensor_parallel = true;
    return set_split(reader, llm, tensor > 0 ? tensor : tensor_of_name(path_name(path)));
}

bool profile_llm_call(const struct profile_llm *llm, enum llm_operator op, int64_t tokens, struct kernel_call *call)
{
    const struct iteration_work prompt = {
        .prefill_sequences = 1, .prefill_tokens = tokens, .prefill_pairs = (double)tokens * (double)tokens};
    const struct iteration_work decodes = {.decode_sequences = tokens, .decode_context_tokens = tokens};
    const bool by_sequence = op == OP_HEAD || op == OP_SAMPLING || op == OP_DECODE_ATTENTION;
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(&llm->spec, &llm->split, llm->gpu, by_sequence ? &decodes : &prompt, uses);
    for (size_t i = 0; i < n; i++) {
        if (uses[i].op != op) continue;
        *call = uses[i].call;
        return true;
    }
    return false;
}

/* --- Attention --- */

const char profile_faster_than_memory[] = "faster than the memory";

int profile_add_prefill(struct profile_reader *reader, const struct profile_heads *heads,
                        const struct profile_chunks *chunks, double seconds)
{
    const struct prefill_shape shape = {
        .sequences = chunks->n, .tokens = chunks->n * chunks->tokens, .past = chunks->n * chunks->past,
        .pairs = chunks->n * chunks->tokens * (chunks->tokens + 2.0 * chunks->past), .decodes = chunks->decodes.n,
        .decode_context = chunks->decodes.context, .decode_longest = chunks->decodes.longest, .q_heads = heads->query,
        .kv_heads = heads->kv, .key_dim = heads->dim, .value_dim = heads->dim, .kv = heads->kv_format,
        .compute = heads->compute, .full = chunks->full, .writes_kv = heads->writes_kv};
    struct profile_row row = {.call = {.class = KERNEL_PREFILL_ATTENTION, .shape.prefill = shape},
                              .op = chunks->decodes.n > 0.0 ? OP_MIXED_ATTENTION : OP_PREFILL_ATTENTION,
                              .measured_s = seconds, .tokens = shape.tokens};
    const int status = profile_group(reader, &row.group, "%g/%g heads", heads->query, heads->kv);
    return status == 0 ? profile_add(reader, &row) : status;
}

int profile_add_decode(struct profile_reader *reader, const struct profile_heads *heads,
                       const struct profile_decodes *decodes, double seconds)
{
    const struct decode_shape shape = {
        .sequences = decodes->n, .context = decodes->context, .longest = decodes->longest, .q_heads = heads->query,
        .kv_heads = heads->kv, .key_dim = heads->dim, .value_dim = heads->dim, .kv = heads->kv_format,
        .compute = heads->compute, .window = decodes->window, .writes_kv = heads->writes_kv};
    const double seen = decodes->window > 0.0 ? fmin(decodes->context, decodes->window) : decodes->context;
    struct profile_row row = {.call = {.class = KERNEL_DECODE_ATTENTION, .shape.decode = shape},
                              .op = OP_DECODE_ATTENTION, .measured_s = seconds, .tokens = decodes->n};
    const double kv_bytes = 2.0 * decodes->n * seen * heads->kv * heads->dim *
                            number_format_bytes(heads->kv_format);
    if (seconds > 0.0 && kv_bytes > seconds * reader->options->gpu->memory_bytes_per_s)
        return profile_drop(reader, profile_faster_than_memory);
    const int status = profile_group(reader, &row.group, "%g/%g heads", heads->query, heads->kv);
    return status == 0 ? profile_add(reader, &row) : status;
}
