#include "sim/study/conform_watch.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static void note(struct conform_watch *watch, double t_s, const char *format, ...)
{
    if (watch->problem[0] != 0) return;
    watch->problem_s = t_s;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(watch->problem, sizeof watch->problem, format, arguments);
    va_end(arguments);
}

/* --- Rows --- */

static void see(struct conform_watch *watch, const char *what, int64_t id, const char *status, double t_s)
{
    watch->n_rows++;
    watch->n_rejected += strcmp(status, "rejected") == 0;
    if (id < 0 || (size_t)id >= watch->n || watch->seen[id]++ != 0)
        note(watch, t_s, "%s %" PRId64 " comes to an end twice", what, id);
    watch->finished += strcmp(status, "rejected") != 0 && strcmp(status, "unfinished") != 0;
    if (strcmp(status, "unfinished") == 0) note(watch, t_s, "%s %" PRId64 " never comes to its end", what, id);
}

static bool is_near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance;
}

static int on_job(void *context, const struct job_row *row)
{
    struct conform_watch *watch = context;
    see(watch, "job", row->id, row->status, row->submit_s);
    watch->gpu_s += row->gpu_s;
    watch->preemptions += (double)row->preemptions;
    if (isnan(row->end_s)) return 0;
    double run_s = row->gpus > 0 ? row->gpu_s / (double)row->gpus : row->end_s - row->start_s;
    if (row->start_s < row->submit_s || !is_near(row->jct_s, row->end_s - row->submit_s, 1e-9 * row->end_s))
        note(watch, row->end_s, "job %" PRId64 " starts before it is submitted", row->id);
    if (*watch->grants_others) return 0;
    double slack_s = 1e-9 + 1e-12 * row->end_s;
    if (row->end_s < row->start_s + run_s - slack_s ||
        (row->preemptions == 0 && !is_near(row->end_s, row->start_s + run_s, slack_s)))
        note(watch, row->end_s, "job %" PRId64 " holds its GPUs for another time than it runs", row->id);
    return 0;
}

static int on_request(void *context, const struct request_row *row)
{
    struct conform_watch *watch = context;
    see(watch, "request", row->id, row->status, row->arrival_s);
    if (strcmp(row->status, "finished") != 0) return 0;
    watch->gaps_expected += row->output_tokens - 1;
    watch->prompt_tokens += (double)row->prompt_tokens;
    watch->output_tokens += (double)row->output_tokens;
    bool one_token = row->output_tokens == 1;
    bool ok = row->queue_s >= 0 && row->queue_s < row->ttft_s && row->ttft_s <= row->e2e_s;
    ok = ok && (one_token ? row->e2e_s == row->ttft_s : row->e2e_s > row->ttft_s);
    ok = ok &&
         (one_token || (row->tpot_s <= row->max_gap_s + 1e-9 && row->max_gap_s <= row->e2e_s - row->ttft_s + 1e-9));
    if (!ok) note(watch, row->arrival_s, "the times of request %" PRId64 " do not fit together", row->id);
    return 0;
}

static int on_histogram(void *context, const struct histogram_row *row)
{
    struct conform_watch *watch = context;
    if (strcmp(row->name, "token.gap_s") == 0) watch->gaps += row->count;
    return 0;
}

/* Metrics follow the rows that they sum up. */
static int on_metric(void *context, const struct metric_row *row)
{
    struct conform_watch *watch = context;
    const struct {
        const char *name;
        double expected;
    } sums[] = {{"job.submitted", (double)watch->n},
                {"job.finished", watch->finished},
                {"job.gpu_s.sum", watch->gpu_s},
                {"job.preemptions.sum", watch->preemptions},
                {"request.arrived", (double)watch->n},
                {"request.finished", watch->finished},
                {"request.prompt_tokens.sum", watch->prompt_tokens},
                {"request.output_tokens.sum", watch->output_tokens}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (strcmp(row->name, sums[i].name) == 0 &&
            !is_near(row->value, sums[i].expected, 1e-9 * fabs(sums[i].expected)))
            note(watch, (double)NAN, "%s is %.9g, the rows add up to %.9g", row->name, row->value, sums[i].expected);
    return 0;
}

/* --- Decisions --- */

static uint64_t mix_text(uint64_t sum, const char *text)
{
    /* FNV-1a */
    for (; text != NULL && *text != 0; text++) sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return sum;
}

static int on_decision(void *context, const struct decision_row *row)
{
    struct conform_watch *watch = context;
    if (watch->n_decisions == watch->capacity) {
        size_t capacity = 2 * watch->capacity + 64;
        struct watched_decision *decisions = mem_realloc(watch->decisions, capacity * sizeof *decisions);
        if (decisions == NULL) return SIM_E_NOMEM;
        watch->decisions = decisions;
        watch->capacity = capacity;
    }
    struct watched_decision *decision = &watch->decisions[watch->n_decisions++];
    *decision = (struct watched_decision){.t_s = row->t_s, .subject = row->subject};
    decision->mark = UINT64_C(0xcbf29ce484222325);
    const char *const texts[] = {row->service, row->action, row->reason};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) decision->mark = mix_text(decision->mark, texts[i]);
    snprintf(decision->action, sizeof decision->action, "%s", row->action);
    return 0;
}

