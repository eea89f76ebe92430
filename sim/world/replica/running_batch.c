#include "sim/world/replica/running_batch.h"

#include "sim/core/check.h"
#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

#include <stdbool.h>
#include <string.h>

/* --- Requests in the order of a number --- */

void request_order_init(struct request_order *order, enum request_rank rank)
{
    *order = (struct request_order){.rank = rank};
}

void request_order_fini(struct request_order *order)
{
    mem_free(order->entries);
    request_order_init(order, order->rank);
}

static bool is_before(const struct request_entry *a, const struct request_entry *b)
{
    if (a->number != b->number) return a->number < b->number;
    return a->tie != b->tie ? a->tie < b->tie : a->request->slot < b->request->slot;
}

static struct request_entry entry_of(const struct request_order *order, struct request *request, int64_t number)
{
    return (struct request_entry){number, order->by_admission ? request->view.admission : request->view.id, request};
}

static void request_order_put(struct request_order *order, int32_t at, struct request_entry entry)
{
    order->entries[at] = entry;
    entry.request->ranks[order->rank] = at;
}

static void sift_up(struct request_order *order, int32_t at, struct request_entry entry)
{
    while (at > 0) {
        int32_t parent = (at - 1) / 2;
        if (!is_before(&entry, &order->entries[parent])) break;
        request_order_put(order, at, order->entries[parent]);
        at = parent;
    }
    request_order_put(order, at, entry);
}

static void sift_down(struct request_order *order, int32_t at, struct request_entry entry)
{
    for (int32_t child; (child = 2 * at + 1) < order->n; at = child) {
        if (child + 1 < order->n && is_before(&order->entries[child + 1], &order->entries[child])) child++;
        if (!is_before(&order->entries[child], &entry)) break;
        request_order_put(order, at, order->entries[child]);
    }
    request_order_put(order, at, entry);
}

int request_order_add(struct request_order *order, struct request *request, int64_t number)
{
    if (vec_reserve(&order->entries, &order->capacity, order->n + 1) != 0) return SIM_E_NOMEM;
    const int32_t at = order->n++;
    sift_up(order, at, entry_of(order, request, number));
    return 0;
}

void request_order_remove(struct request_order *order, struct request *request)
{
    int32_t at = request->ranks[order->rank];
    SIM_REQUIRE(at < order->n && order->entries[at].request == request);
    struct request_entry last = order->entries[--order->n];
    if (at == order->n) return;
    if (at > 0 && is_before(&last, &order->entries[(at - 1) / 2]))
        sift_up(order, at, last);
    else
        sift_down(order, at, last);
}

/* Gives a member a smaller number. */
static void request_order_lower(struct request_order *order, struct request *request, int64_t number)
{
    const int32_t at = request->ranks[order->rank];
    SIM_REQUIRE(at < order->n && order->entries[at].request == request && number <= order->entries[at].number);
    sift_up(order, at, entry_of(order, request, number));
}

/* --- The longest gap of a suffix of the steps --- */

void token_gaps_init(struct token_gaps *gaps)
{
    *gaps = (struct token_gaps){0};
}

void token_gaps_fini(struct token_gaps *gaps)
{
    mem_free(gaps->gaps);
    token_gaps_init(gaps);
}

