/* Gavel's measured throughputs of training jobs (stanford-futuredata/gavel, scheduler/simulation_throughputs.json):
 *
 *     {"v100": {"('LM (batch size 5)', 1)": {"null": 9.1, "('A3C', 1)": [8.5, 2.2], ...}, ...}, "p100": ...}
 *
 * A type of jobs is a model with a batch size, and a number of workers, of which each has a GPU. "null" has its steps/s
 * alone. A pair has the steps/s of both on the same GPUs; two zeros cannot share. Speeds here are relative to those
 * alone on a GPU of reference. A pair that was measured faster than alone counts as fast as alone.
 *
 * Types are called "lm-5" and, with two workers, "lm-5-x2". Types without a speed on the GPU of reference are left out.
 * Speeds of workers on several nodes ("v100_unconsolidated") are not read. */
#include "traces/formats/job_profiles.h"

#include "sim/core/json_doc.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entry of "gpus". */
struct gpu_name {
    const char *of_file, *gpu;
};

struct gavel_params {
    const char *path, *reference;
    struct config_list gpus; /* struct gpu_name */
};

struct gavel_file {
    const struct gavel_params *params;
    const struct json_node *root, *reference;
    struct arena *arena;
    struct diag *diag;
};

static const struct gpu_name *gpu_at(const struct gavel_file *file, size_t i)
{
    return (const struct gpu_name *)file->params->gpus.items + i;
}

static int data_error(const struct gavel_file *file, const struct json_node *node, const char *problem)
{
    char where[DIAG_WHERE_CHARS];
    return diag_error(file->diag, SIM_E_DATA, json_where(node, where, sizeof where), NULL, "%s", problem);
}

/* Writes a model's name in small letters, with '-' for all but letters and digits: "LM (batch size 5)" as "lm-5". */
static void shorten(char *text)
{
    static const char batch[] = "batch-size-";
    size_t n = 0;
    for (const char *at = text; *at != 0; at++) {
        if (isalnum((unsigned char)*at))
            text[n++] = (char)tolower((unsigned char)*at);
        else if (n > 0 && text[n - 1] != '-')
            text[n++] = '-';
    }
    while (n > 0 && text[n - 1] == '-') n--;
    text[n] = 0;
    char *size = strstr(text, batch);
    if (size != NULL) memmove(size, size + strlen(batch), strlen(size + strlen(batch)) + 1);
}

/* "('LM (batch size 5)', 2)" as "lm-5-x2"; *name stays NULL for another form. Returns 0 or SIM_E_NOMEM. */
static int type_name(const char *key, struct arena *arena, const char **name)
{
    const char *begin = strncmp(key, "('", 2) == 0 ? key + 2 : NULL;
    const char *end = begin != NULL ? strstr(begin, "', ") : NULL;
    char *rest = NULL;
    *name = NULL;
    const long workers = end != NULL && end > begin ? strtol(end + 3, &rest, 10) : 0;
    if (workers < 1 || strcmp(rest, ")") != 0) return 0;
    char *text = arena_printf(arena, "%.*s", (int)(end - begin), begin);
    if (text == NULL) return SIM_E_NOMEM;
    shorten(text);
    *name = workers > 1 ? arena_printf(arena, "%s-x%ld", text, workers) : text;
    return *name != NULL ? 0 : SIM_E_NOMEM;
}

/* Steps/s of a type alone; 0: it does not run there. Negative: it is no number, which is an error. */
static double alone(const struct gavel_file *file, const struct json_node *type)
{
    const struct json_node *steps = json_member(type, "null");
    if (steps == NULL) return 0;
    if (steps->kind == JSON_NUMBER && steps->number >= 0) return steps->number;
    data_error(file, steps, "steps/s alone must be a number of at least 0");
    return -1;
}

/* Steps/s of the first job of a pair, at most those alone; 0: they cannot share. Negative: an error. */
static double beside(const struct gavel_file *file, const struct json_node *pair, double alone_per_s)
{
    if (pair == NULL) return 0;
    const struct json_node *first = pair->kind == JSON_LIST && pair->n == 2 ? pair->first : NULL;
    if (first == NULL || first->kind != JSON_NUMBER || first->next->kind != JSON_NUMBER) {
        data_error(file, pair, "a pair must have two numbers, the steps/s of both jobs");
        return -1;
    }
    return first->number > 0 && first->next->number > 0 ? fmin(first->number, alone_per_s) : 0;
}

static int add_speed(const struct gavel_file *file, struct config_list *speeds, size_t gpu, double speed)
{
    const struct gpu_speed item = {gpu_at(file, gpu)->gpu, speed};
    return config_list_append(speeds, file->arena, &item, sizeof item) == 0 ? 0 : diag_nomem(file->diag);
}

