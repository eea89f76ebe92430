/* Each plan of the batcher `sglang` against one that is composed anew, with exact sums and sorted lists, from the view
 * alone and from what the plans before it did. So pipeline stages, pools, cached prefixes, drafts and priorities are
 * judged, which the twin of sglang_twin.c leaves out. The rules are those of the head of policies/batching/sglang.c. */
#include "policies/batching/new_token_ratio.h"
#include "policies/declared.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* --- The naive composer --- */

enum { MOST = 128, LPM_QUEUE = 128, MOST_IDS = 1024, NOBODY = -1 };
enum verdict { GO_ON, NO_TOKENS, NO_BUDGET };

static struct settings {
    int64_t max_sequences, chunk, max_prefill, max_tokens, threshold;
    double conservativeness;
    bool mixed, overlap, by_prefix, by_priority;
} settings;

/* What the runs of a test met with. */
static struct seen {
    int plans, prompts, cut, preempted, retracted, resumed, waited, moving, in_flight, late, cached;
} seen;

struct naive_plan {
    struct batch_prefill prefills[MOST];
    const struct request_view *evicted[MOST];
    struct batch_resumption resumptions[MOST];
    int n_prefills, n_evicted, n_resumptions;
    bool decode, recheck;
    int64_t iterations;
    enum batch_limit limit;
    const struct request_view *limited;
};

