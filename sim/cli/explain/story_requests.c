/* What happened to a request: where it was routed, what its replica did while it waited, and what it decoded beside. */
#include "sim/cli/explain/story_parts.h"

#include "sim/core/err.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Below it a difference to the time at the highest clock is a rounding error. */
static const double LEAST_SLOWED_S = 1e-9;

/* Routing takes a nanosecond where a replica comes up at the same moment. */
static const double AT_ONCE_S = 2e-9;

/* A replica that came up this long ago may not have its share of the load yet. */
static const double LATELY_S = 60;

/* ", 1.2 s longer than at the highest clock", or nothing if lower clocks added no time. */
static const char *slowed_text(char text[static 80], double slowed_s)
{
    text[0] = '\0';
    char time[32];
    if (slowed_s > LEAST_SLOWED_S)
        snprintf(text, 80, ", %s longer than at the highest clock", story_time(time, slowed_s));
    return text;
}

/* --- Its service --- */

/* The number behind `start`, or -1. */
static int64_t number_after(const char *text, const char *start)
{
    const size_t n = strlen(start);
    return strncmp(text, start, n) == 0 ? strtoll(text + n, NULL, 10) : -1;
}

/* The replica of this number; NULL: out of memory. */
static struct story_replica *replica_of(struct story *story, int64_t number)
{
    const struct story_replica since_start = {.up_s = (double)NAN};
    while (story->n_replicas <= (size_t)number)
        if (vec_push(&story->replicas, &story->n_replicas, &story->replicas_capacity, since_start) != 0) return NULL;
    return &story->replicas[number];
}

/* "replica 4: gpu on node 3" */
static int note_failure(struct story *story, struct story_replica *replica, const char *reason)
{
    const char *cause = strstr(reason, ": ");
    replica->failed_by = arena_strdup(story->arena, cause != NULL ? cause + strlen(": ") : reason);
    return replica->failed_by != NULL ? 0 : SIM_E_NOMEM;
}

const char *story_failure_of_replica(const struct story *story)
{
    const bool is_known = story->replica >= 0 && (size_t)story->replica < story->n_replicas;
    return is_known ? story->replicas[story->replica].failed_by : NULL;
}

int story_see_service(struct story *story, const struct decision_row *row)
{
    if (strcmp(row->service, story->subject.service) != 0) return 0;
    const bool is_up = strcmp(row->action, "up") == 0, is_route = strcmp(row->action, "route") == 0;
    const bool fails = strcmp(row->action, "fail") == 0;
    const int64_t number = is_up || fails ? number_after(row->reason, "replica ")
                           : is_route     ? number_after(row->reason, "to replica ")
                                          : -1;
    if (number < 0) return 0;
    struct story_replica *replica = replica_of(story, number);
    if (replica == NULL) return SIM_E_NOMEM;
    if (fails) return note_failure(story, replica, row->reason);
    if (is_up)
        *replica = (struct story_replica){.up_s = row->t_s, .n_service = story->n_routed, .queue = replica->queue};
    else
        replica->n_routed++, story->n_routed++;
    return 0;
}

/* If the replica came up a short while ago: how many requests it took since. */
static int tell_newcomer(struct story *story, double t_s)
{
    const struct story_replica *replica = &story->replicas[story->replica];
    if (!(t_s - replica->up_s <= LATELY_S)) return 0;
    const int64_t n_others = replica->n_routed - 1, n_all = story->n_routed - replica->n_service - 1;
    char before[48] = "at this moment", time[32];
    if (t_s - replica->up_s > AT_ONCE_S)
        snprintf(before, sizeof before, "%s before", story_time(time, t_s - replica->up_s));
    return story_tell(story, t_s, "replica",
                      "%s/%" PRId64 " came up %s; of %" PRId64 " other request%s since then it took %" PRId64,
                      story->subject.service, story->replica, before, n_all, story_plural((double)n_all), n_others);
}

/* A service routes a request at once if a replica is up to take it. */
static int tell_outage(struct story *story, double from_s, double to_s)
{
    char time[32];
    if (!(to_s - from_s > AT_ONCE_S)) return 0;
    return story_tell(story, from_s, "outage", "no replica of %s was up to take it from %.6f s to %.6f s, for %s",
                      story->subject.service, from_s, to_s, story_time(time, to_s - from_s));
}

