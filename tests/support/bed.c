#include "tests/support/bed.h"

#include "sim/cli/plugins.h"
#include "sim/core/config/config.h"
#include "sim/world/rows/tee.h"
#include "sim/world/world.h"
#include "tests/support/harness.h"

/* Makes room for one more element of an array whose capacity is always a power of two. */
const char *const bed_batchers[BED_BATCHERS] = {
    "'vllm-v0'",
    "'vllm-v1'",
    "'sarathi'",
    "'orca'",
    "'splitwise'",
    "{'policy': 'vllm-v0', 'preemption': 'swap'}",
    "{'policy': 'sglang', 'order': 'lpm', 'max_tokens': 400, 'conservativeness': 0}",
    "{'policy': 'trtllm', 'capacity': 'max-utilization', 'chunked': true}"};

static void *grow(void *array, size_t n, size_t bytes_each)
{
    if (n > 0 && (n & (n - 1)) != 0) return array;
    array = realloc(array, (n ? 2 * n : 1) * bytes_each);
    if (array == NULL) abort();
    return array;
}

/* As snprintf with "%s", which the sanitizer makes slow. */
static void copy_text(char *to, size_t size, const char *from)
{
    const size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

/* One of the texts that a status or class may be, so that rows can be compared as bytes. */
static const char *known_text(const char *text)
{
    static const char *const known[] = {"finished",   "cancelled", "failed",      "rejected", "stopped",
                                        "unfinished", "",          "interactive", "batch",    "default",
                                        "on-demand",  "reserved",  "spot",        "jobs",     "services",
                                        "site",       "returned",  "lost",        "open"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i]) == 0) return known[i];
    abort();
}

/* The one copy of a text that lives as long as the process, so that rows can be compared as bytes. */
static const char *only_copy(const char *text)
{
    static struct copy {
        struct copy *next;
        char text[];
    } * lists[256];
    unsigned hash = 0;
    for (const char *c = text; *c != '\0'; c++) hash = 31 * hash + (unsigned char)*c;
    struct copy **const first = &lists[(hash ^ hash >> 8) % (sizeof lists / sizeof *lists)], **at = first;
    while (*at != NULL && strcmp((*at)->text, text) != 0) at = &(*at)->next;
    struct copy *found = *at;
    if (found == NULL) {
        const size_t bytes = strlen(text) + 1;
        found = malloc(sizeof *found + bytes);
        if (found == NULL) abort();
        memcpy(found->text, text, bytes);
    } else {
        *at = found->next;
    }
    found->next = *first; /* the last one asked for is mostly asked for again */
    *first = found;
    return found->text;
}

static int on_request(void *context, const struct request_row *row)
{
    struct bed_rows *rows = context;
    rows->requests = grow(rows->requests, rows->n_requests, sizeof *rows->requests);
    struct request_row *copy = &rows->requests[rows->n_requests++];
    *copy = *row;
    copy->service = NULL;
    copy->status = known_text(row->status);
    copy->class = known_text(row->class);
    return 0;
}

static int on_job(void *context, const struct job_row *row)
{
    struct bed_rows *rows = context;
    rows->jobs = grow(rows->jobs, rows->n_jobs, sizeof *rows->jobs);
    struct job_row *copy = &rows->jobs[rows->n_jobs++];
    *copy = *row;
    copy->status = known_text(row->status);
    copy->type = only_copy(row->type);
    copy->group_name = only_copy(row->group_name);
    copy->user_name = only_copy(row->user_name);
    return 0;
}

static int on_placement(void *context, const struct placement_row *row)
{
    struct bed_rows *rows = context;
    rows->placements = grow(rows->placements, rows->n_placements, sizeof *rows->placements);
    struct placement_row *copy = &rows->placements[rows->n_placements++];
    *copy = *row;
    copy->gpu = row->gpu != NULL ? only_copy(row->gpu) : NULL;
    copy->node_type = row->node_type != NULL ? only_copy(row->node_type) : NULL;
    return 0;
}

static int on_lease(void *context, const struct lease_row *row)
{
    struct bed_rows *rows = context;
    rows->leases = grow(rows->leases, rows->n_leases, sizeof *rows->leases);
    struct lease_row *copy = &rows->leases[rows->n_leases++];
    *copy = *row;
    copy->offer = copy->gpu = NULL;
    copy->kind = known_text(row->kind);
    copy->use = known_text(row->use);
    copy->fate = known_text(row->fate);
    return 0;
}

static int on_batch(void *context, const struct batch_row *row)
{
    struct bed_rows *rows = context;
    rows->batches = grow(rows->batches, rows->n_batches, sizeof *rows->batches);
    struct batch_row *copy = &rows->batches[rows->n_batches++];
    *copy = *row;
    copy->service = copy->power_domain = copy->power_target = NULL;
    return 0;
}