/* --- The watch --- */

int conform_watch_init(struct conform_watch *watch, size_t n)
{
    *watch = (struct conform_watch){.n = n, .problem_s = (double)NAN};
    watch->seen = mem_zalloc(n, 1);
    if (watch->seen == NULL) return SIM_E_NOMEM;
    return hash_sink_init(&watch->results, KEEP_DECISIONS);
}

void conform_watch_fini(struct conform_watch *watch)
{
    hash_sink_fini(&watch->results);
    mem_free(watch->decisions);
    mem_free(watch->seen);
}

struct sink conform_watch_sink(struct conform_watch *watch)
{
    watch->tee = (struct tee){0};
    tee_add(&watch->tee, hash_sink(&watch->results));
    tee_add(&watch->tee, (struct sink){.context = watch, .job = on_job, .request = on_request,
                                       .histogram = on_histogram, .metric = on_metric, .decision = on_decision,
                                       .detail = on_decision});
    return tee_sink(&watch->tee);
}

int conform_watch_end(struct conform_watch *watch)
{
    if (watch->gaps != watch->gaps_expected)
        note(watch, (double)NAN, "%" PRId64 " gaps between tokens were counted, %" PRId64 " expected", watch->gaps,
             watch->gaps_expected);
    return hash_sink_hex(&watch->results, watch->hash);
}

bool conform_watch_rows(const struct conform_watch *watch, const struct conform_case *wanted, bool may_reject,
                        double *t_s, char *text, size_t text_bytes)
{
    const bool few = may_reject ? watch->n_rejected >= wanted->n_rejected : watch->n_rejected == wanted->n_rejected;
    text[0] = 0;
    *t_s = watch->problem_s;
    if (watch->problem[0] != 0)
        snprintf(text, text_bytes, "%s", watch->problem);
    else if (watch->n_rows != watch->n)
        snprintf(text, text_bytes, "%zu of %zu come to an end", watch->n_rows, watch->n);
    else if (!few && !wanted->may_reject)
        snprintf(text, text_bytes, "%zu are rejected, expected %zu", watch->n_rejected, wanted->n_rejected);
    return text[0] == 0;
}

bool conform_watch_same(const struct conform_watch *a, const struct conform_watch *b, double *t_s, char *text,
                        size_t text_bytes)
{
    text[0] = 0;
    if (strcmp(a->hash, b->hash) == 0) return true;
    size_t n = a->n_decisions < b->n_decisions ? a->n_decisions : b->n_decisions, i = 0;
    for (; i < n; i++) {
        const struct watched_decision *x = &a->decisions[i], *y = &b->decisions[i];
        if (x->t_s != y->t_s || x->subject != y->subject || x->mark != y->mark) break;
    }
    if (i < n) {
        const struct watched_decision *x = &a->decisions[i], *y = &b->decisions[i];
        *t_s = fmin(x->t_s, y->t_s);
        snprintf(text, text_bytes,
                 "decision %zu differs: '%s' of %" PRId64 " at %.9g s, and now '%s' of %" PRId64 " at %.9g s", i + 1,
                 x->action, x->subject, x->t_s, y->action, y->subject, y->t_s);
    } else if (a->n_decisions != b->n_decisions) {
        const struct conform_watch *longer = a->n_decisions > n ? a : b;
        *t_s = longer->decisions[n].t_s;
        snprintf(text, text_bytes, "%zu decisions, and now %zu", a->n_decisions, b->n_decisions);
    } else {
        snprintf(text, text_bytes, "the same decisions come to other results");
    }
    return false;
}
