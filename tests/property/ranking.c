/* The ordered structures of the job half against plain arrays: nodeset.c, ranking.c and usage.c. */
#include "policies/scheduler/ranking.h"
#include "policies/scheduler/usage.h"
#include "sim/world/cluster/nodeset.h"
#include "tests/support/harness.h"

static int32_t next_by_search(const bool *members, int32_t n, int32_t from)
{
    for (int32_t id = from; id < n; id++) {
        if (members[id]) return id;
    }
    return -1;
}

TEST(nodeset_is_a_set)
{
    static const int32_t sizes[] = {1, 63, 64, 65, 4096, 4097, 20000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int32_t n = sizes[s], n_members = 0;
        bool *members = calloc((size_t)n, sizeof *members);
        struct nodeset set;
        struct rng rng = test_rng(1, "nodeset", s);
        MUST(nodeset_init(&set, n) == 0);
        for (int step = 0; step < 3000; step++) {
            int32_t id = (int32_t)rng_below(&rng, (uint64_t)n);
            if (members[id])
                nodeset_remove(&set, id);
            else
                nodeset_add(&set, id);
            members[id] = !members[id];
            n_members += members[id] ? 1 : -1;
            int32_t from = (int32_t)rng_below(&rng, (uint64_t)n + 1);
            CHECK_EQ_INT(nodeset_next(&set, from), next_by_search(members, n, from));
            CHECK_EQ_INT(set.n_members, n_members);
        }
        nodeset_fini(&set);
        free(members);
    }
}

enum { N = 120 };

struct item {
    struct ranked ranked;
    struct job_view view;
    bool in;
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = *(const struct ranked *const *)a, *y = *(const struct ranked *const *)b;
    return rank_before(&x->rank, &y->rank) ? -1 : rank_before(&y->rank, &x->rank);
}

static int list_in_order(struct item *items, struct ranked **list)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        if (items[i].in) list[n++] = &items[i].ranked;
    }
    qsort(list, (size_t)n, sizeof(struct ranked *), by_rank);
    return n;
}

/* Every question, asked of the ranking and of the sorted list. */
static void compare(const struct ranking *ranking, struct ranked **list, int n, struct rng *rng)
{
    CHECK(ranking->first == (n > 0 ? list[0] : NULL));
    CHECK(ranking_last(ranking) == (n > 0 ? list[n - 1] : NULL));
    struct rank bound = {(int64_t)rng_below(rng, 12), (int64_t)rng_below(rng, 3), 0};
    int64_t before = 0, sum = 0, want = 1 + (int64_t)rng_below(rng, 600);
    sim_ns span_ns = (sim_ns)rng_below(rng, 60);
    struct ranked *reach = NULL, *within = NULL;
    for (int i = 0; i < n; i++) {
        if (rank_before(&list[i]->rank, &bound)) before += list[i]->gpus;
        sum += list[i]->gpus;
        if (reach == NULL && sum >= want) reach = list[i];
        if (within == NULL && list[i]->span_ns <= span_ns) within = list[i];
        CHECK(ranking_previous(ranking, list[i]) == (i > 0 ? list[i - 1] : NULL));
    }
    CHECK_EQ_INT(ranking_gpus_before(ranking, bound), before);
    CHECK(ranking_reach(ranking, want) == reach);
    CHECK(ranking_first_within(ranking, span_ns) == within);
}

TEST(ranking_is_a_sorted_list)
{
    static struct item items[N];
    struct ranking ranking = {0};
    struct rng rng = test_rng(1, "ranking", 0);
    for (int step = 0; step < 4000; step++) {
        int i = (int)rng_below(&rng, N);
        struct item *item = &items[i];
        if (item->in) {
            ranking_remove(&ranking, &item->ranked);
        } else {
            item->view.sequence = i;
            item->ranked.job = &item->view;
            item->ranked.rank = (struct rank){(int64_t)rng_below(&rng, 10), (int64_t)rng_below(&rng, 3), (uint64_t)i};
            item->ranked.gpus = 1 + (int64_t)rng_below(&rng, 16);
            item->ranked.span_ns = (sim_ns)rng_below(&rng, 100);
            ranking_add(&ranking, &item->ranked);
        }
        item->in = !item->in;
        struct ranked *list[N];
        compare(&ranking, list, list_in_order(items, list), &rng);
    }
}

static int depth(const struct ranked *node)
{
    if (node == NULL) return 0;
    int left = depth(node->left), right = depth(node->right);
    return 1 + (left > right ? left : right);
}

