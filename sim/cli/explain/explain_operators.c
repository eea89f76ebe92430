#include "sim/cli/explain/explain_operators.h"

#include "models/operators/breakdown.h"
#include "sim/core/number.h"

#include <string.h>

const struct table_column explain_operator_columns[] = {
    {"service", COLUMN_LEFT, false},    {"operator", COLUMN_LEFT, false},    {"launches", COLUMN_RIGHT, false},
    {"ms", COLUMN_RIGHT, false},        {"share_frac", COLUMN_RIGHT, false}, {"bound", COLUMN_LEFT, false},
    {"efficiency", COLUMN_RIGHT, false}, {"tflop", COLUMN_RIGHT, true},      {"gb", COLUMN_RIGHT, true},
    {"link_gb", COLUMN_RIGHT, true},    {"outside_frac", COLUMN_RIGHT, true}, {"domain", COLUMN_LEFT, false},
    {"by", COLUMN_LEFT, false},         {"kernel", COLUMN_LEFT, false},      {"parameters", COLUMN_LEFT, false}};
const size_t explain_n_operator_columns = sizeof explain_operator_columns / sizeof *explain_operator_columns;

bool explain_batch_is_given(const struct explain_batch *given)
{
    return given->batch || given->context || given->prompt;
}

/* `value` stays as it is where there is no text. */
static int read_count(const char *option, const char *text, int64_t least, int64_t *value, struct diag *diag)
{
    const int64_t most = LLM_MAX_CONTEXT;
    if (text == NULL) return 0;
    if (number_i64(text, strlen(text), value) == NUMBER_OK && *value >= least && *value <= most) return 0;
    return diag_error(diag, SIM_E_USAGE, NULL, NULL, "option '--%s' must be a whole number from %lld to %lld, got '%s'",
                      option, (long long)least, (long long)most, text);
}

int explain_batch_work(const struct explain_batch *given, struct iteration_work *work, struct diag *diag)
{
    int64_t batch = given->prompt ? 0 : 32, context = 1024, prompt = 0;
    int code = read_count("batch", given->batch, 0, &batch, diag);
    if (code == 0) code = read_count("context", given->context, 1, &context, diag);
    if (code == 0) code = read_count("prompt", given->prompt, 0, &prompt, diag);
    if (code != 0) return code;
    if (batch == 0 && prompt == 0)
        return diag_error(diag, SIM_E_USAGE, NULL, "give --batch or --prompt a number above 0",
                          "the iteration to explain has nothing to do");
    *work = (struct iteration_work){
        .prefill_sequences = prompt > 0, .prefill_tokens = prompt, .prefill_pairs = (double)prompt * (double)prompt,
        .decode_sequences = batch, .decode_context_tokens = batch * context};
    return 0;
}

static void add_share(struct table *table, double part, double whole)
{
    if (whole > 0.0)
        table_number(table, part / whole);
    else
        table_undefined(table);
}

static const char *domain_of(const struct operator_share *row)
{
    if (row->outside_s <= 0.0) return "in";
    return row->outside_s < row->time.seconds ? "partly out" : "out";
}

/* What the time rests on: measured points or the law alone. */
static const char *basis_of(const struct operator_share *row)
{
    if (row->measured_s <= 0.0) return "law";
    return row->measured_s < row->time.seconds ? "law and table" : "table";
}

static void add_operator(struct table *table, const char *service, const struct cost_operators *cost,
                         const struct operator_share *row, double iteration_s)
{
    table_text(table, service);
    table_text(table, llm_operator_name(row->op));
    table_number(table, row->launches);
    table_number(table, row->time.seconds * 1e3);
    add_share(table, row->time.seconds, iteration_s);
    table_text(table, kernel_bound_name(kernel_time_bound(&row->time)));
    add_share(table, row->ideal_s, row->time.seconds);
    table_number(table, row->time.flop / 1e12);
    table_number(table, row->time.bytes / 1e9);
    table_number(table, row->time.link_bytes / 1e9);
    add_share(table, row->outside_s, row->time.seconds);
    table_text(table, domain_of(row));
    table_text(table, basis_of(row));
    table_text(table, kernel_class_info(row->class)->name);
    table_text(table, cost->calibration.origin[row->class]);
}

/* What no peak of the data sheet bounds, and no kernel's range holds. */
static void add_host(struct table *table, const char *service, const struct cost_operators *cost,
                     const struct iteration_breakdown *breakdown)
{
    enum { AFTER_BOUND = 6 }; /* efficiency to domain */
    table_text(table, service);
    table_text(table, "host");
    table_undefined(table);
    table_number(table, breakdown->host_s * 1e3);
    add_share(table, breakdown->host_s, breakdown->gpu_s + breakdown->host_s);
    table_text(table, kernel_bound_name(BOUND_OVERHEAD));
    for (int i = 0; i < AFTER_BOUND; i++) table_undefined(table);
    table_text(table, NULL);
    table_text(table, NULL);
    table_text(table, cost->engine.name);
}

void explain_add_operators(struct table *table, const char *service, const struct cost_operators *cost,
                           const struct iteration_work *work)
{
    struct iteration_breakdown breakdown;
    iteration_breakdown(&cost->operators.parts, work, &breakdown);
    for (size_t i = 0; i < breakdown.n; i++)
        add_operator(table, service, cost, &breakdown.operators[i], breakdown.gpu_s + breakdown.host_s);
    add_host(table, service, cost, &breakdown);
}

void explain_iteration(const char *service, const struct cost_operators *cost, const struct iteration_work *work,
                       struct text *lines)
{
    struct iteration_breakdown breakdown;
    char seconds[32], outside[32];
    iteration_breakdown(&cost->operators.parts, work, &breakdown);
    text_printf(lines, "%s: one iteration over", service);
    if (work->prefill_tokens > 0) text_printf(lines, " a prompt of %lld tokens", (long long)work->prefill_tokens);
    if (work->decode_sequences > 0)
        text_printf(lines, "%s %lld sequences that decode at %lld tokens each", work->prefill_tokens > 0 ? " and" : "",
                    (long long)work->decode_sequences,
                    (long long)(work->decode_context_tokens / work->decode_sequences));
    text_printf(lines, " takes %s ms; %s %% of its kernels' time is outside the fitted range\n",
                table_show_number((breakdown.gpu_s + breakdown.host_s) * 1e3, seconds, sizeof seconds),
                table_show_number(100.0 * breakdown.outside_s / breakdown.gpu_s, outside, sizeof outside));
}