static int on_sample(void *context, const struct sample_row *row)
{
    struct bed_rows *rows = context;
    rows->samples = grow(rows->samples, rows->n_samples, sizeof *rows->samples);
    rows->samples[rows->n_samples++] =
        (struct bed_sample){only_copy(row->series), only_copy(row->entity), row->t_s, row->value};
    return 0;
}

static int on_metric(void *context, const struct metric_row *row)
{
    struct bed_rows *rows = context;
    rows->metrics = grow(rows->metrics, rows->n_metrics, sizeof *rows->metrics);
    struct bed_metric *metric = &rows->metrics[rows->n_metrics++];
    memset(metric, 0, sizeof *metric);
    copy_text(metric->name, sizeof metric->name, row->name);
    metric->value = row->value;
    return 0;
}

/* Hashes the bits of a number; -0 as 0. */
static void hash_real(struct hash *hash, double value)
{
    int64_t bits;
    const double canonical = value + 0.0;
    memcpy(&bits, &canonical, sizeof bits);
    hash_i64(hash, bits);
}

static int on_decision(void *context, const struct decision_row *row)
{
    struct bed_rows *rows = context;
    rows->decisions = grow(rows->decisions, rows->n_decisions, sizeof *rows->decisions);
    struct bed_decision *copy = &rows->decisions[rows->n_decisions++];
    *copy = (struct bed_decision){.t_s = row->t_s, .subject = row->subject};
    copy_text(copy->service, sizeof copy->service, row->service);
    copy_text(copy->policy, sizeof copy->policy, row->policy);
    copy_text(copy->action, sizeof copy->action, row->action);
    copy_text(copy->reason, sizeof copy->reason, row->reason);
    hash_real(rows->hash, row->t_s);
    hash_text(rows->hash, row->service);
    hash_text(rows->hash, row->policy);
    hash_text(rows->hash, row->action);
    hash_i64(rows->hash, row->subject);
    hash_text(rows->hash, row->reason);
    return 0;
}

static int on_warning(void *context, const struct warning_row *row)
{
    struct bed_rows *rows = context;
    rows->warnings = grow(rows->warnings, rows->n_warnings, sizeof *rows->warnings);
    rows->warnings[rows->n_warnings++] = (struct bed_warning){only_copy(row->code), only_copy(row->text)};
    hash_text(rows->hash, row->code);
    hash_text(rows->hash, row->text);
    hash_i64(rows->hash, row->count);
    return 0;
}

static int on_histogram(void *context, const struct histogram_row *row)
{
    struct bed_rows *rows = context;
    if (strcmp(row->name, "token.gap_s") == 0) rows->n_token_gaps += row->count;
    hash_text(rows->hash, row->name);
    hash_real(rows->hash, row->lower);
    hash_i64(rows->hash, row->count);
    return row->lower < row->upper ? 0 : SIM_E_STORE;
}

/* The listed alternatives behind the one of the options, if any. */
static bool alternative(const void *context, const char *family, size_t index, struct config_alternative *out)
{
    static const char *const names[] = {
#define FAMILY_NAME(id, name, ...) [id] = name,
        POLICY_FAMILIES(FAMILY_NAME)
#undef FAMILY_NAME
    };
    const struct policy *policy = context;
    struct config_families listed = cli_families(NULL);
    bool mine = policy != NULL && strcmp(names[policy->family], family) == 0;
    if (!mine || index > 0) return listed.alternative(listed.context, family, index - mine, out);
    *out = (struct config_alternative){.name = policy->name, .summary = policy->summary, .fields = policy->params,
                                       .params_bytes = policy->params_bytes, .entry = policy};
    return true;
}

static struct catalog_memory kept_files; /* of calibration files: each is read once per process */

static void forget_files(void)
{
    catalog_memory_fini(&kept_files);
}

static struct catalog_memory *memory_of_files(void)
{
    static bool is_new = true;
    if (is_new) catalog_memory_init(&kept_files);
    if (is_new) atexit(forget_files);
    is_new = false;
    return &kept_files;
}

static int run_world(struct config *config, const struct bed_options *options, struct arena *arena,
                     struct bed_rows *rows)
{
    struct catalog catalog = {.root = "configs", .memory = memory_of_files()};
    struct scenario scenario;
    struct world *world;
    struct config_families families = {.alternative = alternative, .context = options->policy};
    int code = scenario_bind(config, &families, &catalog, arena, &scenario, &rows->diag);
    if (code != 0) return code;
    struct world_options world_options = {.config = config, .catalog = &catalog, .queue = options->queue,
                                          .stall_events = options->stall_events,
                                          .single_step = options->single_step, .check = options->check};
    if ((code = world_create(&scenario, &world_options, &world, &rows->diag)) != 0) return code;
    struct sink sink = {.context = rows, .request = on_request, .job = on_job, .metric = on_metric,
                        .placement = on_placement, .lease = on_lease, .batch = on_batch, .sample = on_sample,
                        .decision = on_decision, .warning = on_warning, .histogram = on_histogram};
    if (!options->no_detail) sink.detail = on_decision;
    if (options->no_rows) sink.request = NULL;
    if (options->no_batches) sink.batch = NULL;
    struct tee tee = {0};
    tee_add(&tee, sink);
    if (options->also != NULL) tee_add(&tee, *options->also);
    const struct sink both = tee_sink(&tee);
    struct world_result result;
    code = world_run(world, options->also != NULL ? &both : &sink, &result);
    rows->end_s = sim_s_from_ns(result.end_ns);
    rows->engine = result.engine;
    world_destroy(world);
    return code;
}