static int see_routed(struct story *story, double t_s)
{
    const double unrouted_s = story->unrouted_s;
    story->unrouted_s = (double)NAN;
    if (isnan(story->first_routed_s)) story->first_routed_s = t_s;
    blocked_routed(&story->blocked, t_s, &story->replicas[story->replica].queue);
    const int code = isnan(unrouted_s) ? 0 : tell_outage(story, unrouted_s, t_s);
    return code != 0 ? code : tell_newcomer(story, t_s);
}

int story_end_request(struct story *story)
{
    const struct request_row *request = &story->request;
    const bool is_left = request->service != NULL && strcmp(request->status, "unfinished") == 0;
    int code = 0;
    if (is_left) blocked_over(&story->blocked, story->end_s);
    if (is_left || !isnan(story->first_routed_s))
        blocked_arrived(&story->blocked, request->arrival_s, story->first_routed_s, story->end_s);
    if (!isnan(story->first_routed_s) && request->service != NULL)
        code = tell_outage(story, request->arrival_s, story->first_routed_s);
    else if (is_left)
        code = tell_outage(story, request->arrival_s, story->end_s);
    if (code == 0 && is_left && !isnan(story->unrouted_s)) code = tell_outage(story, story->unrouted_s, story->end_s);
    return code;
}

/* --- Waiting and decoding --- */

/* When the request enters the batch: what its replica did while it waited. */
int story_tell_wait(struct story *story, double t_s)
{
    char slowed[80];
    struct story_work work = story->meanwhile;
    story->meanwhile = (struct story_work){0};
    if (work.prefill_iterations + work.decode_iterations == 0) return 0;
    return story_tell(story, t_s, "waited",
                      "meanwhile %s/%" PRId64 " did %" PRId64 " iteration%s with prompts (%" PRId64
                      " tokens) and %" PRId64 " of decoding alone%s",
                      story->subject.service, story->replica, work.prefill_iterations,
                      story_plural((double)work.prefill_iterations), work.prefill_tokens, work.decode_iterations,
                      slowed_text(slowed, work.slowed_s));
}

/* ", with 3.2 of its 4 sequences", for a request that decodes as several. */
static const char *own_text(const struct story *story, char text[static 64])
{
    const struct story_decoding *work = &story->decoding;
    text[0] = '\0';
    if (story->sequences.n > 0)
        snprintf(text, 64, " with %.3g of its %" PRId64 " sequences", work->own / (double)work->n, story->sequences.n);
    return text;
}

/* The iterations since the request's first token in the batch: their number, mean time, and what they did beside. */
static int tell_decoding(struct story *story, double t_s)
{
    char slowed[80], own[64], prompts[160] = "", some[32], all[32], each[32];
    const struct story_decoding work = story->decoding;
    const bool is_several = story->sequences.n > 0, by_iteration = story->subject.drafts || is_several;
    if (work.n == 0 || story->subject.has_stages) return 0;
    own_text(story, own);
    story->decoding = (struct story_decoding){0};
    if (work.others.n > 0)
        snprintf(prompts, sizeof prompts,
                 "; %" PRId64 " iteration%s with prompts of others (%" PRId64 " tokens) took %s of %s", work.others.n,
                 story_plural((double)work.others.n), work.others.tokens, story_time(some, work.others.time_s),
                 story_time(all, work.time_s));
    return story_tell(story, t_s, "decoded", "%" PRId64 " %s%s%s, one every %s%s, beside %.3g %s on average%s", work.n,
                      by_iteration ? "iteration" : "token", story_plural((double)work.n), own,
                      story_time(each, work.time_s / (double)work.n), slowed_text(slowed, work.slowed_s),
                      (work.sequences - work.own) / (double)work.n, is_several ? "sequences of others" : "others",
                      prompts);
}

/* What a decision does to the sequences of a request that has become several: one of them leaves the batch or comes
 * back, while the others decode. A piece of a prompt that was not the last gave no token. */
static void follow_sequences(struct story_sequences *own, const char *action)
{
    if (own->n == 0) return;
    if (story_is_any(action, (const char *const[]){"preempt", "pause", "chunk", NULL}))
        own->decoding -= own->decoding > 0;
    if (story_is_any(action, (const char *const[]){"continue", "swap-in", NULL})) own->decoding++;
    if (story_is_any(action, (const char *const[]){"resume", "chunk", NULL})) own->prompts++;
    if (strcmp(action, "requeue") == 0) own->decoding = own->prompts = 0;
}

