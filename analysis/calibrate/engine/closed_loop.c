#include "analysis/calibrate/engine/closed_loop.h"

#include "sim/core/err.h"
#include "sim/core/mem.h"

#include <math.h>

/* The clock, and counts since the start. */
struct moment {
    double time_s, iterations, sequences, prompts;
};

/* A user and its request, which waits in the queue until its prompt is done and then decodes. */
struct user {
    int64_t requests; /* number sent */
    int64_t prompt_done;
    int64_t began; /* run.n_decodes at its first token */
    struct moment sent, first; /* first token */
};

/* A queue of users: a ring with room for all. */
struct ring {
    int64_t *users;
    int64_t size, head, n;
};

struct run {
    const struct closed_loop *loop;
    struct user *users;
    struct ring away;  /* users whose next request is on its way, in the order of their last answers */
    bool decoded;      /* the last iteration decoded, or could have */
    struct ring queue; /* users whose prompts are not done, by arrival */
    struct ring decoding; /* users that decode, by their first token, and then by number: they end in this order */
    int64_t n_decodes;    /* iterations that decoded so far */
    int64_t sum_began;    /* over those that decode */
    int64_t n_held;    /* requests whose prompts have begun */
    struct moment now;
    struct closed_loop_times sum;
    int64_t n_measured, n_unmeasured; /* finished measured requests; users without one */
};

static void ring_add(struct ring *ring, int64_t user)
{
    ring->users[(ring->head + ring->n++) % ring->size] = user;
}

static int64_t ring_at(const struct ring *ring, int64_t place)
{
    return ring->users[(ring->head + place) % ring->size];
}

static int64_t ring_take(struct ring *ring)
{
    const int64_t user = ring_at(ring, 0);
    ring->head = (ring->head + 1) % ring->size;
    ring->n--;
    return user;
}

/* The first of the requests on the way arrives; all of them, after an iteration that decoded nothing. */
static void receive_requests(struct run *run)
{
    for (int64_t arriving = run->decoded ? 1 : run->away.n; arriving > 0 && run->away.n > 0; arriving--) {
        const int64_t index = ring_take(&run->away);
        struct user *user = &run->users[index];
        user->requests++;
        user->prompt_done = 0;
        user->sent = run->now;
        ring_add(&run->queue, index);
    }
}

/* Adds prompts of at most `left` tokens to the batch, from the head of the queue. Returns how many it completes. */
static int64_t add_prompts(struct run *run, int64_t left, struct iteration_work *work)
{
    const struct closed_loop *loop = run->loop;
    int64_t completed = 0;
    while (completed < run->queue.n && left > 0) {
        struct user *user = &run->users[ring_at(&run->queue, completed)];
        int64_t tokens = loop->prompt_tokens - user->prompt_done;
        const bool alone = work->prefill_tokens == 0 && work->decode_sequences == 0;
        if (tokens > left && !loop->chunked && !alone) break;
        if (tokens > left && loop->chunked) tokens = left;
        if (user->prompt_done == 0 && loop->at_once > 0 && run->n_held >= loop->at_once) break;
        run->n_held += user->prompt_done == 0;
        iteration_add_prompt(work, tokens, user->prompt_done);
        left -= tokens;
        user->prompt_done += tokens;
        if (user->prompt_done < loop->prompt_tokens) break;
        completed++;
    }
    return completed;
}

/* Whether a prompt waits that memory has room for. */
static bool can_begin(const struct run *run)
{
    if (run->queue.n == 0) return false;
    const bool full = run->loop->at_once > 0 && run->n_held >= run->loop->at_once;
    return !full || run->users[ring_at(&run->queue, 0)].prompt_done > 0;
}

/* A request has made 1 + n_decodes - began tokens. */
static void add_decodes(const struct run *run, struct iteration_work *work)
{
    const int64_t n = run->decoding.n;
    work->decode_sequences = n;
    work->decode_context_tokens = n * (run->loop->prompt_tokens + 1 + run->n_decodes) - run->sum_began;
}

/* At its first token: behind those that began to decode before, among those that began with it by number. */
static void begin_decoding(struct run *run, int64_t index)
{
    struct ring *ring = &run->decoding;
    run->users[index].began = run->n_decodes;
    run->users[index].first = run->now;
    run->sum_began += run->n_decodes;
    ring_add(ring, index);
    for (int64_t place = ring->n - 1; place > 0; place--) {
        const int64_t before = ring_at(ring, place - 1);
        if (run->users[before].began < run->n_decodes || before < index) break;
        ring->users[(ring->head + place) % ring->size] = before;
        ring->users[(ring->head + place - 1) % ring->size] = index;
    }
}