/* Adds the speeds of the type beside another one, if they can share any GPU. */
static int add_pair(const struct gavel_file *file, const char *key, const char *other, double reference_per_s,
                    struct config_list *pairs)
{
    struct pair_config pair = {0};
    int code = type_name(other, file->arena, &pair.type);
    if (code != 0) return diag_nomem(file->diag);
    for (size_t i = 0; i < file->params->gpus.n && code == 0; i++) {
        const struct json_node *type = json_member(json_member(file->root, gpu_at(file, i)->of_file), key);
        const double alone_per_s = alone(file, type);
        const double per_s = alone_per_s < 0 ? -1 : beside(file, json_member(type, other), alone_per_s);
        if (per_s < 0) return SIM_E_DATA;
        if (per_s > 0) code = add_speed(file, &pair.speeds, i, per_s / reference_per_s);
    }
    if (code != 0 || pair.speeds.n == 0 || pair.type == NULL) return code;
    return config_list_append(pairs, file->arena, &pair, sizeof pair) == 0 ? 0 : diag_nomem(file->diag);
}

/* Reads a type as it stands below the GPU of reference. */
static int read_type(const struct gavel_file *file, const struct json_node *type, struct config_list *profiles)
{
    struct job_profile profile = {0};
    const double reference_per_s = alone(file, type);
    if (reference_per_s < 0) return SIM_E_DATA;
    if (reference_per_s <= 0) return 0;
    int code = type_name(type->key, file->arena, &profile.type);
    if (code != 0) return diag_nomem(file->diag);
    if (profile.type == NULL) return data_error(file, type, "a type of jobs must be called \"('MODEL', WORKERS)\"");
    for (size_t i = 0; i < file->params->gpus.n && code == 0; i++) {
        const char *gpu = gpu_at(file, i)->of_file;
        const double per_s = alone(file, json_member(json_member(file->root, gpu), type->key));
        code = per_s < 0 ? SIM_E_DATA : add_speed(file, &profile.speeds, i, per_s / reference_per_s);
    }
    for (const struct json_node *other = type->first; other != NULL && code == 0; other = other->next)
        if (strcmp(other->key, "null") != 0)
            code = add_pair(file, type->key, other->key, reference_per_s, &profile.pairs);
    if (code != 0) return code;
    return config_list_append(profiles, file->arena, &profile, sizeof profile) == 0 ? 0 : diag_nomem(file->diag);
}

/* The object of a GPU of the file, or NULL after a finding. */
static const struct json_node *find_gpu(const struct gavel_file *file, const char *gpu)
{
    const struct json_node *found = json_member(file->root, gpu);
    if (found != NULL && found->kind == JSON_OBJECT) return found;
    char names[DIAG_TEXT_CHARS] = "";
    const struct json_node *other = file->root->kind == JSON_OBJECT ? file->root->first : NULL;
    for (; other != NULL && strlen(names) + strlen(other->key) + 3 < sizeof names; other = other->next)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] != 0 ? ", " : "", other->key);
    diag_error(file->diag, SIM_E_DATA, file->params->path, names[0] != 0 ? names : NULL,
               "the file has no throughputs of a GPU '%s'", gpu);
    return NULL;
}

static int read_gavel(const void *params, struct arena *arena, struct config_list *profiles, struct diag *diag)
{
    struct gavel_file file = {.params = params, .arena = arena, .diag = diag};
    struct json_node *root;
    *profiles = (struct config_list){0};
    int code = json_load(arena, file.params->path, &root, diag);
    if (code != 0) return code == SIM_E_CONFIG ? SIM_E_DATA : code;
    file.root = root;
    file.reference = find_gpu(&file, file.params->reference);
    if (file.reference == NULL) return SIM_E_DATA;
    for (size_t i = 0; i < file.params->gpus.n; i++)
        if (find_gpu(&file, gpu_at(&file, i)->of_file) == NULL) return SIM_E_DATA;
    for (const struct json_node *type = file.reference->first; type != NULL && code == 0; type = type->next)
        code = read_type(&file, type, profiles);
    return code;
}

static const struct config_field gpu_item[] = {
    {.kind = CONFIG_TEXT, .offset = offsetof(struct gpu_name, gpu), .min = 1, .max = 200,
     .help = "GPU type, of the cluster or one of its node_types"},
    {0}};

#define ROW_OF struct gavel_params
static const struct config_field params_fields[] = {
    ROW_PATH("path", path, REQUIRED, "the file"),
    ROW_TEXT("reference", reference, DEFAULT("v100"), WITHIN(1, 200),
             "GPU of the file on which a job alone has the speed 1, that of the trace's run times"),
    ROW_MAP("gpus", gpus, REQUIRED, WITHIN(1, 64), struct gpu_name, gpu_item,
            "GPU types of the scenario, by their names in the file"),
    {0}};
#undef ROW_OF

const struct job_profile_format job_profile_gavel = {
    .name = "gavel",
    .summary = "Gavel's throughputs, alone and in pairs",
    .source = "Narayanan et al., OSDI 2020; stanford-futuredata/gavel, scheduler/simulation_throughputs.json",
    .params = params_fields,
    .params_bytes = sizeof(struct gavel_params),
    .read = read_gavel};
