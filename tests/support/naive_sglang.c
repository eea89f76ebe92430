#include "tests/support/naive_sglang.h"

#include <math.h>
#include <string.h>

enum { LPM_QUEUE = 128 };
enum verdict { GO_ON, NO_TOKENS, NO_BUDGET };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t pages(const struct replica_view *view, int64_t tokens)
{
    return (tokens + view->block_tokens - 1) / view->block_tokens;
}

static bool is_evicted(const struct naive_sglang *c, const struct request_view *r)
{
    for (int i = 0; i < c->plan.n_evicted; i++)
        if (c->plan.evicted[i] == r) return true;
    return false;
}

static void say_limit(struct naive_sglang *c, const struct request_view *at, enum batch_limit limit)
{
    if (c->plan.limit != BATCH_LIMIT_UNSTATED) return;
    c->plan.limit = limit;
    c->plan.limited = at;
}

static int64_t slots_of_a_batch(const struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    int64_t most = c->settings->max_sequences;
    if (most == 0) {
        const double contexts = (double)(view->total_blocks * view->block_tokens) / (double)view->max_context_tokens;
        most = (int64_t)(512 * contexts);
        if (most < 2048) most = 2048;
        if (most > 4096) most = 4096;
    }
    return most / view->stages > 1 ? most / view->stages : 1;
}

static int64_t arrived_prompt(const struct replica_view *view, const struct request_view *r)
{
    const int64_t made = replica_view_generated_tokens(view, r);
    return (r->state == REQUEST_DECODING ? replica_view_context_tokens(view, r) : r->prompt_tokens) - made;
}

static int64_t limit_of(const struct naive_sglang *c, const struct request_view *r)
{
    const struct replica_view *view = c->view;
    const int64_t prompt = arrived_prompt(view, r), whole = view->total_blocks;
    if (!replica_view_decodes_here(view, r)) return 1;
    int64_t limit = c->settings->max_tokens > 0 ? c->settings->max_tokens : INT64_MAX;
    limit = least(limit, view->max_context_tokens - prompt - 1);
    limit = least(limit, (whole - pages(view, prompt) - 1) * view->block_tokens - 1);
    return limit < 0 ? 0 : limit;
}

static int64_t to_come(const struct naive_sglang *c, const struct request_view *r)
{
    const int64_t left = limit_of(c, r) - replica_view_generated_tokens(c->view, r);
    return left < 0 ? 0 : least(left, 4096);
}

/* Of the sequences that stay: blocks they take in the next iteration. */
static int64_t growth(const struct naive_sglang *c)
{
    int64_t n = 0;
    for (const struct request_view *r = c->view->oldest_decoding; r != NULL; r = r->next)
        n += !is_evicted(c, r) && replica_view_grows(c->view, r);
    return n;
}

/* Blocks that are free once those who are evicted have left. */
static int64_t free_blocks(const struct naive_sglang *c)
{
    int64_t n = c->view->free_blocks;
    for (int i = 0; i < c->plan.n_evicted; i++) n += replica_view_freed_blocks(c->view, c->plan.evicted[i]);
    return n;
}

static bool mixes(const struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    return c->settings->mixed && view->n_decoding > 0 && view->decode_tokens_each == 1;
}

/* Blocks that prompts may still take. */
static int64_t blocks_left(const struct naive_sglang *c)
{
    return free_blocks(c) - (mixes(c) ? growth(c) : 0) - c->taken;
}

static double remaining(const struct naive_sglang *c)
{
    int64_t sum = 0;
    for (const struct request_view *r = c->view->oldest_decoding; r != NULL; r = r->next)
        if (!is_evicted(c, r)) sum += to_come(c, r);
    const int64_t tokens = free_blocks(c) * c->view->block_tokens - c->locked - c->offset;
    return (double)tokens - (double)sum * c->ratio.now;
}

static void add(struct naive_sglang *c, const struct request_view *r, int64_t done, int64_t tokens, bool ends)
{
    const int64_t page = c->view->block_tokens, paged = pages(c->view, tokens) * page;
    c->plan.prefills[c->plan.n_prefills++] = (struct batch_prefill){r, (int32_t)tokens, done + tokens};
    c->taken += replica_view_needed_blocks(c->view, r, done + tokens);
    c->offset += paged + page + (ends ? least(limit_of(c, r), 4096) : 0);
    c->input -= paged;
    c->chunk -= paged;
}