/* Ends the request that has decoded longest. */
static void finish_request(struct run *run)
{
    const int64_t index = ring_take(&run->decoding);
    struct user *user = &run->users[index];
    const double tokens = (double)(run->loop->output_tokens - 1);
    if (user->requests > 1) {
        run->sum.ttft_s += user->first.time_s - user->sent.time_s;
        run->sum.ttft_iterations += user->first.iterations - user->sent.iterations;
        run->sum.ttft_sequences += user->first.sequences - user->sent.sequences;
        run->sum.ttft_prompts += user->first.prompts - user->sent.prompts;
        run->sum.tpot_s += (run->now.time_s - user->first.time_s) / tokens;
        run->sum.iterations += (run->now.iterations - user->first.iterations) / tokens;
        run->sum.sequences += (run->now.sequences - user->first.sequences) / tokens;
        run->sum.prompts += (run->now.prompts - user->first.prompts) / tokens;
        run->n_measured++;
        if (user->requests == 2) run->n_unmeasured--;
    }
    run->sum_began -= user->began;
    run->n_held--;
    ring_add(&run->away, index);
}

static void advance(struct run *run, const struct iteration_work *work, double seconds)
{
    run->now.time_s += seconds;
    run->now.iterations += 1.0;
    run->now.sequences += (double)(work->prefill_sequences + work->decode_sequences);
    run->now.prompts += (double)work->prefill_sequences;
}

static void iterate(struct run *run, closed_loop_cost cost, const void *context)
{
    const struct closed_loop *loop = run->loop;
    struct iteration_work work = {0};
    receive_requests(run);
    const bool decoding = !(loop->prompts_first && can_begin(run));
    if (decoding) add_decodes(run, &work);
    const int64_t completed = add_prompts(run, loop->batch_tokens - work.decode_sequences, &work);
    advance(run, &work, cost(context, &work));
    run->decoded = decoding;
    run->n_decodes += decoding;
    const int64_t ending = run->n_decodes - (loop->output_tokens - 1);
    while (decoding && run->decoding.n > 0 && run->users[ring_at(&run->decoding, 0)].began == ending)
        finish_request(run);
    for (int64_t i = 0; i < completed; i++) begin_decoding(run, ring_take(&run->queue));
}

/* Users out of step decode at contexts from the prompt to the whole answer, each as often. */
static struct closed_loop_times decode_only(const struct closed_loop *loop, closed_loop_cost cost, const void *context)
{
    const int64_t users = loop->users, tokens = users * (2 * loop->prompt_tokens + loop->output_tokens) / 2;
    const struct iteration_work work = {.decode_sequences = users, .decode_context_tokens = tokens,
                                        .decode_longest_tokens = loop->prompt_tokens + loop->output_tokens - 1};
    return (struct closed_loop_times){.ttft_s = (double)NAN, .tpot_s = cost(context, &work), .iterations = 1.0,
                                      .sequences = (double)users};
}

int closed_loop_run(const struct closed_loop *loop, closed_loop_cost cost, const void *context,
                    struct closed_loop_times *times)
{
    if (loop->decode_only) {
        *times = decode_only(loop, cost, context);
        return 0;
    }
    struct run run = {.loop = loop, .n_unmeasured = loop->users, .decoded = true};
    run.users = mem_zalloc((size_t)loop->users, sizeof *run.users);
    run.away.users = mem_zalloc((size_t)loop->users, 3 * sizeof *run.away.users);
    run.away.size = run.queue.size = run.decoding.size = loop->users;
    const bool ok = run.users != NULL && run.away.users != NULL;
    if (ok) run.queue.users = run.away.users + loop->users;
    if (ok) run.decoding.users = run.queue.users + loop->users;
    for (int64_t i = 0; ok && i < loop->users; i++) ring_add(&run.away, i);
    while (ok && run.n_unmeasured > 0) iterate(&run, cost, context);
    mem_free(run.users);
    mem_free(run.away.users);
    if (!ok) return SIM_E_NOMEM;
    const double n = (double)run.n_measured;
    *times = (struct closed_loop_times){
        .ttft_s = run.sum.ttft_s / n, .tpot_s = run.sum.tpot_s / n, .iterations = run.sum.iterations / n,
        .sequences = run.sum.sequences / n, .prompts = run.sum.prompts / n,
        .ttft_iterations = run.sum.ttft_iterations / n, .ttft_sequences = run.sum.ttft_sequences / n,
        .ttft_prompts = run.sum.ttft_prompts / n};
    return 0;
}
