#include "policies/scheduler/usage.h"

#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"

void usage_fini(struct usage *usage)
{
    mem_free(usage->points);
}

/* --- The treap --- */

/* Adds GPUs to all points of a subtree. */
static void lift(struct usage *usage, uint32_t root, int64_t gpus)
{
    struct usage_point *point = &usage->points[root];
    if (root == 0) return;
    point->gpus += gpus;
    point->least += gpus;
    point->most += gpus;
    point->below += gpus;
}

static void hand_down(struct usage *usage, uint32_t root)
{
    struct usage_point *point = &usage->points[root];
    if (point->below == 0) return;
    lift(usage, point->left, point->below);
    lift(usage, point->right, point->below);
    point->below = 0;
}

/* The point has handed down what it had. */
static void sum_up(struct usage *usage, uint32_t root)
{
    struct usage_point *point = &usage->points[root];
    point->least = point->most = point->gpus;
    for (int side = 0; side < 2; side++) {
        const uint32_t child = side == 0 ? point->left : point->right;
        if (child == 0) continue;
        if (usage->points[child].least < point->least) point->least = usage->points[child].least;
        if (usage->points[child].most > point->most) point->most = usage->points[child].most;
    }
}

/* Splits a subtree into the points before a time and the others. */
static void split(struct usage *usage, uint32_t root, sim_ns time_ns, uint32_t *before, uint32_t *after)
{
    if (root == 0) {
        *before = *after = 0;
        return;
    }
    struct usage_point *point = &usage->points[root];
    hand_down(usage, root);
    if (point->from_ns < time_ns) {
        *before = root;
        split(usage, point->right, time_ns, &point->right, after);
    } else {
        *after = root;
        split(usage, point->left, time_ns, before, &point->left);
    }
    sum_up(usage, root);
}

/* Joins two subtrees; all points of the first are before all of the second. */
static uint32_t join(struct usage *usage, uint32_t before, uint32_t after)
{
    if (before == 0 || after == 0) return before + after;
    const bool first = usage->points[before].height > usage->points[after].height;
    const uint32_t root = first ? before : after;
    struct usage_point *point = &usage->points[root];
    hand_down(usage, root);
    if (first)
        point->right = join(usage, point->right, after);
    else
        point->left = join(usage, before, point->left);
    sum_up(usage, root);
    return root;
}

/* --- Points --- */

/* The last point at or before a time, with its GPUs; 0 and no GPUs: none. */
static uint32_t last_until(const struct usage *usage, sim_ns time_ns, int64_t *gpus)
{
    uint32_t last = 0;
    int64_t above = 0;
    *gpus = 0;
    for (uint32_t at = usage->root; at != 0;) {
        const struct usage_point *point = &usage->points[at];
        if (point->from_ns <= time_ns) {
            last = at;
            *gpus = point->gpus + above;
        }
        above += point->below;
        at = point->from_ns <= time_ns ? point->right : point->left;
    }
    return last;
}

/* Room for two more points, and for the one that is not used. */
static int reserve(struct usage *usage)
{
    if (vec_reserve(&usage->points, &usage->capacity, usage->n + 3) != 0) return SIM_E_NOMEM;
    if (usage->n == 0) usage->points[usage->n++] = (struct usage_point){0};
    return 0;
}

static uint32_t take_point(struct usage *usage)
{
    const uint32_t unused = usage->free;
    if (unused == 0) return (uint32_t)usage->n++;
    usage->free = usage->points[unused].left;
    return unused;
}

static void give_point(struct usage *usage, uint32_t point)
{
    usage->points[point].left = usage->free;
    usage->free = point;
}

/* Creates the point at this time, if it does not exist. */
static void add_point(struct usage *usage, sim_ns time_ns)
{
    int64_t gpus;
    uint32_t before, after;
    const uint32_t last = last_until(usage, time_ns, &gpus);
    if (last != 0 && usage->points[last].from_ns == time_ns) return;
    const uint32_t point = take_point(usage);
    usage->points[point] = (struct usage_point){.from_ns = time_ns, .gpus = gpus, .least = gpus, .most = gpus,
                                                .height = hash_mix((uint64_t)time_ns + 1)};
    split(usage, usage->root, time_ns, &before, &after);
    usage->root = join(usage, join(usage, before, point), after);
}