struct checked {
    _Alignas(16) unsigned char real[1024]; /* state of the batcher itself */
    struct new_token_ratio ratio;
    bool is_full, is_late, decays, in_steps_of_one, saw_elsewhere, has_cut;
    int64_t step;
    enum batch_limit limit;
    int64_t expected[MOST_IDS]; /* ids that decode from now on, unless they end */
    int n_expected;
    /* of the plan that is composed */
    const struct replica_view *view;
    struct naive_plan plan;
    int64_t offset, locked, taken, input, chunk, n_preempted;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t pages(const struct replica_view *view, int64_t tokens)
{
    return (tokens + view->block_tokens - 1) / view->block_tokens;
}

static bool is_evicted(const struct checked *c, const struct request_view *r)
{
    for (int i = 0; i < c->plan.n_evicted; i++)
        if (c->plan.evicted[i] == r) return true;
    return false;
}

static void say_limit(struct checked *c, const struct request_view *at, enum batch_limit limit)
{
    if (c->plan.limit != BATCH_LIMIT_UNSTATED) return;
    c->plan.limit = limit;
    c->plan.limited = at;
}

static int64_t slots_of_a_batch(const struct replica_view *view)
{
    int64_t most = settings.max_sequences;
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

static int64_t limit_of(const struct replica_view *view, const struct request_view *r)
{
    const int64_t prompt = arrived_prompt(view, r), whole = view->total_blocks;
    if (!replica_view_decodes_here(view, r)) return 1;
    int64_t limit = settings.max_tokens > 0 ? settings.max_tokens : INT64_MAX;
    limit = least(limit, view->max_context_tokens - prompt - 1);
    limit = least(limit, (whole - pages(view, prompt) - 1) * view->block_tokens - 1);
    return limit < 0 ? 0 : limit;
}

static int64_t to_come(const struct replica_view *view, const struct request_view *r)
{
    const int64_t left = limit_of(view, r) - replica_view_generated_tokens(view, r);
    return left < 0 ? 0 : least(left, 4096);
}

/* Of the sequences that stay: blocks they take in the next iteration. */
static int64_t growth(const struct checked *c)
{
    int64_t n = 0;
    for (const struct request_view *r = c->view->oldest_decoding; r != NULL; r = r->next)
        n += !is_evicted(c, r) && replica_view_grows(c->view, r);
    return n;
}

/* Blocks that are free once those who are evicted have left. */
static int64_t free_blocks(const struct checked *c)
{
    int64_t n = c->view->free_blocks;
    for (int i = 0; i < c->plan.n_evicted; i++) n += replica_view_freed_blocks(c->view, c->plan.evicted[i]);
    return n;
}

static bool mixes(const struct replica_view *view)
{
    return settings.mixed && view->n_decoding > 0 && view->decode_tokens_each == 1;
}

/* Blocks that prompts may still take. */
static int64_t blocks_left(const struct checked *c)
{
    return free_blocks(c) - (mixes(c->view) ? growth(c) : 0) - c->taken;
}

static double remaining(const struct checked *c)
{
    int64_t sum = 0;
    for (const struct request_view *r = c->view->oldest_decoding; r != NULL; r = r->next)
        if (!is_evicted(c, r)) sum += to_come(c->view, r);
    const int64_t tokens = free_blocks(c) * c->view->block_tokens - c->locked - c->offset;
    return (double)tokens - (double)sum * c->ratio.now;
}

static void add(struct checked *c, const struct request_view *r, int64_t done, int64_t tokens, bool ends)
{
    const int64_t page = c->view->block_tokens, paged = pages(c->view, tokens) * page;
    c->plan.prefills[c->plan.n_prefills++] = (struct batch_prefill){r, (int32_t)tokens, done + tokens};
    c->taken += replica_view_needed_blocks(c->view, r, done + tokens);
    c->offset += paged + page + (ends ? least(limit_of(c->view, r), 4096) : 0);
    c->input -= paged;
    c->chunk -= paged;
}

/* Returns whether the prompt ends. */
static bool go_on(struct checked *c, const struct request_view *r)
{
    const int64_t page = c->view->block_tokens, done = r->prefilled_tokens, left = r->prompt_tokens - done;
    const double rest = remaining(c);
    int64_t tokens = least(left, c->chunk);
    if (rest >= 1 && rest < (double)tokens) tokens = (int64_t)rest;
    tokens = least(tokens, (replica_view_blocks(c->view, r) + blocks_left(c)) * page - done);
    if (tokens > 0) add(c, r, done, tokens, tokens == left);
    seen.cut++;
    return tokens == left;
}

static enum verdict add_one(struct checked *c, const struct request_view *r, bool alone)
{
    const bool chunks = settings.chunk > 0;
    const int64_t page = c->view->block_tokens, cached = replica_view_cached_tokens(c->view, r);
    const int64_t left = r->prompt_tokens - cached, paged = pages(c->view, left) * page;
    /* Cached blocks that nobody uses are free until the request takes them. */
    const int64_t locked = cached > 0 ? page * replica_view_needed_blocks(c->view, r, cached) : 0;
    int64_t tokens = left;
    seen.cached += cached > 0;
    if (!alone && (double)(left + to_come(c->view, r) + page + locked) >= remaining(c)) return NO_TOKENS;
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

static int64_t priority(const struct request_view *r)
{
    const char *class = r->request_class->name;
    if (!settings.by_priority) return 0;
    return strcmp(class, "batch") == 0 ? 20 : strcmp(class, "default") == 0 ? 10 : 0;
}

static bool is_behind(const struct replica_view *view, bool by_prefix, const struct request_view *a,
                      const struct request_view *b)
{
    if (by_prefix) return replica_view_cached_tokens(view, a) < replica_view_cached_tokens(view, b);
    if (!settings.by_priority) return false;
    if (priority(a) != priority(b)) return priority(a) > priority(b);
    return a->arrival_ns != b->arrival_ns ? a->arrival_ns > b->arrival_ns : a->id > b->id;
}

/* Returns how many wait; at most MOST of them are listed. */
static int list_queue(const struct replica_view *view, const struct request_view **queue)
{
    const bool by_prefix = settings.by_prefix && view->n_waiting <= LPM_QUEUE;
    int n = 0;
    for (const struct request_view *r = view->waiting; r != NULL && n < MOST; r = r->next) {
        int at = n++;
        for (; at > 0 && is_behind(view, by_prefix, queue[at - 1], r); at--) queue[at] = queue[at - 1];
        queue[at] = r;
    }
    return n;
}

/* Evicts for the request those behind it by more than the threshold. Returns whether that suffices. */
static bool preempt_for(struct checked *c, const struct request_view *r)
{
    const int before = c->plan.n_evicted;
    const int64_t left = r->prompt_tokens - replica_view_cached_tokens(c->view, r);
    double lacking = (double)(left + least(limit_of(c->view, r), 4096)) - remaining(c);
    do {
        const struct request_view *last = NULL;
        for (const struct request_view *d = c->view->oldest_decoding; d != NULL; d = d->next)
            if (!is_evicted(c, d) &&
                (last == NULL || priority(d) > priority(last) ||
                 (priority(d) == priority(last) && d->arrival_ns > last->arrival_ns)))
                last = d;
        if (last == NULL || priority(last) - priority(r) <= settings.threshold) {
            c->plan.n_evicted = before;
            return false;
        }
        lacking -= (double)to_come(c->view, last) * c->ratio.now;
        c->plan.evicted[c->plan.n_evicted++] = last;
    } while (lacking > 0);
    return true;
}

static void add_queue(struct checked *c)
{
    const struct replica_view *view = c->view;
    const struct request_view *queue[MOST];
    const int n = list_queue(view, queue);
    const int64_t slots = slots_of_a_batch(view) - view->n_decoding - view->n_moving - view->n_paused;
    const bool is_idle = replica_view_running(view) == 0;
    enum verdict verdict = GO_ON;
    bool short_of_slots = false;
    for (int i = 0; i < n && verdict == GO_ON; i++) {
        const int before = c->plan.n_prefills;
        if (before >= slots + c->plan.n_evicted) short_of_slots = true;
        if (short_of_slots && (!settings.by_priority || !preempt_for(c, queue[i]))) {
            say_limit(c, queue[i], BATCH_LIMIT_SEQUENCES);
            c->is_full = !settings.by_priority;
            return;
        }
        verdict = add_one(c, queue[i], is_idle && before == 0);
        const int at = c->plan.n_prefills > before ? i + 1 : i;
        if (verdict != GO_ON)
            say_limit(c, at < n ? queue[at] : NULL, verdict == NO_TOKENS ? BATCH_LIMIT_KV_BLOCKS : BATCH_LIMIT_TOKENS);
    }
    if (!settings.by_priority) c->is_full = verdict == NO_TOKENS;
}

static bool cut_is_away(const struct checked *c)
{
    return c->has_cut && c->view->n_prefilling == 0 && c->view->n_in_flight > 0;
}

static void compose_prompts(struct checked *c)
{
    const int64_t decoding = mixes(c->view) ? c->view->n_decoding : 0;
    bool all_end = true;
    c->offset = decoding;
    c->locked = c->taken = 0;
    c->input = settings.max_prefill - decoding;
    c->chunk = settings.chunk > 0 ? settings.chunk - decoding : INT64_MAX / 2;
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

static void retract(struct checked *c)
{
    const struct request_view *sorted[MOST]; /* the last one leaves first */
    const struct replica_view *view = c->view;
    int n = 0;
    for (const struct request_view *r = view->oldest_decoding; r != NULL; r = r->next) {
        int at = n++;
        for (; at > 0 && leaves_before(view, sorted[at - 1], r); at--) sorted[at] = sorted[at - 1];
        sorted[at] = r;
    }
    while (growth(c) > free_blocks(c) && n > 1) c->plan.evicted[c->plan.n_evicted++] = sorted[--n];
    for (const struct request_view *r = view->last_prefilling; r != NULL && growth(c) > free_blocks(c); r = r->prev)
        c->plan.evicted[c->plan.n_evicted++] = r;
    int64_t made = 0, limits = 1;
    for (int i = 0; i < n; i++) {
        made += 20 + replica_view_generated_tokens(view, sorted[i]);
        limits += limit_of(view, sorted[i]);
    }
    c->ratio.now = fmin(1, (double)made / (double)limits);
    c->is_full = c->is_late = false;
    c->plan.decode = growth(c) <= free_blocks(c);
    c->plan.iterations = 1;
    seen.retracted += c->plan.n_evicted;
}

/* Requests of a prefill pool: those whose KV has come decode in this batch, others join once it has. */
static void resume(struct checked *c)
{
    const struct replica_view *view = c->view;
    const int64_t most = slots_of_a_batch(view);
    int64_t left = view->free_blocks - growth(c), running = replica_view_running(view), decoding = view->n_decoding;
    for (const struct request_view *r = view->nonresident; r != NULL; r = r->next) {
        const bool is_here = replica_view_kv_is_pushed(view, r);
        left -= pages(view, replica_view_context_tokens(view, r));
        if (left < 0 || (running > 0 && running >= most) || (is_here && decoding >= most)) return;
        running++;
        decoding += is_here;
        c->plan.resumptions[c->plan.n_resumptions++] = (struct batch_resumption){r, is_here};
        if (is_here) c->plan.decode = true;
        seen.waited += is_here;
    }
}

static void compose_decoding(struct checked *c)
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
    seen.resumed += c->plan.n_resumptions;
}

/* --- From plan to plan --- */

static bool somebody_left(const struct checked *c)
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

static void learn(struct checked *c)
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
    c->is_late = c->is_full = settings.overlap && view->stages == 1;
}

static void remember(struct checked *c)
{
    const struct replica_view *view = c->view;
    c->step = view->decode_step;
    c->in_steps_of_one = view->stages > 1 || c->plan.n_resumptions > 0;
    c->saw_elsewhere = view->n_nonresident + view->n_moving > 0;
    c->has_cut = cut_is_away(c);
    c->n_expected = 0;
    for (const struct request_view *r = view->oldest_decoding; r != NULL && c->n_expected < MOST_IDS; r = r->next)
        if (!is_evicted(c, r)) c->expected[c->n_expected++] = r->id;
    for (int i = 0; i < c->plan.n_prefills; i++) {
        const struct batch_prefill *p = &c->plan.prefills[i];
        if (p->hold_tokens < p->request->prompt_tokens)
            c->has_cut = true;
        else if (c->n_expected < MOST_IDS)
            c->expected[c->n_expected++] = p->request->id;
    }
    if (view->n_decoding == 0) c->is_full = false;
}

static void compose(struct checked *c)
{
    const struct replica_view *view = c->view;
    c->plan = (struct naive_plan){.iterations = INT64_MAX};
    learn(c);
    c->decays = false;
    if (settings.by_priority) c->is_full = false;
    if (view->n_prefilling > 0 || (view->waiting != NULL && !c->is_full)) compose_prompts(c);
    const bool preempts = c->plan.n_evicted > 0;
    seen.preempted += c->plan.n_evicted;
    if (c->plan.n_prefills > 0) {
        c->plan.decode = mixes(view) && view->n_decoding > c->plan.n_evicted;
    } else if (preempts) {
        c->plan.decode = view->n_decoding > c->plan.n_evicted && growth(c) <= free_blocks(c);
        c->plan.iterations = 1;
    } else {
        compose_decoding(c);
    }
    if (settings.by_priority && view->waiting != NULL) c->plan.iterations = 1;
    if (c->is_late) say_limit(c, NULL, BATCH_LIMIT_LATE);
    if (c->is_full) say_limit(c, view->waiting, c->limit);
    if (settings.by_prefix && view->n_waiting <= LPM_QUEUE && c->plan.n_prefills == 0) c->plan.limited = NULL;
    c->limit = c->plan.limit;
}

/* --- The batcher, checked --- */

static void check_plan(const struct checked *c, const struct batch_plan *plan)
{
    const struct naive_plan *naive = &c->plan;
    bool same = plan->n_prefills == naive->n_prefills && plan->n_evictions == naive->n_evicted &&
                plan->n_resumptions == naive->n_resumptions && plan->n_pauses + plan->n_rejections == 0 && plan->n_loads == 0;
    for (int i = 0; same && i < naive->n_prefills; i++)
        same = plan->prefills[i].request == naive->prefills[i].request &&
               plan->prefills[i].tokens == naive->prefills[i].tokens &&
               plan->prefills[i].hold_tokens == naive->prefills[i].hold_tokens;
    for (int i = 0; same && i < naive->n_evicted; i++)
        same = plan->evictions[i].request == naive->evicted[i] && plan->evictions[i].kind == EVICT_REQUEUE;
    for (int i = 0; same && i < naive->n_resumptions; i++)
        same = plan->resumptions[i].request == naive->resumptions[i].request &&
               plan->resumptions[i].wait == naive->resumptions[i].wait;
    CHECK(same);
    CHECK_EQ_INT(plan->decode, naive->decode);
    CHECK_EQ_INT(plan->decode_sequences, INT64_MAX);
    CHECK_EQ_INT(plan->keep_free_blocks, 0);
    CHECK_EQ_INT(plan->recheck_on_arrival, naive->recheck);
    CHECK_EQ_INT(plan->iterations, naive->iterations);
    CHECK_EQ_INT(plan->limit, naive->limit);
    CHECK(plan->limited == naive->limited);
}

static int checked_init(void *state, const void *params, struct diag *diag)
{
    struct checked *c = state;
    c->ratio = new_token_ratio_of(settings.conservativeness);
    if (!CHECK(batching_sglang.policy.state_bytes <= sizeof c->real)) return SIM_E_POLICY;
    return batching_sglang.policy.init(c->real, params, diag);
}

static int checked_compose(void *state, const struct replica_view *view, struct batch_plan *plan)
{
    struct checked *c = state;
    c->view = view;
    compose(c);
    const int code = batching_sglang.compose(c->real, view, plan);
    check_plan(c, plan);
    remember(c);
    seen.plans++;
    seen.prompts += plan->n_prefills;
    seen.moving += view->n_moving > 0;
    seen.in_flight += view->n_in_flight > 0;
    seen.late += c->is_late;
    return code;
}

/* --- Random services --- */

enum mode { ONE_STAGE, STAGES, POOLS, DRAFTS, N_MODES };

static const char *const modes[] = {
    "", "", /* STAGES: as drawn */
    "'pools': {'prompts': {'role': 'prefill'}, 'tokens': {'role': 'decode'}}, 'kv_transfer': {'start': '%s'},",
    "'speculation': {'policy': 'fixed', 'drafts': 3}, 'acceptance': {'rates': [0.8, 0.6]},"};

static const char *random_batching(struct rng *rng)
{
    static const char *const orders[] = {"fcfs", "lpm", "priority"};
    const int order = (int)least((int64_t)rng_below(rng, 4), 2);
    settings = (struct settings){.max_sequences = rng_below(rng, 4) > 0 ? 2 + (int64_t)rng_below(rng, 10) : 0,
                                 .chunk = rng_below(rng, 3) > 0 ? 8 + (int64_t)rng_below(rng, 150) : 0,
                                 .max_prefill = 20 + (int64_t)rng_below(rng, 300),
                                 .max_tokens = rng_below(rng, 4) > 0 ? 5 + (int64_t)rng_below(rng, 80) : 0,
                                 .threshold = 5 * (int64_t)rng_below(rng, 3),
                                 .mixed = rng_below(rng, 2) > 0,
                                 .overlap = rng_below(rng, 2) > 0,
                                 .by_prefix = order == 1,
                                 .by_priority = order == 2};
    if (settings.by_priority) settings.max_sequences = 1 + (int64_t)rng_below(rng, 6); /* slots are short */
    settings.conservativeness = fmax(0, 0.5 * (double)rng_below(rng, 5) - 0.5);
    return test_json("'max_sequences': %d, 'chunked_prefill_tokens': %d, 'max_prefill_tokens': %d, 'max_tokens': %d,"
                     " 'conservativeness': %g, 'mixed': %s, 'overlap': %s, 'order': '%s'%s",
                     (int)settings.max_sequences, (int)settings.chunk, (int)settings.max_prefill,
                     (int)settings.max_tokens, settings.conservativeness, settings.mixed ? "true" : "false",
                     settings.overlap ? "true" : "false", orders[order],
                     settings.by_priority ? test_json(", 'preemption_threshold': %d, 'priorities': {'default': 10,"
                                                      " 'batch': 20}",
                                                      (int)settings.threshold)
                                          : "");
}

static const char *random_mode(enum mode mode, struct rng *rng)
{
    if (mode == STAGES) return test_json("'pipeline_parallel': %d,", 2 << rng_below(rng, 2));
    if (mode == POOLS) return test_json(modes[mode], rng_below(rng, 2) > 0 ? "push" : "pull");
    return modes[mode];
}

static void check_mode(enum mode mode, int n_runs)
{
    struct batcher checked = batching_sglang;
    checked.policy.name = "sglang-checked";
    checked.policy.state_bytes = sizeof(struct checked);
    checked.policy.init = checked_init;
    checked.compose = checked_compose;
    seen = (struct seen){0};
    for (int seed = 0; seed < n_runs; seed++) {
        struct rng rng = test_rng((uint64_t)seed, "sglang plans", mode);
        const char *batching = random_batching(&rng), *how = random_mode(mode, &rng);
        const int page = 1 + (int)rng_below(&rng, 16), prefix_page = page * (1 + (int)rng_below(&rng, 3)), longest = 40 + (int)rng_below(&rng, settings.by_priority ? 60 : 200);
        const int output = 1 + (int)rng_below(&rng, 100), spare = (int)rng_below(&rng, 1 + rng_below(&rng, 300));
        const int blocks = (longest + output + spare) / page + 1 + (int)rng_below(&rng, 3);
        const unsigned failures = CU_get_number_of_failures();
        struct bed_rows *rows = bed_ok(
            BED(.check = true, .policy = &checked.policy, .no_batches = true),
            "{'cluster': {'nodes': 1, 'gpus_per_node': 8, 'gpu': 'a100-80-sxm'}, 'seed': %d, 'services': {'s': {'llm':"
            " 'llama-2-7b', %s 'kv': {'blocks': %d, 'block_tokens': %d%s}, 'batching': {'policy': 'sglang-checked', %s},"
            " 'cost': {'kind': 'affine', 'prefill': {'fixed': '10ms', 'per_token': '50us'}, 'decode': {'fixed': '10ms',"
            " 'per_sequence': '1ms'}}, 'trace': {'format': 'generate', 'count': 60, 'arrival': {'process': 'poisson',"
            " 'rate': '%d/s'}, 'prompt': {'distribution': 'uniform', 'min': 1, 'max': %d}, 'output': {'distribution':"
            " 'uniform', 'min': 1, 'max': %d}, %s}}}}",
            seed, how, blocks, page, rng_below(&rng, 2) > 0 ? ", 'prefix_cache': 'lru'" : "", batching,
            5 + (int)rng_below(&rng, 60), longest, output,
            settings.by_priority
                ? "'classes': {'interactive': {'share': 1}, 'default': {'share': 1}, 'batch': {'share': 1}}"
                : test_json("'sessions': {'continue': 0.6, 'block_tokens': %d}", prefix_page));
        if (CU_get_number_of_failures() > failures) {
            printf("\n  mode %d, seed %d, %d blocks of %d, %s %s\n", mode, seed, blocks, page, how, batching);
            return;
        }
        bed_free(rows);
    }
}

TEST(plans_of_one_stage_are_those_of_the_naive_composer)
{
    check_mode(ONE_STAGE, 80);
    CHECK(seen.cut > 1000 && seen.cached > 500 && seen.late > 100 && seen.preempted > 30 && seen.retracted > 50);
}

TEST(plans_of_stages_are_those_of_the_naive_composer)
{
    check_mode(STAGES, 45);
    CHECK(seen.in_flight > 10000 && seen.cut > 1000 && seen.preempted > 30 && seen.retracted > 30);
}

TEST(plans_of_pools_are_those_of_the_naive_composer)
{
    check_mode(POOLS, 60);
    CHECK(seen.resumed > 1000 && seen.waited > 500 && seen.moving > 0 && seen.retracted > 100);
}

TEST(plans_beside_drafts_are_those_of_the_naive_composer)
{
    check_mode(DRAFTS, 30);
    CHECK(seen.cut > 500 && seen.late > 50);
}
