#include "sim/cli/trace/replay_times.h"

#include "sim/core/err.h"

#include <inttypes.h>
#include <math.h>

/* Arrivals that differ by less are the same; in seconds. */
static const double SAME_S = 1e-6;

const char *const replay_time_names[REPLAY_TIMES] = {"queue_s", "ttft_s", "tpot_s", "e2e_s"};

double *replay_times_none(struct arena *arena, size_t n)
{
    double *times = arena_alloc(arena, (n + 1) * sizeof *times);
    for (size_t i = 0; times != NULL && i < n; i++) times[i] = (double)NAN;
    return times;
}

int replay_times_take(const struct engine_log *log, struct arena *arena, double *measured[REPLAY_TIMES])
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        measured[time] = replay_times_none(arena, log->n);
        if (measured[time] == NULL) return SIM_E_NOMEM;
    }
    for (size_t i = 0; i < log->n; i++) {
        measured[REPLAY_QUEUE][i] = log->entries[i].queue_s;
        measured[REPLAY_TTFT][i] = log->entries[i].ttft_s;
        measured[REPLAY_TPOT][i] = log->entries[i].tpot_s;
        measured[REPLAY_E2E][i] = log->entries[i].e2e_s;
    }
    return 0;
}

void replay_times_begin_arrivals(struct replay_arrivals *arrivals, const struct engine_log *log)
{
    *arrivals = (struct replay_arrivals){.same = !log->draws_arrivals, .shift_s = (double)NAN};
}

void replay_times_note_arrival(struct replay_arrivals *arrivals, double arrival_s, const struct log_entry *entry)
{
    const double shift_s = arrival_s - sim_s_from_ns(entry->arrival_ns);
    if (isnan(arrivals->shift_s)) arrivals->shift_s = shift_s;
    if (fabs(shift_s - arrivals->shift_s) > SAME_S) arrivals->same = false;
}

int replay_times_compare(struct replay_times *times)
{
    int code = 0;
    for (int time = 0; code == 0 && time < REPLAY_TIMES; time++)
        code = replay_errors(times->measured[time], times->simulated[time], times->log->n, &times->errors[time]);
    return code;
}

/* --- Printing --- */

/* Fills the table of one section. */
typedef void (*fill_fn)(const struct replay_times *times, struct answer_table *table);

static void add_error(struct answer_table *table, double measured, double simulated)
{
    table_number(table, measured);
    table_number(table, simulated);
    table_number(table, measured > 0.0 ? 100.0 * (simulated / measured - 1.0) : (double)NAN);
}

static void fill_distributions(const struct replay_times *times, struct answer_table *table)
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        const struct replay_errors *errors = &times->errors[time];
        for (int i = 0; errors->n > 0 && i < REPLAY_STATISTICS; i++) {
            table_text(table, replay_time_names[time]);
            table_text(table, errors->statistics[i].name);
            add_error(table, errors->statistics[i].measured, errors->statistics[i].simulated);
        }
    }
}

static void fill_requests(const struct replay_times *times, struct answer_table *table)
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        const struct replay_errors *errors = &times->errors[time];
        if (errors->n == 0) continue;
        table_text(table, replay_time_names[time]);
        table_number(table, (double)errors->n);
        table_number(table, errors->bias_s);
        table_number(table, errors->mean_abs_s);
        table_number(table, 100.0 * errors->mean_abs_frac);
    }
}

/* Requests and output tokens per second, from the first arrival to the last token, over requests that finished in
 * both the log and the simulation. The run may begin at another time of the log than its first arrival. */
static void fill_throughput(const struct replay_times *times, struct answer_table *table)
{
    const struct engine_log *log = times->log;
    double first_s = (double)INFINITY, measured_s = 0.0, simulated_s = 0.0, requests = 0.0, tokens = 0.0;
    for (size_t i = 0; i < log->n; i++) {
        if (isnan(times->finish_s[i])) continue;
        const double arrival_s = sim_s_from_ns(log->entries[i].arrival_ns);
        first_s = fmin(first_s, arrival_s);
        measured_s = fmax(measured_s, arrival_s + log->entries[i].e2e_s);
        simulated_s = fmax(simulated_s, times->finish_s[i]);
        requests += 1.0;
        tokens += (double)log->entries[i].output_tokens;
    }
    measured_s -= first_s;
    simulated_s -= first_s + times->shift_s;
    if (!(measured_s > 0.0) || !(simulated_s > 0.0)) return;
    table_text(table, "requests_per_s");
    add_error(table, requests / measured_s, requests / simulated_s);
    table_text(table, "output_tokens_per_s");
    add_error(table, tokens / measured_s, tokens / simulated_s);
}

static void fill_worst(const struct replay_times *times, struct answer_table *table)
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        const struct replay_errors *errors = &times->errors[time];
        for (size_t i = 0; i < errors->n_worst; i++) {
            const size_t at = errors->worst[i];
            const struct log_entry *entry = &times->log->entries[at];
            table_text(table, replay_time_names[time]);
            table_text(table, entry->name);
            table_number(table, sim_s_from_ns(entry->arrival_ns));
            table_number(table, (double)entry->prompt_tokens);
            table_number(table, (double)entry->output_tokens);
            add_error(table, times->measured[time][at], times->simulated[time][at]);
        }
    }
}

#define BOTH RIGHT("measured"), RIGHT("simulated"), RIGHT("error_percent")

static const struct section {
    const char *key, *heading;
    bool of_arrivals; /* it needs the measured arrivals */
    size_t n_columns;
    struct table_column columns[8];
    fill_fn fill;
} sections[] = {
    {"distributions", "Distributions", false, 5, {LEFT("time"), LEFT("statistic"), BOTH}, fill_distributions},
    {"per_request", "Request by request, simulated - measured", true, 5,
     {LEFT("time"), RIGHT("requests"), RIGHT("bias_s"), RIGHT("mean_abs_s"), RIGHT("mean_abs_percent")}, fill_requests},
    {"throughput", "Throughput", true, 4, {LEFT("rate"), BOTH}, fill_throughput},
    {"worst", "Worst requests", true, 8,
     {LEFT("time"), LEFT("id"), RIGHT("arrival_s"), RIGHT("prompt_tokens"), RIGHT("output_tokens"), BOTH}, fill_worst},
};

static void add_sentences(const struct replay_times *times, struct answer *answer)
{
    const struct engine_log *log = times->log;
    answer_bool(answer, "same_arrivals", times->same_arrivals);
    if (!times->same_arrivals)
        answer_say(answer,
                   "\nThe arrivals are not the measured ones: distributions can be compared, single requests and "
                   "throughput cannot.\n");
    if (log->n_untimed > 0)
        answer_say(answer, "\n%zu request%s no times in the file: %s not streamed.\n", log->n_untimed,
                   log->n_untimed == 1 ? " has" : "s have", log->n_untimed == 1 ? "it was" : "they were");
    if (log->max_concurrency > 0)
        answer_say(answer,
                   "\nThe benchmark kept at most %" PRId64 " requests open, so its requests waited for earlier "
                   "ones. The simulation does not: it takes the times at which they were sent.\n",
                   log->max_concurrency);
}

void replay_times_add(const struct replay_times *times, struct answer *answer)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        struct answer_table table;
        if (sections[i].of_arrivals && !times->same_arrivals) continue;
        table_init(&table, sections[i].columns, sections[i].n_columns);
        sections[i].fill(times, &table);
        answer_add(answer, sections[i].key, sections[i].heading, &table);
    }
    add_sentences(times, answer);
}