/* Returns whether the prompt ends. */
static bool go_on(struct naive_sglang *c, const struct request_view *r)
{
    const int64_t page = c->view->block_tokens, done = r->prefilled_tokens, left = r->prompt_tokens - done;
    const double rest = remaining(c);
    int64_t tokens = least(left, c->chunk);
    if (rest >= 1 && rest < (double)tokens) tokens = (int64_t)rest;
    tokens = least(tokens, (replica_view_blocks(c->view, r) + blocks_left(c)) * page - done);
    if (tokens > 0) add(c, r, done, tokens, tokens == left);
    c->seen->cut++;
    return tokens == left;
}

static enum verdict add_one(struct naive_sglang *c, const struct request_view *r, bool alone)
{
    const bool chunks = c->settings->chunk > 0;
    const int64_t page = c->view->block_tokens, cached = replica_view_cached_tokens(c->view, r);
    const int64_t left = r->prompt_tokens - cached, paged = pages(c->view, left) * page;
    /* Cached blocks that nobody uses are free until the request takes them. */
    const int64_t locked = cached > 0 ? page * replica_view_needed_blocks(c->view, r, cached) : 0;
    int64_t tokens = left;
    c->seen->cached += cached > 0;
    if (!alone && (double)(left + to_come(c, r) + page + locked) >= remaining(c)) return NO_TOKENS;
    if (!chunks && c->plan.n_prefills > 0 && paged >= c->input) return NO_BUDGET;
    if (chunks && paged > c->chunk) {
        tokens = c->chunk - c->chunk % page;
        if (tokens == 0 && alone) tokens = least(left, c->chunk);
        if (tokens <= 0) return NO_BUDGET;
    }
    if (replica_view_needed_blocks(c->view, r, cached + tokens) > blocks_left(c)) return NO_TOKENS;
    c->locked += locked;
    add(c, r, cached, tokens, tokens == left);
    if (remaining(c) <= 0) return NO_TOKENS;
    return c->input <= 0 || (chunks && c->chunk <= 0) ? NO_BUDGET : GO_ON;
}

/* --- The queue, sorted --- */

static int64_t priority(const struct naive_sglang *c, const struct request_view *r)
{
    const char *class = r->request_class->name;
    if (!c->settings->by_priority) return 0;
    return strcmp(class, "batch") == 0 ? 20 : strcmp(class, "default") == 0 ? 10 : 0;
}

static bool is_behind(const struct naive_sglang *c, bool by_prefix, const struct request_view *a,
                      const struct request_view *b)
{
    if (by_prefix) return replica_view_cached_tokens(c->view, a) < replica_view_cached_tokens(c->view, b);
    if (!c->settings->by_priority) return false;
    if (priority(c, a) != priority(c, b)) return priority(c, a) > priority(c, b);
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns > b->arrival_ns : a->id > b->id;
}

/* Returns how many wait; at most NAIVE_SGLANG_MOST of them are listed. */
static int list_queue(const struct naive_sglang *c, const struct request_view **queue)
{
    const struct replica_view *view = c->view;
    const bool by_prefix = c->settings->by_prefix && view->n_waiting <= LPM_QUEUE;
    int n = 0;
    for (const struct request_view *r = view->waiting; r != NULL && n < NAIVE_SGLANG_MOST; r = r->next) {
        int at = n++;
        for (; at > 0 && is_behind(c, by_prefix, queue[at - 1], r); at--) queue[at] = queue[at - 1];
        queue[at] = r;
    }
    return n;
}

/* Evicts for the request those behind it by more than the threshold. Returns whether that suffices. */
static bool preempt_for(struct naive_sglang *c, const struct request_view *r)
{
    const int before = c->plan.n_evicted;
    const int64_t left = r->prompt_tokens - replica_view_cached_tokens(c->view, r);
    double lacking = (double)(left + least(limit_of(c, r), 4096)) - remaining(c);
    do {
        const struct request_view *last = NULL;
        for (const struct request_view *d = c->view->oldest_decoding; d != NULL; d = d->next)
            if (!is_evicted(c, d) && (last == NULL || priority(c, d) > priority(c, last) ||
                                      (priority(c, d) == priority(c, last) && d->arrival_ns > last->arrival_ns)))
                last = d;
        if (last == NULL || priority(c, last) - priority(c, r) <= c->settings->threshold) {
            c->plan.n_evicted = before;
            return false;
        }
        lacking -= (double)to_come(c, last) * c->ratio.now;
        c->plan.evicted[c->plan.n_evicted++] = last;
    } while (lacking > 0);
    return true;
}