/* Drops the point at this time if it changes nothing. */
static void drop_idle(struct usage *usage, sim_ns time_ns)
{
    int64_t gpus, gpus_before;
    uint32_t before, point, after;
    last_until(usage, time_ns, &gpus);
    last_until(usage, time_ns - 1, &gpus_before);
    if (gpus != gpus_before) return;
    split(usage, usage->root, time_ns, &before, &after);
    if (time_ns < SIM_NS_MAX)
        split(usage, after, time_ns + 1, &point, &after);
    else
        point = after, after = 0;
    usage->root = join(usage, before, after);
    give_point(usage, point);
}

int usage_add(struct usage *usage, sim_ns from_ns, sim_ns to_ns, int64_t gpus)
{
    uint32_t before, within, after;
    if (from_ns >= to_ns) return 0;
    if (reserve(usage) != 0) return SIM_E_NOMEM;
    add_point(usage, from_ns);
    add_point(usage, to_ns);
    split(usage, usage->root, from_ns, &before, &within);
    split(usage, within, to_ns, &within, &after);
    lift(usage, within, gpus);
    usage->root = join(usage, join(usage, before, within), after);
    drop_idle(usage, to_ns);
    drop_idle(usage, from_ns);
    return 0;
}

static void give_all(struct usage *usage, uint32_t root)
{
    if (root == 0) return;
    const struct usage_point point = usage->points[root];
    give_all(usage, point.left);
    give_all(usage, point.right);
    give_point(usage, root);
}

void usage_forget(struct usage *usage, sim_ns now_ns)
{
    int64_t gpus;
    uint32_t before;
    const uint32_t last = last_until(usage, now_ns, &gpus);
    if (last == 0) return;
    split(usage, usage->root, usage->points[last].from_ns, &before, &usage->root);
    give_all(usage, before);
}

/* --- The search --- */

/* A search for the first point later than a time with more GPUs than a limit, or with no more. */
struct search {
    const struct usage *usage;
    sim_ns time_ns;
    int64_t limit;
    bool more;
};

static bool suits(const struct search *search, int64_t least, int64_t most)
{
    return search->more ? most > search->limit : least <= search->limit;
}

/* The point below `root`, or 0; `above`: what the nodes above add. */
static uint32_t find(const struct search *search, uint32_t root, int64_t above)
{
    const struct usage_point *point = &search->usage->points[root];
    if (root == 0 || !suits(search, point->least + above, point->most + above)) return 0;
    if (point->from_ns > search->time_ns) {
        const uint32_t found = find(search, point->left, above + point->below);
        if (found != 0) return found;
        if (suits(search, point->gpus + above, point->gpus + above)) return root;
    }
    return find(search, point->right, above + point->below);
}

/* The time of that point, or `otherwise`. */
static sim_ns next_with(const struct usage *usage, sim_ns time_ns, int64_t limit, bool more, sim_ns otherwise)
{
    const uint32_t found = find(&(struct search){usage, time_ns, limit, more}, usage->root, 0);
    return found != 0 ? usage->points[found].from_ns : otherwise;
}

sim_ns usage_earliest(const struct usage *usage, sim_ns now_ns, sim_ns span_ns, int64_t gpus, int64_t total_gpus)
{
    int64_t in_use;
    const int64_t limit = total_gpus - gpus;
    if (gpus > total_gpus) return SIM_NS_MAX;
    if (usage->root == 0) return now_ns;
    last_until(usage, now_ns, &in_use);
    sim_ns start_ns = in_use > limit ? next_with(usage, now_ns, limit, false, SIM_NS_MAX) : now_ns;
    for (;;) {
        const sim_ns end_ns = next_with(usage, start_ns, limit, true, SIM_NS_MAX);
        if (end_ns == SIM_NS_MAX || end_ns - start_ns >= span_ns) return start_ns;
        start_ns = next_with(usage, end_ns, limit, false, SIM_NS_MAX);
    }
}