/* Jobs that come in order make no chain: 60 levels are more than four times what a balanced tree needs. */
TEST(ranking_stays_shallow)
{
    enum { MANY = 20000 };
    struct item *items = calloc(MANY, sizeof *items);
    struct ranking ranking = {0};
    for (int i = 0; i < MANY; i++) {
        items[i].view.sequence = i;
        items[i].ranked.job = &items[i].view;
        items[i].ranked.rank.first = i;
        ranking_add(&ranking, &items[i].ranked);
    }
    CHECK(depth(ranking.root) < 60);
    free(items);
}

/* --- GPUs in use, with one number for each ns --- */

enum { HORIZON_NS = 300, TOTAL_GPUS = 8 };

static bool is_free_from(const int64_t *in_use, int from_ns, int span_ns, int64_t gpus)
{
    for (int t = from_ns; t < HORIZON_NS && (t < from_ns + span_ns || t == from_ns); t++)
        if (in_use[t] + gpus > TOTAL_GPUS) return false;
    return true;
}

static sim_ns earliest_by_search(const int64_t *in_use, int now_ns, int span_ns, int64_t gpus)
{
    if (gpus > TOTAL_GPUS) return SIM_NS_MAX;
    while (!is_free_from(in_use, now_ns, span_ns, gpus)) now_ns++;
    return now_ns;
}

/* A reservation of an earlier step, which a later step cancels. */
struct reservation {
    int from_ns, to_ns;
    int64_t gpus;
};

static void count(int64_t *in_use, const struct reservation *reservation, int64_t sign)
{
    for (int t = reservation->from_ns; t < reservation->to_ns && t < HORIZON_NS; t++)
        in_use[t] += sign * reservation->gpus;
}

TEST(usage_is_a_step_function)
{
    enum { KEPT = 24 };
    for (uint64_t round = 0; round < 30; round++) {
        struct rng rng = test_rng(2, "usage", round);
        int64_t in_use[HORIZON_NS] = {0};
        struct reservation kept[KEPT] = {{0}};
        struct usage usage = {0};
        int now_ns = 0;
        for (int step = 0; step < 400; step++) {
            struct reservation *one = &kept[rng_below(&rng, KEPT)];
            count(in_use, one, -1);
            CHECK_EQ_INT(usage_add(&usage, one->from_ns, one->to_ns, -one->gpus), 0);
            const int span_ns = (int)rng_below(&rng, 20);
            const int64_t gpus = (int64_t)rng_below(&rng, TOTAL_GPUS + 2);
            const sim_ns from_ns = usage_earliest(&usage, now_ns, span_ns, gpus, TOTAL_GPUS);
            CHECK_EQ_INT(from_ns, earliest_by_search(in_use, now_ns, span_ns, gpus));
            const bool is_forever = from_ns > HORIZON_NS - 20;
            *one = is_forever ? (struct reservation){0} : (struct reservation){(int)from_ns, (int)from_ns + span_ns, gpus};
            count(in_use, one, 1);
            CHECK_EQ_INT(usage_add(&usage, one->from_ns, one->to_ns, one->gpus), 0);
            if (step % 8 != 0) continue;
            now_ns++;
            usage_forget(&usage, now_ns);
            for (int i = 0; i < KEPT; i++) /* what lies in the past is not cancelled any more */
                if (kept[i].from_ns < now_ns) kept[i].from_ns = kept[i].to_ns < now_ns ? kept[i].to_ns : now_ns;
        }
        CHECK(usage_add(&usage, now_ns, SIM_NS_MAX, 1) == 0 && usage_add(&usage, now_ns, SIM_NS_MAX, -1) == 0);
        usage_fini(&usage);
    }
}

static int64_t count_points(const struct usage *usage, uint32_t root)
{
    const struct usage_point *point = &usage->points[root];
    return root == 0 ? 0 : 1 + count_points(usage, point->left) + count_points(usage, point->right);
}

/* Points are where the function changes, and nowhere else: schedulers that add and remove spans keep few. */
TEST(usage_has_a_point_per_change)
{
    enum { MOST_NS = 30, STEPS = 400 };
    struct usage usage = {0};
    struct rng rng = test_rng(3, "usage_points", 0);
    int64_t gpus[MOST_NS + 1] = {0};
    for (int step = 0; step < STEPS; step++) {
        const sim_ns from_ns = (sim_ns)rng_below(&rng, MOST_NS),
                     to_ns = from_ns + 1 + (sim_ns)rng_below(&rng, (uint64_t)(MOST_NS - from_ns));
        const int64_t added = (int64_t)rng_below(&rng, 5) - 2;
        CHECK_EQ_INT(usage_add(&usage, from_ns, to_ns, added), 0);
        for (sim_ns t = from_ns; t < to_ns; t++) gpus[t] += added;
        int64_t n_changes = gpus[0] != 0;
        for (int t = 1; t <= MOST_NS; t++) n_changes += gpus[t] != gpus[t - 1];
        CHECK_EQ_INT(count_points(&usage, usage.root), n_changes);
    }
    usage_fini(&usage);
}