static void add_queue(struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    const struct request_view *queue[NAIVE_SGLANG_MOST];
    const int n = list_queue(c, queue);
    const int64_t slots = slots_of_a_batch(c) - view->n_decoding - view->n_moving - view->n_paused;
    const bool is_idle = replica_view_running(view) == 0;
    enum verdict verdict = GO_ON;
    bool short_of_slots = false;
    for (int i = 0; i < n && verdict == GO_ON; i++) {
        const int before = c->plan.n_prefills;
        if (before >= slots + c->plan.n_evicted) short_of_slots = true;
        if (short_of_slots && (!c->settings->by_priority || !preempt_for(c, queue[i]))) {
            say_limit(c, queue[i], BATCH_LIMIT_SEQUENCES);
            c->is_full = !c->settings->by_priority;
            return;
        }
        verdict = add_one(c, queue[i], is_idle && before == 0);
        const int at = c->plan.n_prefills > before ? i + 1 : i;
        if (verdict != GO_ON)
            say_limit(c, at < n ? queue[at] : NULL, verdict == NO_TOKENS ? BATCH_LIMIT_KV_BLOCKS : BATCH_LIMIT_TOKENS);
    }
    if (!c->settings->by_priority) c->is_full = verdict == NO_TOKENS;
}

static bool cut_is_away(const struct naive_sglang *c)
{
    return c->has_cut && c->view->n_prefilling == 0 && c->view->n_in_flight > 0;
}

static void compose_prompts(struct naive_sglang *c)
{
    const int64_t decoding = mixes(c) ? c->view->n_decoding : 0;
    bool all_end = true;
    c->offset = decoding;
    c->locked = c->taken = 0;
    c->input = c->settings->max_prefill - decoding;
    c->chunk = c->settings->chunk > 0 ? c->settings->chunk - decoding : INT64_MAX / 2;
    if (blocks_left(c) < 0) {
        say_limit(c, NULL, BATCH_LIMIT_KV_BLOCKS);
        return;
    }
    for (const struct request_view *r = c->view->prefilling; r != NULL && c->chunk > 0; r = r->next)
        if (!go_on(c, r)) all_end = false;
    if (all_end && !cut_is_away(c)) {
        if (!c->is_full && c->view->waiting != NULL) add_queue(c);
    } else {
        say_limit(c, NULL, BATCH_LIMIT_TOKENS);
    }
}

/* --- Iterations without prompts --- */

static bool leaves_before(const struct replica_view *view, const struct request_view *a, const struct request_view *b)
{
    const int64_t made = replica_view_generated_tokens(view, a) - replica_view_generated_tokens(view, b);
    if (made != 0) return made < 0;
    return arrived_prompt(view, a) > arrived_prompt(view, b);
}

static void retract(struct naive_sglang *c)
{
    const struct request_view *sorted[NAIVE_SGLANG_MOST]; /* the last one leaves first */
    const struct replica_view *view = c->view;
    int n = 0;
    for (const struct request_view *r = view->oldest_decoding; r != NULL; r = r->next) {
        int at = n++;
        for (; at > 0 && leaves_before(view, sorted[at - 1], r); at--) sorted[at] = sorted[at - 1];
        sorted[at] = r;
    }
    while (growth(c) > free_blocks(c) && n > 1) c->plan.evicted[c->plan.n_evicted++] = sorted[--n];
    for (const struct request_view *r = view->last_prefilling; r != NULL && growth(c) > free_blocks(c); r = r->prev) {
        c->plan.evicted[c->plan.n_evicted++] = r;
        c->seen->given_up++;
    }
    int64_t made = 0, limits = 1;
    for (int i = 0; i < n; i++) {
        made += 20 + replica_view_generated_tokens(view, sorted[i]);
        limits += limit_of(c, sorted[i]);
    }
    c->ratio.now = fmin(1, (double)made / (double)limits);
    c->is_full = c->is_late = false;
    c->plan.decode = growth(c) <= free_blocks(c);
    c->plan.iterations = 1;
    c->seen->retracted += c->plan.n_evicted;
}

