/* Requests of many clients, each with its own rate, burstiness and lengths in each window of time, from a table of
 * clients such as those of ServeGen (Xiang et al., "ServeGen", 2025: populations of Alibaba's Model Studio).
 *
 * One row per client and window. Gaps between the requests of a client are Gamma or Weibull distributed, with the
 * client's CV and its mean rate in the window; a gap that reaches into the next window goes on at that window's rate.
 * Lengths are drawn from the quantiles, linear in between. The longest length is set so that the mean is that of the
 * table, where this is possible. Clients without lengths get those of the client with the most similar rate in that
 * window, which is counted.
 *
 * Left out: changes of the rate within a window, correlation of the two lengths, conversations of a client. */
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "traces/generate/arrival.h"
#include "traces/generate/distribution.h"
#include "traces/reader.h"
#include "traces/registry.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODEL, CLIENT, START, RATE, CV, FAMILY, INPUT_MEAN, INPUT };
enum { OUTPUT_MEAN = INPUT + 7, OUTPUT, N_COLUMNS = OUTPUT + 7 };
enum { N_POINTS = 8, MAX_WINDOWS = 1 << 20 };

#define QUANTILES(of)                                                                                                  \
    {of "_mean", false}, {of "_p1", false}, {of "_p10", false}, {of "_p25", false}, {of "_p50", false},                \
        {of "_p75", false}, {of "_p90", false}, {of "_p99", false}
static const struct csv_column columns[N_COLUMNS] = {{"model", true},
                                                     {"client", false},
                                                     {"window_start_s", false},
                                                     {"rate_mean_rps", false},
                                                     {"interarrival_cv", false},
                                                     {"interarrival_family", true},
                                                     QUANTILES("input"),
                                                     QUANTILES("output")};
static const double fractions[N_POINTS] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1};

struct clients_params {
    struct trace_file file;
    struct generate_end end;
    const char *model;
    double scale;
    sim_ns window_ns;
};

/* A row. */
struct client_window {
    const char *model, *client;
    int64_t row; /* of the table, from 0 */
    sim_ns start_ns, end_ns;
    double rate_per_s, cv, shape; /* shape: of the Weibull distribution; 0: Gamma */
    bool has_lengths;
    struct cdf_point input[N_POINTS], output[N_POINTS];
};

struct client {
    size_t first, end; /* its windows, by time */
    size_t at;         /* window of its next request */
    sim_ns next_ns;
    struct rng rng;
};

struct generator {
    struct stream stream;
    const struct clients_params *params;
    struct stream *rows;
    size_t n_windows, window_capacity;
    struct client_window *windows;
    size_t n_clients, client_capacity;
    struct client *clients;
    struct notes notes;
    sim_ns now_ns;
    int64_t n;
};

/* --- Distributions of gaps --- */

/* CV of a Weibull distribution. */
static double weibull_cv(double shape)
{
    return sqrt(expm1(lgamma(1 + 2 / shape) - 2 * lgamma(1 + 1 / shape)));
}

/* The CV falls with the shape. */
static double weibull_shape(double cv)
{
    double low = 0.1, high = 200;
    for (int i = 0; i < 60; i++) {
        const double middle = sqrt(low * high);
        *(weibull_cv(middle) > cv ? &low : &high) = middle;
    }
    return sqrt(low * high);
}

/* A gap of mean 1. */
static double draw_gap(struct rng *rng, const struct client_window *window)
{
    gsl_rng gsl = rng_gsl(rng);
    if (window->shape > 0) return pow(rng_exponential(rng, 1), 1 / window->shape) / exp(lgamma(1 + 1 / window->shape));
    const double shape = 1 / (window->cv * window->cv);
    return gsl_ran_gamma(&gsl, shape, 1 / shape);
}

/* --- Reading --- */