void story_leave(struct story *story, double t_s)
{
    story->in_batch = story->has_arrived = false;
    story->others = (struct story_prompts){0};
    story->waits_from_s = t_s;
}

int story_follow_request(struct story *story, const struct decision_row *row)
{
    const bool enters = story_is_any(row->action,
                                     (const char *const[]){"admit", "resume", "continue", "swap-in", NULL});
    const bool leaves = story_is_any(row->action, (const char *const[]){"preempt", "pause", "requeue", "finish", NULL});
    const int64_t routed = strcmp(row->action, "route") == 0 ? number_after(row->reason, "to replica ") : -1;
    int code = 0;
    if (routed >= 0) {
        story->replica = routed;
        code = see_routed(story, row->t_s);
    }
    if (strcmp(row->action, "requeue") == 0) {
        story->unrouted_s = row->t_s;
        blocked_requeued(&story->blocked, row->t_s);
    }
    if (story_is_any(row->action, (const char *const[]){"admit", "resume", "finish", "reject", NULL}))
        blocked_over(&story->blocked, row->t_s);
    if (story_is_any(row->action, (const char *const[]){"finish", "reject", NULL})) story->is_over = true;
    if (leaves && code == 0) code = tell_decoding(story, row->t_s);
    follow_sequences(&story->sequences, row->action);
    const bool others_decode = story->sequences.decoding > 0 && strcmp(row->action, "finish") != 0;
    if (leaves && !others_decode) story_leave(story, row->t_s);
    if (routed >= 0) story->waits_from_s = row->t_s;
    if (enters && code == 0 && !story->in_batch) code = story_tell_wait(story, row->t_s);
    if (enters && !story->in_batch) story->joins_at_s = row->t_s;
    if (enters) story->in_batch = true;
    if (story_is_any(row->action, (const char *const[]){"admit", "resume", "chunk", NULL}))
        story->prompt_from_s = row->t_s;
    if (strcmp(row->action, "chunk") == 0) story->last_token_s = story->token_before_s; /* the piece before gave none */
    return code;
}

/* --- Batches of its replica --- */

/* Once for each command that slows the request down: who gave it, when and why. */
static int tell_power(struct story *story, const struct batch_row *row, double t_s)
{
    if (row->power_domain == NULL) return 0;
    struct story_command *command = story_find_command(story, row->power_domain, row->power_target, row->power_given_s);
    if (command == NULL || command->is_told) return 0;
    command->is_told = true;
    char effect[64];
    snprintf(effect, sizeof effect, "clock at %.3g %% of the highest", 100 * row->clock_frac);
    return story_tell_command(story, t_s, command, effect);
}

/* An iteration that does not complete. Its replica fails, which is the next event, or the run ends. */
static int tell_cut(struct story *story, const struct batch_row *row, const char *loads)
{
    char time[32];
    return story_tell(story, row->end_s, "prefill",
                      "%san iteration cut short after %s, so it counts for nothing: %" PRId64 " tokens of %" PRId64
                      " prompt%s",
                      loads, story_time(time, row->end_s - row->start_s), row->prefill_tokens, row->prefill_sequences,
                      story_plural((double)row->prefill_sequences));
}

static int on_prefill(struct story *story, const struct batch_row *row)
{
    char slowed[80], loads[64] = "", time[32];
    if (!(row->start_s >= story->prompt_from_s)) return 0;
    if (row->start_s > story->prompt_from_s)
        snprintf(loads, sizeof loads, "after %s for loads, ", story_time(time, row->start_s - story->prompt_from_s));
    story->prompt_from_s = (double)NAN;
    const double lasted_s = row->end_s - row->start_s;
    const int code = tell_power(story, row, row->start_s);
    if (code != 0) return code;
    if (row->iterations == 0) return tell_cut(story, row, loads);
    return story_tell(story, row->end_s, "prefill",
                      "%san iteration of %s: %" PRId64 " tokens of %" PRId64 " prompt%s, %" PRId64 " decoding beside%s",
                      loads, story_time(time, lasted_s), row->prefill_tokens, row->prefill_sequences,
                      row->prefill_sequences == 1 ? "" : "s", row->decoding,
                      slowed_text(slowed, lasted_s - row->full_clock_s));
}