/* Requests of a prefill pool: those whose KV has come decode in this batch, others join once it has. */
static void resume(struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    const int64_t most = slots_of_a_batch(c);
    int64_t left = view->free_blocks - growth(c), running = replica_view_running(view), decoding = view->n_decoding;
    for (const struct request_view *r = view->nonresident; r != NULL; r = r->next) {
        const bool is_here = replica_view_kv_is_pushed(view, r);
        left -= pages(view, replica_view_context_tokens(view, r));
        if (left < 0 || (running > 0 && running >= most) || (is_here && decoding >= most)) return;
        running++;
        decoding += is_here;
        c->plan.resumptions[c->plan.n_resumptions++] = (struct batch_resumption){r, is_here, 0};
        if (is_here) c->plan.decode = true;
        c->seen->waited += is_here;
    }
}

static void compose_decoding(struct naive_sglang *c)
{
    if (growth(c) > c->view->free_blocks) {
        retract(c);
        return;
    }
    c->plan.decode = c->view->n_decoding > 0;
    c->plan.recheck = !c->is_full;
    if (c->is_late) c->plan.iterations = 1;
    resume(c);
    c->decays = c->plan.decode;
    c->seen->resumed += c->plan.n_resumptions;
}

/* --- From plan to plan --- */

static bool somebody_left(const struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    if (view->stages > 1 || c->saw_elsewhere || view->n_nonresident + view->n_moving > 0) return true;
    for (int i = 0; i < c->n_expected; i++) {
        const struct request_view *r = view->oldest_decoding;
        while (r != NULL && r->id != c->expected[i]) r = r->next;
        if (r == NULL) return true;
    }
    return false;
}

static void learn(struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    /* By steps at once, as ties of what is needed and what remains depend on rounding. */
    if (c->decays) new_token_ratio_decay(&c->ratio, c->in_steps_of_one ? 1 : view->decode_step - c->step);
    if (replica_view_running(view) + view->n_nonresident == 0 &&
        (view->waiting == NULL || view->waiting->arrival_ns == view->now_ns))
        c->ratio.now = c->ratio.first;
    const bool knows = c->is_late || view->n_decoding == 0;
    c->is_late = false;
    if (knows) c->is_full = false;
    if (!c->is_full || !somebody_left(c)) return;
    c->is_late = c->is_full = c->settings->overlap && view->stages == 1;
}

void naive_sglang_remember(struct naive_sglang *c)
{
    const struct replica_view *view = c->view;
    c->step = view->decode_step;
    c->in_steps_of_one = view->stages > 1 || c->plan.n_resumptions > 0;
    c->saw_elsewhere = view->n_nonresident + view->n_moving > 0;
    c->has_cut = cut_is_away(c);
    c->n_expected = 0;
    for (const struct request_view *r = view->oldest_decoding; r != NULL && c->n_expected < NAIVE_SGLANG_IDS;
         r = r->next)
        if (!is_evicted(c, r)) c->expected[c->n_expected++] = r->id;
    for (int i = 0; i < c->plan.n_prefills; i++) {
        const struct batch_prefill *p = &c->plan.prefills[i];
        if (p->hold_tokens < p->request->prompt_tokens)
            c->has_cut = true;
        else if (c->n_expected < NAIVE_SGLANG_IDS)
            c->expected[c->n_expected++] = p->request->id;
    }
    if (view->n_decoding == 0) c->is_full = false;
}

void naive_sglang_compose(struct naive_sglang *c, const struct replica_view *view)
{
    c->view = view;
    c->plan = (struct naive_sglang_plan){.iterations = INT64_MAX};
    learn(c);
    c->decays = false;
    if (c->settings->by_priority) c->is_full = false;
    if (view->n_prefilling > 0 || (view->waiting != NULL && !c->is_full)) compose_prompts(c);
    const bool preempts = c->plan.n_evicted > 0;
    c->seen->preempted += c->plan.n_evicted;
    if (c->plan.n_prefills > 0) {
        c->plan.decode = mixes(c) && view->n_decoding > c->plan.n_evicted;
    } else if (preempts) {
        c->plan.decode = view->n_decoding > c->plan.n_evicted && growth(c) <= free_blocks(c);
        c->plan.iterations = 1;
    } else {
        compose_decoding(c);
    }
    if (c->settings->by_priority && view->waiting != NULL) c->plan.iterations = 1;
    if (c->is_late) say_limit(c, NULL, BATCH_LIMIT_LATE);
    if (c->is_full) say_limit(c, view->waiting, c->limit);
    if (c->settings->by_prefix && view->n_waiting <= LPM_QUEUE && c->plan.n_prefills == 0) c->plan.limited = NULL;
    c->limit = c->plan.limit;
}