/* Reads the mean and the quantiles from a column on. False when the row is bad; *has is false without numbers. */
static bool read_lengths(struct reader *reader, int mean_column, struct cdf_point points[N_POINTS], bool *has)
{
    double mean, sum = 0;
    *has = *has && reader_has(reader, mean_column);
    if (!*has) return true;
    if (!reader_f64(reader, mean_column, 1, &mean)) return false;
    for (int i = 0; i < N_POINTS - 1; i++) {
        double value;
        if (!reader_f64(reader, mean_column + 1 + i, 1, &value)) return false;
        if (value > INT32_MAX || (i > 0 && value < points[i - 1].value)) {
            reader_bad(reader, mean_column + 1 + i, NULL, "quantiles must not fall, and be below 2147483648");
            return false;
        }
        points[i] = (struct cdf_point){value, fractions[i]};
        sum += i > 0 ? (value + points[i - 1].value) / 2 * (fractions[i] - fractions[i - 1]) : value * fractions[0];
    }
    const double last = points[N_POINTS - 2].value, rest = 1 - fractions[N_POINTS - 2];
    const double longest = fmin(2 * (mean - sum) / rest - last, INT32_MAX);
    points[N_POINTS - 1] = (struct cdf_point){longest > last ? longest : last, 1};
    return true;
}

static bool is_name(const struct csv_field *field, const char *name)
{
    return field->n_chars == strlen(name) && memcmp(field->chars, name, field->n_chars) == 0;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct generator *generator = reader->format.state;
    struct client_window window = {.has_lengths = true};
    record->request = (struct request_record){.id = reader->row, .prompt_tokens = 1, .output_tokens = 1};
    const char *model = generator->params->model;
    const struct csv_field of = reader_text(reader, MODEL);
    if (model != NULL && !is_name(&of, model))
        return reader_leave_out(reader, "other-model", "rows of other models left out");
    if (!reader_time(reader, START, TIME_S, &window.start_ns) || !reader_f64(reader, RATE, 0, &window.rate_per_s))
        return ROW_BAD;
    if (window.rate_per_s <= 0) return reader_leave_out(reader, "no-rate", "windows without requests left out");
    window.cv = 1;
    if (reader_has(reader, CV) && !reader_f64(reader, CV, 0, &window.cv)) return ROW_BAD;
    window.cv = fmin(fmax(window.cv, 0.01), 30);
    const struct csv_field family = reader_text(reader, FAMILY);
    const bool is_weibull = is_name(&family, "Weibull");
    if (family.n_chars > 0 && !is_weibull && !is_name(&family, "Gamma"))
        return reader_bad(reader, FAMILY, NULL, "'interarrival_family' must be Gamma or Weibull, got '%.*s'",
                          (int)(family.n_chars < 40 ? family.n_chars : 40), family.chars);
    if (is_weibull) window.shape = weibull_shape(window.cv);
    if (!read_lengths(reader, INPUT_MEAN, window.input, &window.has_lengths)) return ROW_BAD;
    if (!read_lengths(reader, OUTPUT_MEAN, window.output, &window.has_lengths)) return ROW_BAD;
    window.row = reader->row;
    window.client = reader_intern(reader, CLIENT);
    window.model = reader_has(reader, MODEL) ? reader_intern(reader, MODEL) : "";
    if (generator->n_windows == MAX_WINDOWS)
        return reader_bad(reader, CLIENT, NULL, "the table has more than %d rows", MAX_WINDOWS);
    if (window.client == NULL || window.model == NULL) return ROW_BAD;
    if (vec_push(&generator->windows, &generator->n_windows, &generator->window_capacity, window) == 0) return ROW_KEPT;
    reader_no_memory(reader);
    return ROW_BAD;
}

/* A client is one of a model: names of clients may be used again. */
static int compare_clients(const struct client_window *one, const struct client_window *other)
{
    const int order = strcmp(one->client, other->client);
    return order != 0 ? order : strcmp(one->model, other->model);
}