int story_on_admission(void *context, const struct admission_row *row)
{
    struct story *story = context;
    const struct story_subject *subject = &story->subject;
    if (subject->is_job || strcmp(row->service, subject->service) != 0) return 0;
    struct story_replica *replica = replica_of(story, row->replica);
    if (replica == NULL) return SIM_E_NOMEM;
    if (row->step == ADMISSION_PLANNED || row->step == ADMISSION_HELD) replica->queue = queue_state_of(row);
    if (row->replica == story->replica && isnan(story->unrouted_s))
        blocked_see(&story->blocked, subject->id, row, &replica->queue);
    return 0;
}

int story_on_token_wait(void *context, const struct token_wait_row *row)
{
    struct story *story = context;
    const struct story_subject *subject = &story->subject;
    if (subject->is_job || row->request != subject->id || strcmp(row->service, subject->service) != 0) return 0;
    story->gap_s = row->wait_s;
    story->gap_from_s = row->from_s;
    return 0;
}

/* Of a row that began before the wait, the iterations since count, also the one amid which it began: as many as their
 * share of the time, since the iterations of a row are about equally long. */
static int count_meanwhile(struct story *story, const struct batch_row *row)
{
    const double from_s = fmax(row->start_s, story->waits_from_s);
    const double share = row->end_s > row->start_s ? (row->end_s - from_s) / (row->end_s - row->start_s) : 1;
    const bool has_prefill = row->prefill_sequences > 0;
    if (story->is_over || !(share > 0)) return 0;
    const int64_t iterations = (int64_t)ceil(share * (double)row->iterations - 1e-9);
    story->meanwhile.prefill_tokens += row->prefill_tokens;
    story->meanwhile.prefill_iterations += has_prefill ? iterations : 0;
    story->meanwhile.decode_iterations += has_prefill ? 0 : iterations;
    story->meanwhile.slowed_s += share * (row->end_s - row->start_s - row->full_clock_s);
    return tell_power(story, row, from_s);
}

/* A token has come: the iterations with prompts of others since the one before it are part of its time. */
static void take_others(struct story *story)
{
    story->decoding.others.n += story->others.n;
    story->decoding.others.tokens += story->others.tokens;
    story->decoding.others.time_s += story->others.time_s;
}

int story_on_batch(void *context, const struct batch_row *row)
{
    struct story *story = context;
    if (story->subject.is_job || row->replica != story->replica || strcmp(row->service, story->subject.service) != 0)
        return 0;
    bool has_prefill = row->prefill_sequences > 0;
    if (!story->in_batch || row->start_s < story->joins_at_s) {
        return count_meanwhile(story, row);
    }
    int code = story_tell_join(story, row->start_s);
    if (code != 0) return code;
    size_t before = story->n_events;
    code = has_prefill ? on_prefill(story, row) : 0;
    bool own_prompt = story->n_events > before;
    if (own_prompt) story->token_before_s = story->last_token_s;
    bool gives_token = own_prompt || (row->decoding > 0 && !isnan(story->last_token_s));
    if (row->iterations == 0) return code;
    if (has_prefill && !own_prompt && !isnan(story->last_token_s)) {
        story->others.n += row->iterations;
        story->others.tokens += row->prefill_tokens;
        story->others.time_s += row->end_s - row->start_s;
    }
    if (!gives_token) return code;
    const int64_t own = story->sequences.n == 0 ? 1 : story->sequences.decoding;
    if (!own_prompt || (story->sequences.n > 0 && own > 0)) {
        story->decoding.n += row->iterations;
        story->decoding.own += (double)(own * row->iterations);
        story->decoding.time_s += row->end_s - fmax(story->last_token_s, story->joins_at_s);
        take_others(story);
        story->decoding.slowed_s += row->end_s - row->start_s - row->full_clock_s;
        story->decoding.sequences += (double)(row->decoding * row->iterations);
        if (code == 0) code = tell_power(story, row, row->start_s);
    }
    story->others = (struct story_prompts){0};
    if (own_prompt) story->sequences.decoding += story->sequences.prompts;
    if (own_prompt) story->sequences.prompts = 0;
    story->last_token_s = row->end_s;
    return code;
}