/* Index of the first entry at `step` or later; n when there is none. */
static size_t token_gaps_find(const struct token_gaps *gaps, int64_t step)
{
    size_t low = 0, high = gaps->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (gaps->gaps[middle].step < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct token_wait token_gaps_max_from(const struct token_gaps *gaps, int64_t step)
{
    size_t at = token_gaps_find(gaps, step);
    return at < gaps->n ? gaps->gaps[at].wait : (struct token_wait){0};
}

void token_gaps_forget_before(struct token_gaps *gaps, int64_t step)
{
    size_t at = token_gaps_find(gaps, step);
    if (at == 0) return;
    gaps->n -= at;
    memmove(gaps->gaps, gaps->gaps + at, gaps->n * sizeof *gaps->gaps);
}

/* --- Sequences that decode together --- */

int running_init(struct running_batch *running, int64_t block_tokens, bool orders_contexts, bool ends_as_scheduled)
{
    *running = (struct running_batch){.last_token_ns = TIME_UNSET, .orders_contexts = orders_contexts};
    request_order_init(&running->finishing, RANK_FINISH);
    running->finishing.by_admission = ends_as_scheduled;
    request_order_init(&running->contexts, RANK_LONGEST);
    token_gaps_init(&running->gaps);
    return kv_growth_init(&running->growth, block_tokens);
}

void running_fini(struct running_batch *running)
{
    kv_growth_fini(&running->growth);
    request_order_fini(&running->finishing);
    request_order_fini(&running->contexts);
    token_gaps_fini(&running->gaps);
    mem_free(running->fresh);
    running->fresh = NULL;
}

/* --- Joining and leaving --- */

static int add_fresh(struct running_batch *running, struct request *request)
{
    request->fresh_rank = running->n_fresh;
    return vec_push(&running->fresh, &running->n_fresh, &running->fresh_capacity, request);
}

static void remove_fresh(struct running_batch *running, const struct request *request)
{
    struct request *last = running->fresh[--running->n_fresh];
    running->fresh[request->fresh_rank] = last;
    last->fresh_rank = request->fresh_rank;
}

static sim_ns latest_token_ns(const struct running_batch *running, const struct request *member)
{
    return running->step > member->joined_step ? running->last_token_ns : member->joined_ns;
}

/* Inserts the sequence before those whose latest token came later. */
static void insert_by_latest_token(struct running_batch *running, struct request *request)
{
    struct request_list *members = &running->members;
    struct request *behind = NULL;
    if (members->tail != NULL && latest_token_ns(running, members->tail) > request->joined_ns)
        for (behind = members->head; latest_token_ns(running, behind) <= request->joined_ns;)
            behind = request_of(behind->view.next);
    request_list_insert_before(members, request, behind);
}

/* Processed tokens of a member minus the steps of the batch: constant while it is a member. */
static int64_t start_tokens(const struct request *member)
{
    return member->context_tokens - member->joined_step;
}

int64_t running_longest_tokens(const struct running_batch *running)
{
    return running->contexts.n > 0 ? running->step - request_order_least(&running->contexts) : 0;
}

int running_join(struct running_batch *running, struct request *request, enum batch_order order)
{
    int64_t left = request->output_tokens - request->generated_tokens;
    int64_t last_blocks = (request->context_tokens - 1 + left + running->growth.block_tokens - 1) /
                          running->growth.block_tokens;
    request->view.state = REQUEST_DECODING;
    request->running = running;
    request->joined_step = running->step;
    request->finish_step = running->step + left;
    request->grows = request->held_blocks < last_blocks;
    request->first_gap_ns = 0;
    if (order == BATCH_BY_LATEST_TOKEN)
        insert_by_latest_token(running, request);
    else
        request_list_insert(&running->members, request, order);
    if (request->grows) kv_growth_join(&running->growth, running->step, request->context_tokens);
    running->context_tokens += request->context_tokens;
    running->n_watched += request->is_watched;
    int code = add_fresh(running, request);
    if (code == 0 && running->orders_contexts)
        code = request_order_add(&running->contexts, request, -start_tokens(request));
    return code != 0 ? code : request_order_add(&running->finishing, request, request->finish_step);
}

void running_leave(struct running_batch *running, struct request *member)
{
    int64_t context = running_context(running, member), steps = running->step - member->joined_step;
    if (running->orders_contexts) request_order_remove(&running->contexts, member);
    member->max_gap = running_max_gap(running, member);
    member->held_blocks = running_blocks(running, member);
    member->context_tokens = (int32_t)context;
    member->generated_tokens += (int32_t)steps;
    if (steps > 0)
        member->joined_ns = running->last_token_ns;
    else
        remove_fresh(running, member);
    if (member->grows) kv_growth_leave(&running->growth, running->step, context);
    member->grows = false;
    running->n_watched -= member->is_watched;
    member->running = NULL;
    running->context_tokens -= context;
    request_order_remove(&running->finishing, member);
    request_list_remove(&running->members, member);
}

void running_extend(struct running_batch *running, struct request *member, int64_t extra)
{
    member->context_tokens += (int32_t)extra;
    member->generated_tokens += (int32_t)extra;
    member->finish_step -= extra;
    running->context_tokens += extra;
    request_order_lower(&running->finishing, member, member->finish_step);
    if (running->orders_contexts) request_order_lower(&running->contexts, member, -start_tokens(member));
}

/* Blocks for drafts beyond the last token of a member, over those that finish within the next `drafts` steps and stand
 * at or below place `at` of the order of finishing. */
static int64_t unused_blocks(const struct running_batch *running, int32_t at, int64_t drafts)
{
    const struct request_order *order = &running->finishing;
    if (at >= order->n || order->entries[at].number > running->step + drafts) return 0;
    const struct request *member = order->entries[at].request;
    const int64_t block_tokens = running->growth.block_tokens, context = running_context(running, member);
    const int64_t last = context + member->finish_step - running->step - 1;
    int64_t blocks = 0;
    if (member->grows)
        blocks = (context + drafts + block_tokens - 1) / block_tokens - (last + block_tokens - 1) / block_tokens;
    return blocks + unused_blocks(running, 2 * at + 1, drafts) + unused_blocks(running, 2 * at + 2, drafts);
}

int64_t running_growth(const struct running_batch *running, int64_t drafts)
{
    const int64_t blocks = kv_growth_over(&running->growth, running->step, 1 + drafts);
    return drafts > 0 ? blocks - unused_blocks(running, 0, drafts) : blocks;
}

int running_merge(struct running_batch *to, struct running_batch *from, enum batch_order order)
{
    int code = 0;
    while (code == 0 && from->members.n > 0) {
        struct request *member = from->members.head;
        running_leave(from, member);
        code = running_join(to, member, order);
    }
    return code;
}

/* --- Time between tokens --- */

/* Members that joined since the step before get their first gap, each from its own latest token. */
static int count_first_gaps(struct running_batch *running, sim_ns first_ns, struct histogram *token_gap_s)
{
    int code = 0;
    for (int32_t i = 0; i < running->n_fresh; i++) {
        struct request *request = running->fresh[i];
        request->first_gap_ns = first_ns - request->joined_ns;
        if (code == 0) code = histogram_add(token_gap_s, sim_s_from_ns(request->first_gap_ns), 1);
    }
    running->n_fresh = 0;
    return code;
}

/* The gaps within the run after its first boundary, at first_ns: an arithmetic series. The longest is its first or
 * last, within the nanosecond of rounding. */
static int count_later_gaps(struct running_batch *running, const struct run_clock *clock, int64_t counted, int64_t n,
                            sim_ns first_ns, struct histogram *token_gap_s)
{
    double first_s = (clock->first_ns + clock->slope_ns * (double)(counted + 1)) / 1e9;
    int code = histogram_add_series(token_gap_s, first_s, clock->slope_ns / 1e9, (uint64_t)(n - 1),
                                    (uint64_t)running->members.n);
    sim_ns early = run_clock_boundary_ns(clock, counted + 2) - first_ns;
    sim_ns late_from_ns = run_clock_boundary_ns(clock, counted + n - 1), late = running->last_token_ns - late_from_ns;
    const struct token_wait longest = token_wait_longer((struct token_wait){early, first_ns},
                                                        (struct token_wait){late, late_from_ns});
    return code != 0 ? code : token_gaps_add(&running->gaps, running->step, longest);
}

/* Drops the gaps before the first step of the longest member. */
static void forget_gaps(struct running_batch *running)
{
    int64_t oldest = running->step;
    for (const struct request *r = running->members.head; r != NULL; r = request_of(r->view.next))
        if (r->joined_step < oldest) oldest = r->joined_step;
    token_gaps_forget_before(&running->gaps, oldest + 2);
    running->forget_at = 64 + 2 * running->gaps.n;
}

/* The gaps before the tokens of one step, at token_ns. */
static inline int count_gap(struct running_batch *running, int64_t step, sim_ns token_ns, struct histogram *token_gap_s)
{
    const int64_t others = running->members.n - running->n_fresh;
    const struct token_wait gap = {token_ns - running->last_token_ns, running->last_token_ns};
    int code = running->n_fresh > 0 ? count_first_gaps(running, token_ns, token_gap_s) : 0;
    if (code == 0 && others > 0) code = histogram_add(token_gap_s, sim_s_from_ns(gap.ns), (uint64_t)others);
    if (code == 0 && others > 0) code = token_gaps_add(&running->gaps, step, gap);
    running->last_token_ns = token_ns;
    return code;
}

int running_count_gap(struct running_batch *running, sim_ns token_ns, struct histogram *token_gap_s)
{
    const int code = count_gap(running, running->step, token_ns, token_gap_s);
    if (running->gaps.n > running->forget_at) forget_gaps(running);
    return code;
}

int running_count_gap_row(struct running_batch *running, const sim_ns *tokens_ns, int32_t n,
                          struct histogram *token_gap_s)
{
    int code = 0;
    for (int32_t i = 0; code == 0 && i < n; i++)
        code = count_gap(running, running->step - n + 1 + i, tokens_ns[i], token_gap_s);
    if (running->gaps.n > running->forget_at) forget_gaps(running);
    return code;
}

int running_count_gaps(struct running_batch *running, const struct run_clock *clock, int64_t counted, int64_t n,
                       sim_ns end_ns, struct histogram *token_gap_s)
{
    const sim_ns first_ns = n > 1 ? run_clock_boundary_ns(clock, counted + 1) : end_ns;
    int code = count_gap(running, running->step - n + 1, first_ns, token_gap_s);
    running->last_token_ns = end_ns;
    if (code == 0 && n > 1) code = count_later_gaps(running, clock, counted, n, first_ns, token_gap_s);
    if (running->gaps.n > running->forget_at) forget_gaps(running);
    return code;
}

struct token_wait running_max_gap(const struct running_batch *running, const struct request *member)
{
    const struct token_wait first = {member->first_gap_ns, member->joined_ns};
    const struct token_wait before = first.ns > 0 ? token_wait_longer(member->max_gap, first) : member->max_gap;
    const struct token_wait later = token_gaps_max_from(&running->gaps, member->joined_step + 2);
    return later.ns > 0 ? token_wait_longer(before, later) : before;
}