static int compare_windows(const void *a, const void *b)
{
    const struct client_window *one = a, *other = b;
    const int order = compare_clients(one, other);
    if (order != 0) return order;
    if (one->start_ns != other->start_ns) return one->start_ns > other->start_ns ? 1 : -1;
    return (one->row > other->row) - (one->row < other->row);
}

/* A window ends where the next one of its client begins. */
static int order_windows(struct generator *generator, struct diag *diag)
{
    struct client_window *windows = generator->windows;
    qsort(windows, generator->n_windows, sizeof *windows, compare_windows);
    for (size_t i = 0; i < generator->n_windows; i++) {
        struct client_window *window = &windows[i];
        window->end_ns = sim_ns_add(window->start_ns, generator->params->window_ns);
        const struct client_window *next = i + 1 < generator->n_windows ? window + 1 : NULL;
        if (next == NULL || compare_clients(window, next) != 0) continue;
        if (next->start_ns == window->start_ns)
            return diag_error(diag, SIM_E_DATA, generator->params->file.path, NULL,
                              "client '%s' has two rows from %.9g s on", window->client,
                              sim_s_from_ns(window->start_ns));
        if (next->start_ns < window->end_ns) window->end_ns = next->start_ns;
    }
    return 0;
}

/* The window with lengths, at the same time if there is one, whose rate is most similar. */
static const struct client_window *most_similar(const struct generator *generator, const struct client_window *to)
{
    const struct client_window *best = NULL;
    double least = HUGE_VAL;
    for (size_t i = 0; i < generator->n_windows; i++) {
        const struct client_window *window = &generator->windows[i];
        const double distance = fabs(log(window->rate_per_s / to->rate_per_s)) +
                                (window->start_ns != to->start_ns ? 1e3 : 0);
        if (!window->has_lengths || distance >= least) continue;
        least = distance;
        best = window;
    }
    return best;
}

static int fill_lengths(struct generator *generator, struct diag *diag)
{
    for (size_t i = 0; i < generator->n_windows; i++) {
        struct client_window *window = &generator->windows[i];
        if (window->has_lengths) continue;
        const struct client_window *other = most_similar(generator, window);
        if (other == NULL)
            return diag_error(diag, SIM_E_DATA, generator->params->file.path, NULL, "no client has lengths");
        memcpy(window->input, other->input, sizeof window->input);
        memcpy(window->output, other->output, sizeof window->output);
        char *where = notes_count(&generator->notes, "no-lengths",
                                  "windows without lengths got those of another client");
        if (where != NULL) snprintf(where, DIAG_WHERE_CHARS, "%s", generator->params->file.path);
    }
    return 0;
}

/* --- Drawing --- */

/* Lets a gap of `left` requests at the mean rate pass from `from_ns` on. */
static void advance(const struct generator *generator, struct client *client, sim_ns from_ns, double left)
{
    client->next_ns = SIM_NS_MAX;
    for (; client->at < client->end; client->at++) {
        const struct client_window *window = &generator->windows[client->at];
        const sim_ns end_ns = window->end_ns;
        const double rate = window->rate_per_s * generator->params->scale;
        if (from_ns < window->start_ns) from_ns = window->start_ns;
        const double passes = sim_s_from_ns(end_ns - from_ns) * rate;
        if (from_ns >= end_ns) continue;
        if (left < passes) {
            client->next_ns = from_ns + sim_ns_from_s(left / rate);
            return;
        }
        left -= passes;
        from_ns = end_ns;
    }
}

static int begin_clients(struct generator *generator, const struct source_options *options, struct diag *diag)
{
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.client", options->stream);
    for (size_t i = 0, end; i < generator->n_windows; i = end) {
        end = i + 1;
        while (end < generator->n_windows && compare_clients(&generator->windows[i], &generator->windows[end]) == 0)
            end++;
        struct client client = {.first = i, .end = end, .at = i};
        rng_init(&client.rng, options->seed, options->run, name, generator->n_clients);
        /* The first request comes after a part of a gap, as if the client had always been there. */
        const double gap = draw_gap(&client.rng, &generator->windows[i]);
        advance(generator, &client, generator->windows[i].start_ns, gap * rng_uniform(&client.rng));
        if (vec_push(&generator->clients, &generator->n_clients, &generator->client_capacity, client) != 0)
            return diag_nomem(diag);
    }
    return 0;
}

