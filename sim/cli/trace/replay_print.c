#include "sim/cli/trace/replay_print.h"

#include "sim/cli/answer.h"

#include <inttypes.h>
#include <math.h>

/* Fills the table of one section of the report. */
typedef void (*fill_fn)(const struct replay_report *report, struct answer_table *table);

static void add_error(struct answer_table *table, double measured, double simulated)
{
    table_number(table, measured);
    table_number(table, simulated);
    table_number(table, measured > 0.0 ? 100.0 * (simulated / measured - 1.0) : (double)NAN);
}

static void fill_distributions(const struct replay_report *report, struct answer_table *table)
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        const struct replay_errors *errors = &report->errors[time];
        for (int i = 0; errors->n > 0 && i < REPLAY_STATISTICS; i++) {
            table_text(table, replay_time_names[time]);
            table_text(table, errors->statistics[i].name);
            add_error(table, errors->statistics[i].measured, errors->statistics[i].simulated);
        }
    }
}

static void fill_requests(const struct replay_report *report, struct answer_table *table)
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        const struct replay_errors *errors = &report->errors[time];
        if (errors->n == 0) continue;
        table_text(table, replay_time_names[time]);
        table_number(table, (double)errors->n);
        table_number(table, errors->bias_s);
        table_number(table, errors->mean_abs_s);
        table_number(table, 100.0 * errors->mean_abs_frac);
    }
}

/* Requests and output tokens per second, from the first arrival to the last token, over requests that finished in
 * both the log and the simulation. */
static void fill_throughput(const struct replay_report *report, struct answer_table *table)
{
    const struct engine_log *log = &report->replay->log;
    double measured_s = 0.0, simulated_s = 0.0, requests = 0.0, tokens = 0.0;
    for (size_t i = 0; i < log->n; i++) {
        if (isnan(report->outcome->finish_s[i])) continue;
        measured_s = fmax(measured_s, sim_s_from_ns(log->entries[i].arrival_ns) + log->entries[i].e2e_s);
        simulated_s = fmax(simulated_s, report->outcome->finish_s[i]);
        requests += 1.0;
        tokens += (double)log->entries[i].output_tokens;
    }
    if (!(measured_s > 0.0) || !(simulated_s > 0.0)) return;
    table_text(table, "requests_per_s");
    add_error(table, requests / measured_s, requests / simulated_s);
    table_text(table, "output_tokens_per_s");
    add_error(table, tokens / measured_s, tokens / simulated_s);
}

static void fill_worst(const struct replay_report *report, struct answer_table *table)
{
    for (int time = 0; time < REPLAY_TIMES; time++) {
        const struct replay_errors *errors = &report->errors[time];
        for (size_t i = 0; i < errors->n_worst; i++) {
            const size_t at = errors->worst[i];
            const struct log_entry *entry = &report->replay->log.entries[at];
            table_text(table, replay_time_names[time]);
            table_text(table, entry->name);
            table_number(table, sim_s_from_ns(entry->arrival_ns));
            table_number(table, (double)entry->prompt_tokens);
            table_number(table, (double)entry->output_tokens);
            add_error(table, report->replay->measured[time][at], report->outcome->simulated[time][at]);
        }
    }
}

static void fill_refit(const struct replay_report *report, struct answer_table *table)
{
    for (int i = 0; i < 2; i++) {
        const struct replay_part *part = &report->refit->parts[i];
        for (int time = 0; time < REPLAY_TIMES; time++) {
            if (part->before[time].n == 0) continue;
            table_text(table, part->name);
            table_number(table, (double)part->n);
            table_text(table, replay_time_names[time]);
            table_number(table, 100.0 * part->before[time].statistics[0].error_frac);
            table_number(table, 100.0 * part->before[time].mean_abs_frac);
            table_number(table, 100.0 * part->after[time].statistics[0].error_frac);
            table_number(table, 100.0 * part->after[time].mean_abs_frac);
        }
    }
}

#define BOTH RIGHT("measured"), RIGHT("simulated"), RIGHT("error_percent")