static void free_rows(void *memory)
{
    struct bed_rows *rows = memory;
    free(rows->requests);
    free(rows->jobs);
    free(rows->metrics);
    free(rows->decisions);
    free(rows->placements);
    free(rows->leases);
    free(rows->batches);
    free(rows->samples);
    free(rows->warnings);
    free(rows);
}

struct bed_rows *bed_vrun(const struct bed_options *options, const char *format, va_list arguments)
{
    static const struct bed_options defaults;
    struct bed_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL || (rows->hash = hash_create()) == NULL) abort();
    test_own(rows, free_rows);
    if (options == NULL) options = &defaults;
    const char *scenario = test_vjson(format, arguments);
    diag_init(&rows->diag);
    struct arena arena;
    arena_init(&arena);
    struct config *config = NULL;
    rows->code = config_parse("scenario", ".", scenario, strlen(scenario), &config, &rows->diag);
    for (const char *const *set = options->sets; rows->code == 0 && set != NULL && *set != NULL; set++)
        rows->code = config_set(config, test_json("%s", *set), &rows->diag);
    if (rows->code == 0) rows->code = run_world(config, options, &arena, rows);
    config_destroy(config);
    arena_fini(&arena);
    hash_hex(rows->hash, rows->others);
    hash_destroy(rows->hash);
    for (int i = 0; i < rows->diag.n_items && !options->quiet; i++) {
        char text[1024];
        diag_format(&rows->diag.items[i], text, sizeof text);
        printf("\n  [%s]", text);
    }
    return rows;
}

struct bed_rows *bed_run(const struct bed_options *options, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct bed_rows *rows = bed_vrun(options, format, arguments);
    va_end(arguments);
    return rows;
}

struct bed_rows *bed_ok(const struct bed_options *options, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct bed_rows *rows = bed_vrun(options, format, arguments);
    va_end(arguments);
    CHECK_EQ_INT(rows->code, 0);
    return rows;
}

void bed_free(struct bed_rows *rows)
{
    test_release(rows);
}

double bed_metric(const struct bed_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n_metrics; i++)
        if (strcmp(rows->metrics[i].name, name) == 0) return rows->metrics[i].value;
    return (double)NAN;
}

const struct request_row *bed_request(const struct bed_rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->n_requests; i++)
        if (rows->requests[i].id == id) return &rows->requests[i];
    return NULL;
}

const char *bed_warning(const struct bed_rows *rows, const char *code)
{
    for (size_t i = 0; i < rows->n_warnings; i++)
        if (strcmp(rows->warnings[i].code, code) == 0) return rows->warnings[i].text;
    return NULL;
}

const struct job_row *bed_job(const struct bed_rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->n_jobs; i++)
        if (rows->jobs[i].id == id) return &rows->jobs[i];
    return NULL;
}

size_t bed_decisions(const struct bed_rows *rows, const char *action, int64_t subject)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_decisions; i++)
        n += strcmp(rows->decisions[i].action, action) == 0 && (subject < 0 || rows->decisions[i].subject == subject);
    return n;
}

static bool same_bytes(const void *a, size_t n_a, const void *b, size_t n_b, size_t bytes_each)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * bytes_each) == 0);
}

bool bed_equal(const struct bed_rows *a, const struct bed_rows *b)
{
    return a->code == b->code && a->end_s == b->end_s && strcmp(a->others, b->others) == 0 &&
           same_bytes(a->requests, a->n_requests, b->requests, b->n_requests, sizeof *a->requests) &&
           same_bytes(a->jobs, a->n_jobs, b->jobs, b->n_jobs, sizeof *a->jobs) &&
           same_bytes(a->placements, a->n_placements, b->placements, b->n_placements, sizeof *a->placements) &&
           same_bytes(a->leases, a->n_leases, b->leases, b->n_leases, sizeof *a->leases) &&
           same_bytes(a->batches, a->n_batches, b->batches, b->n_batches, sizeof *a->batches) &&
           same_bytes(a->samples, a->n_samples, b->samples, b->n_samples, sizeof *a->samples) &&
           same_bytes(a->metrics, a->n_metrics, b->metrics, b->n_metrics, sizeof *a->metrics);
}