static int32_t draw_length(struct rng *rng, const struct cdf_point *points)
{
    const double tokens = ceil(cdf_quantile(points, N_POINTS, CDF_LINEAR, rng_uniform(rng)));
    return tokens < INT32_MAX / 2 ? (int32_t)tokens : INT32_MAX / 2;
}

static int generator_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    struct client *client = generator->clients;
    (void)diag;
    for (size_t i = 1; i < generator->n_clients; i++)
        if (generator->clients[i].next_ns < client->next_ns) client = &generator->clients[i];
    if (generator->n_clients == 0 || client->next_ns == SIM_NS_MAX) return 0;
    if (generate_end_reached(&generator->params->end, generator->n, client->next_ns)) return 0;
    const struct client_window *window = &generator->windows[client->at];
    generator->now_ns = client->next_ns;
    record->request = (struct request_record){.id = generator->n++, .arrival_ns = client->next_ns};
    record->request.prompt_tokens = draw_length(&client->rng, window->input);
    record->request.output_tokens = draw_length(&client->rng, window->output);
    advance(generator, client, client->next_ns, draw_gap(&client->rng, window));
    return 1;
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->now_ns);
}

static bool generator_note(const struct stream *stream, size_t index, struct source_note *note)
{
    return notes_get(&((const struct generator *)stream)->notes, index, note);
}

static void generator_close(struct stream *stream)
{
    struct generator *generator = (struct generator *)stream;
    stream_close(generator->rows);
    mem_free(generator->windows);
    mem_free(generator->clients);
    mem_free(generator);
}

static const struct stream_ops generator_ops = {
    .next = generator_next, .place = generator_place, .note = generator_note, .close = generator_close};

static int read_table(struct generator *generator, const struct source_options *options, struct diag *diag)
{
    const struct row_format rows = {
        .requests = true, .columns = columns, .n_columns = N_COLUMNS, .row = read_row, .state = generator};
    union trace_record record;
    int code = reader_open(&rows, &generator->params->file, options->interrupt, &generator->rows, diag);
    while (code == 0 && (code = stream_next(generator->rows, &record, diag)) == 1) code = 0;
    if (code == 0) code = fill_lengths(generator, diag);
    if (code == 0) code = order_windows(generator, diag);
    return code == 0 ? begin_clients(generator, options, diag) : code;
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_nomem(diag);
    *generator = (struct generator){.stream = {&generator_ops}, .params = params};
    struct stream *stream = &generator->stream;
    int code = read_table(generator, options, diag);
    if (code != 0) {
        stream_close(stream);
        return code;
    }
    code = transform_open(&generator->params->file.transform, options, true, stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

#define ROW_OF struct clients_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    ROW_PATH("path", file.path, REQUIRED, "the table of clients, plain or gzip-compressed"),
    ROW_INT("allow_bad_rows", file.allow_bad_rows, DEFAULT("0"), WITHIN(0, 1e15),
            "most unreadable rows left out with a warning; more are an error"),
    GENERATE_END_PARAMS,
    ROW_TEXT("model", model, OPTIONAL, WITHIN(1, 100), "only clients of this model; default: all rows"),
    ROW_REAL("scale", scale, DEFAULT("1"), WITHIN(1e-9, 1e9), "factor on the rates of all clients"),
    ROW_TIME("window_length", window_ns, DEFAULT("6h"), WITHIN(1e-3, 9e9), "time that a row is for"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_clients = {.name = "generate-clients",
                                                    .summary = "requests of clients whose rates and lengths a table gives",
                                                    .source = "after ServeGen (Xiang et al., 2025)",
                                                    .params = params,
                                                    .params_bytes = sizeof(struct clients_params),
                                                    .open_requests = open_requests};