static const struct section {
    const char *key, *heading;
    size_t n_columns;
    struct table_column columns[8];
    fill_fn fill;
} sections[] = {
    {"distributions", "Distributions", 5, {LEFT("time"), LEFT("statistic"), BOTH}, fill_distributions},
    {"per_request", "Request by request, simulated - measured", 5,
     {LEFT("time"), RIGHT("requests"), RIGHT("bias_s"), RIGHT("mean_abs_s"), RIGHT("mean_abs_percent")}, fill_requests},
    {"throughput", "Throughput", 4, {LEFT("rate"), BOTH}, fill_throughput},
    {"worst", "Worst requests", 8,
     {LEFT("time"), LEFT("id"), RIGHT("arrival_s"), RIGHT("prompt_tokens"), RIGHT("output_tokens"), BOTH}, fill_worst},
    {"refit", "CPU overhead refitted: error of the mean, and mean error by request, in percent", 7,
     {LEFT("part"), RIGHT("requests"), LEFT("time"), RIGHT("mean_before"), RIGHT("by_request_before"),
      RIGHT("mean_after"), RIGHT("by_request_after")},
     fill_refit},
};

enum { N_SECTIONS = sizeof sections / sizeof *sections, REFIT_SECTION = N_SECTIONS - 1 };

/* The member of a scenario that sets the overhead that was found. */
static void add_overhead(const struct replay_overhead *overhead, struct text *text)
{
    text_printf(text, "{\"iteration\": \"%.8gms\", \"sequence\": \"%.8gus\", \"prompt\": \"%.8gms\"}",
                1e3 * overhead->iteration_s, 1e6 * overhead->sequence_s, 1e3 * overhead->prompt_s);
}

static void say_counts(const struct replay_report *report, struct answer *answer)
{
    const struct replay_outcome *outcome = report->outcome;
    answer_say(answer, "%s: %zu requests, through service '%s' of %s: %" PRId64 " finished",
               report->replay->request.log, report->replay->log.n, report->replay->service, report->scenario,
               outcome->finished);
    if (outcome->rejected > 0) answer_say(answer, ", %" PRId64 " rejected", outcome->rejected);
    if (outcome->unfinished > 0) answer_say(answer, ", %" PRId64 " unfinished", outcome->unfinished);
    if (outcome->absent > 0) answer_say(answer, ", %" PRId64 " left out", outcome->absent);
    answer_say(answer, "\n");
}

static void add_head(const struct replay_report *report, struct answer *answer)
{
    const struct replay_outcome *outcome = report->outcome;
    answer_text(answer, "log", report->replay->request.log);
    answer_text(answer, "format", report->replay->log.format);
    answer_text(answer, "scenario", report->scenario);
    answer_text(answer, "service", report->replay->service);
    answer_number(answer, "requests", (double)report->replay->log.n);
    answer_number(answer, "finished", (double)outcome->finished);
    answer_number(answer, "rejected", (double)outcome->rejected);
    answer_number(answer, "unfinished", (double)outcome->unfinished);
    answer_number(answer, "left_out", (double)outcome->absent);
}

static void add_refit(const struct replay_refit *refit, struct answer *answer)
{
    struct text overhead;
    text_init(&overhead);
    add_overhead(&refit->overhead, &overhead);
    answer->failed |= overhead.failed;
    const char *found = overhead.failed ? "" : overhead.chars;
    answer_number(answer, "evaluations", refit->evaluations);
    answer_bool(answer, "converged", refit->converged);
    answer_json(answer, "overhead", found);
    answer_say(answer, "\nFound in %d simulations; in the scenario's cost: \"overhead\": %s\n", refit->evaluations,
               found);
    if (!refit->improved) answer_say(answer, "It is unchanged: nothing else fitted the first part better.\n");
    const struct replay_part *test = &refit->parts[1];
    if (test->after[REPLAY_E2E].mean_abs_frac > test->before[REPLAY_E2E].mean_abs_frac)
        answer_say(answer,
                   "It does not generalise: on the second part, end-to-end times by request are worse than before.\n");
    if (!refit->converged) answer_say(answer, "The search has not converged.\n");
    text_fini(&overhead);
}

int replay_print(const struct replay_report *report, bool as_json, FILE *out)
{
    struct answer answer;
    answer_init(&answer, as_json ? ANSWER_JSON : ANSWER_TEXT, NULL);
    say_counts(report, &answer);
    add_head(report, &answer);
    for (size_t i = 0; i < (report->refit != NULL ? N_SECTIONS : REFIT_SECTION); i++) {
        struct answer_table table;
        table_init(&table, sections[i].columns, sections[i].n_columns);
        sections[i].fill(report, &table);
        answer_add(&answer, sections[i].key, sections[i].heading, &table);
    }
    if (report->refit != NULL) add_refit(report->refit, &answer);
    return answer_end(&answer, 0, out);
}
