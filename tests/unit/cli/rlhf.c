/* The search for plans of RLHF, on small random clusters: laws, and all plans by brute force. */
#include "sim/cli/plan/rlhf.h"
#include "tests/support/harness.h"

struct bed {
    struct arena arena;
    struct diag diag;
    struct rlhf_space space;
    struct rlhf_search_config config;
};

/* Times that fall with the GPUs, but not alike for all splits; states that several models on a GPU may outgrow. */
static void draw_option(struct rng *rng, int call, int64_t gpus, struct rlhf_option *option)
{
    const double ranks = (double)(option->tensor * option->pipeline);
    const double whole_s = 1.0 + 9.0 * rng_uniform(rng);
    const double seconds = whole_s / pow((double)gpus, 0.5 + 0.5 * rng_uniform(rng));
    const bool trains = call == RLHF_TRAIN_ACTOR || call == RLHF_TRAIN_CRITIC;
    option->weight_bytes = 12.0 / ranks;
    option->home_bytes = trains ? 60.0 / ranks + 40.0 / (double)gpus : option->weight_bytes;
    option->n_ways = 1 + (int)rng_below(rng, 3);
    for (int way = 0; way < option->n_ways; way++)
        option->ways[way] = (struct rlhf_way){.seconds = seconds * (1.0 + 0.3 * way),
                                              .active_bytes = 40.0 / ranks / (1.0 + 2.0 * way), .micro_batch = 1,
                                              .waves = 1};
}

/* `gpus` on nodes of `per_node`. Models of four layers. */
static void bed_init(struct bed *bed, struct rng *rng, int64_t gpus, int64_t per_node)
{
    arena_init(&bed->arena);
    diag_init(&bed->diag);
    bed->space = (struct rlhf_space){.usable_bytes = 70.0 + 40.0 * rng_uniform(rng)};
    bed->config = (struct rlhf_search_config){.proposals = 400, .visits = 10000000, .seed = 5, .temperature = 0.1};
    CHECK_EQ_INT(rlhf_space_meshes(&bed->space, gpus, per_node, &bed->arena, &bed->diag), 0);
    bed->space.links.node_bytes_per_s = 100.0;
    bed->space.links.network_bytes_per_s = 20.0;
    for (int model = 0; model < RLHF_MODELS; model++)
        bed->space.models[model] = (struct reallocation_model){4, {2.0, 0.25}, {2.0, 0.0}, {1.0, 0.0}};
    for (int call = 0; call < RLHF_CALLS; call++)
        for (int32_t size = 0; size < bed->space.n_sizes; size++) {
            struct rlhf_option *items = arena_alloc(&bed->arena, 16 * sizeof *items);
            int32_t n = 0;
            for (int64_t tensor = 1; items != NULL && tensor <= per_node; tensor *= 2)
                for (int64_t pipeline = 1; pipeline <= 2; pipeline *= 2) {
                    const int64_t ranks = tensor * pipeline, on = bed->space.sizes[size];
                    if (on % ranks != 0) continue;
                    items[n] = (struct rlhf_option){.tensor = tensor, .pipeline = pipeline, .data = on / ranks};
                    draw_option(rng, call, on, &items[n++]);
                }
            bed->space.options[call][size] = (struct rlhf_options){items, n};
        }
}

static void bed_fini(struct bed *bed)
{
    arena_fini(&bed->arena);
}

/* --- A plan, looked at GPU by GPU --- */

static bool is_on(const struct rlhf_space *space, const struct rlhf_found *found, int call, int64_t gpu)
{
    const struct rlhf_mesh mesh = space->meshes[found->calls[call].mesh];
    return gpu >= mesh.first && gpu < mesh.first + mesh.gpus;
}

/* Whether a GPU of `to` has all its weights in `from`: layers of its stage, and its part of each matrix. */
static bool covers(const struct reallocation_layout *from, const struct reallocation_layout *to, int64_t gpu)
{
    const int64_t at = gpu - from->first, rank = gpu - to->first;
    if (at < 0 || at >= reallocation_gpus(from)) return false;
    const int64_t had = at / (from->tensor * from->data), wanted = rank / (to->tensor * to->data);
    const int64_t part = at % from->tensor, wanted_part = rank % to->tensor;
    return had * to->pipeline <= wanted * from->pipeline && (wanted + 1) * from->pipeline <= (had + 1) * to->pipeline &&
           part * to->tensor <= wanted_part * from->tensor &&
           (wanted_part + 1) * from->tensor <= (part + 1) * to->tensor;
}

/* Bytes on a GPU while a call runs on it: models that live there, the call's own, and its copy of the weights. */
static double bytes_on(const struct rlhf_space *space, const struct rlhf_found *found, int call, int64_t gpu)
{
    static const int home[RLHF_CALLS] = {RLHF_TRAIN_ACTOR,  RLHF_REWARD,      RLHF_REFERENCE,
                                         RLHF_TRAIN_CRITIC, RLHF_TRAIN_ACTOR, RLHF_TRAIN_CRITIC};
    const struct rlhf_option *option = rlhf_option_of(space, (enum rlhf_call)call, found->calls[call]);
    double bytes = found->ways[call]->active_bytes;
    for (int other = RLHF_REWARD; other < RLHF_CALLS; other++)
        if (other != RLHF_VALUES && is_on(space, found, other, gpu))
            bytes += rlhf_option_of(space, (enum rlhf_call)other, found->calls[other])->home_bytes;
    const struct reallocation_layout to = rlhf_layout_of(space, (enum rlhf_call)call, found->calls[call]);
    const struct reallocation_layout from = rlhf_layout_of(space, (enum rlhf_call)home[call], found->calls[home[call]]);
    for (int64_t other = to.first; home[call] != call && other < to.first + reallocation_gpus(&to); other++)
        if (!covers(&from, &to, other)) return bytes + option->weight_bytes;
    return bytes;
}

/* A move holds the GPUs that send and those that receive. */
static void check_move(const struct rlhf_space *space, const struct rlhf_found *found, int move, int call, int home)
{
    const struct dataflow_times moved = found->times[RLHF_NODE_MOVE_ACTOR + move];
    CHECK_NEAR(moved.end_s - moved.start_s, found->moves[move].seconds, 1e-12);
    CHECK(found->times[call].start_s >= moved.end_s);
    const struct reallocation_layout to = rlhf_layout_of(space, (enum rlhf_call)call, found->calls[call]);
    const struct reallocation_layout from = rlhf_layout_of(space, (enum rlhf_call)home, found->calls[home]);
    bool lacks = false;
    for (int64_t gpu = to.first; gpu < to.first + reallocation_gpus(&to); gpu++) lacks |= !covers(&from, &to, gpu);
    CHECK_EQ_INT(found->moves[move].node_bytes + found->moves[move].network_bytes > 0.0, lacks);
    if (!lacks) return;
    CHECK(found->moves[move].seconds > 0.0);
    for (int64_t gpu = 0; gpu < space->gpus; gpu++) {
        if (!is_on(space, found, call, gpu) && !is_on(space, found, home, gpu)) continue;
        for (int other = 0; other < RLHF_CALLS; other++)
            if (is_on(space, found, other, gpu))
                CHECK(found->times[other].start_s >= moved.end_s || moved.start_s >= found->times[other].end_s);
    }
}

/* Memory, order and exclusive use of a plan that is said to fit. */
static void check_plan(const struct rlhf_space *space, const struct rlhf_found *found)
{
    const struct dataflow_times *times = found->times;
    double end_s = 0.0;
    for (int call = 0; call < RLHF_CALLS; call++) {
        end_s = fmax(end_s, times[call].end_s);
        CHECK_NEAR(times[call].end_s - times[call].start_s, found->ways[call]->seconds, 1e-12);
        for (int64_t gpu = 0; gpu < space->gpus; gpu++) {
            if (!is_on(space, found, call, gpu)) continue;
            CHECK(bytes_on(space, found, call, gpu) <= space->usable_bytes * (1.0 + 1e-12));
            for (int other = 0; other < call; other++)
                if (is_on(space, found, other, gpu))
                    CHECK(times[call].start_s >= times[other].end_s || times[other].start_s >= times[call].end_s);
        }
    }
    for (int call = RLHF_REWARD; call <= RLHF_VALUES; call++) {
        CHECK(times[call].start_s >= times[RLHF_GENERATE].end_s);
        CHECK(times[RLHF_TRAIN_ACTOR].start_s >= times[call].end_s);
        CHECK(times[RLHF_TRAIN_CRITIC].start_s >= times[call].end_s);
    }
    check_move(space, found, 0, RLHF_GENERATE, RLHF_TRAIN_ACTOR);
    check_move(space, found, 1, RLHF_VALUES, RLHF_TRAIN_CRITIC);
    CHECK(times[RLHF_VALUES].start_s >= times[RLHF_GENERATE].end_s + found->moves[1].seconds);
    CHECK_NEAR(found->step_s, end_s, 0.0);
}

static struct rlhf_choice choice_of(const struct rlhf_space *space, enum rlhf_call call, int64_t first, int64_t gpus,
                                    int64_t tensor)
{
    struct rlhf_choice choice = {-1, -1};
    for (int32_t mesh = 0; mesh < space->n_meshes; mesh++)
        if (space->meshes[mesh].first == first && space->meshes[mesh].gpus == gpus) choice.mesh = mesh;
    if (!CHECK(choice.mesh >= 0)) return choice;
    const struct rlhf_options *options = &space->options[call][space->meshes[choice.mesh].size];
    for (int32_t i = 0; i < options->n; i++)
        if (options->items[i].tensor == tensor && options->items[i].pipeline == 1) choice.option = i;
    CHECK(choice.option >= 0);
    return choice;
}

/* Actor and critic are trained whole on each of GPUs 0 to 3. */
TEST(a_call_whose_gpus_lack_no_weights_waits_for_nothing_and_holds_no_copy)
{
    struct rng rng;
    struct bed bed;
    struct rlhf_found found = {.step_s = 0.0};
    rng_init(&rng, 26, 0, "rlhf", 0);
    bed_init(&bed, &rng, 8, 8);
    bed.space.usable_bytes = 1e9;
    for (int call = 0; call < RLHF_CALLS; call++)
        found.calls[call] = choice_of(&bed.space, (enum rlhf_call)call, 0, 4, 1);
    found.calls[RLHF_VALUES] = choice_of(&bed.space, RLHF_VALUES, 2, 2, 2);
    rlhf_evaluate(&bed.space, &found);
    check_plan(&bed.space, &found);
    const double homes = found.bytes[RLHF_GENERATE] - found.ways[RLHF_GENERATE]->active_bytes;
    CHECK_NEAR(found.bytes[RLHF_VALUES] - found.ways[RLHF_VALUES]->active_bytes, homes, 1e-9);
    CHECK_NEAR(found.moves[1].seconds, 0.0, 0.0);
    CHECK_NEAR(found.moves[1].kept_bytes, 0.0, 0.0);
    found.calls[RLHF_VALUES] = choice_of(&bed.space, RLHF_VALUES, 4, 2, 2);
    rlhf_evaluate(&bed.space, &found);
    check_plan(&bed.space, &found);
    const struct rlhf_option *option = rlhf_option_of(&bed.space, RLHF_VALUES, found.calls[RLHF_VALUES]);
    CHECK_NEAR(found.bytes[RLHF_VALUES] - found.ways[RLHF_VALUES]->active_bytes, option->weight_bytes, 1e-9);
    CHECK(found.moves[1].seconds > 0.0);
    bed_fini(&bed);
}

/* Any plan, also one that does not fit: a call's bytes are those of its fullest GPU, and its way is the first that
 * fits there, or the last. */
TEST(memory_and_ways_of_any_plan_are_those_of_its_fullest_gpus)
{
    struct rng rng;
    struct bed bed;
    int n_slower = 0;
    rng_init(&rng, 29, 0, "rlhf", 0);
    for (int trial = 0; trial < 400; trial++) {
        struct rlhf_found found = {.step_s = 0.0};
        double over_frac = 0.0;
        if (trial % 20 == 0) bed_init(&bed, &rng, 8, trial % 40 == 0 ? 4 : 1);
        if (trial % 20 == 0) bed.space.usable_bytes *= 2.0;
        for (int call = 0; call < RLHF_CALLS; call++) {
            const int32_t mesh = (int32_t)rng_below(&rng, (uint64_t)bed.space.n_meshes);
            const struct rlhf_options *options = &bed.space.options[call][bed.space.meshes[mesh].size];
            found.calls[call] = (struct rlhf_choice){mesh, (int32_t)rng_below(&rng, (uint64_t)options->n)};
        }
        rlhf_evaluate(&bed.space, &found);
        for (int call = 0; call < RLHF_CALLS; call++) {
            const struct rlhf_option *option = rlhf_option_of(&bed.space, (enum rlhf_call)call, found.calls[call]);
            const struct rlhf_way *way = found.ways[call];
            double fullest = 0.0;
            for (int64_t gpu = 0; gpu < bed.space.gpus; gpu++)
                if (is_on(&bed.space, &found, call, gpu))
                    fullest = fmax(fullest, bytes_on(&bed.space, &found, call, gpu));
            CHECK_NEAR(found.bytes[call], fullest, 1e-9);
            for (const struct rlhf_way *faster = option->ways; faster < way; faster++, n_slower++)
                CHECK(fullest - way->active_bytes + faster->active_bytes > bed.space.usable_bytes - 1e-9);
            CHECK(fullest <= bed.space.usable_bytes + 1e-9 || way == &option->ways[option->n_ways - 1]);
            over_frac = fmax(over_frac, fullest / bed.space.usable_bytes - 1.0);
        }
        CHECK_NEAR(found.over_frac, over_frac, 1e-12);
        if (trial % 20 == 19) bed_fini(&bed);
    }
    CHECK(n_slower > 50);
}

TEST(plans_fit_keep_their_order_and_are_never_slower_than_one_split_for_all)
{
    struct rng rng;
    int n_fit = 0, n_faster = 0;
    rng_init(&rng, 21, 0, "rlhf", 0);
    for (int world = 0; world < 30; world++) {
        struct bed bed;
        struct rlhf_search search;
        bed_init(&bed, &rng, 8, 4);
        bed.config.visits = 2000;
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
        CHECK(search.has_best || !search.has_symmetric);
        CHECK_EQ_INT(search.has_megatron, search.has_symmetric);
        if (search.has_symmetric) {
            n_fit++;
            if (search.best.step_s < search.symmetric.step_s) n_faster++;
            CHECK(search.best.step_s <= search.symmetric.step_s);
            CHECK(search.symmetric.step_s <= search.megatron.step_s);
            check_plan(&bed.space, &search.symmetric);
            check_plan(&bed.space, &search.megatron);
        }
        if (search.has_best) check_plan(&bed.space, &search.best);
        bed_fini(&bed);
    }
    CHECK(n_fit > 10);
    CHECK(n_faster > 10);
}

/* The least step of all plans that fit; infinite if none does. */
static double brute_force(const struct rlhf_space *space)
{
    struct rlhf_choice all[RLHF_CALLS][64];
    int n[RLHF_CALLS] = {0}, at[RLHF_CALLS] = {0};
    double least_s = (double)INFINITY;
    for (int call = 0; call < RLHF_CALLS; call++)
        for (int32_t mesh = 0; mesh < space->n_meshes; mesh++)
            for (int32_t i = 0; i < space->options[call][space->meshes[mesh].size].n; i++)
                all[call][n[call]++] = (struct rlhf_choice){mesh, i};
    for (int digit = 0; digit < RLHF_CALLS;) {
        struct rlhf_found found;
        for (int call = 0; call < RLHF_CALLS; call++) found.calls[call] = all[call][at[call]];
        rlhf_evaluate(space, &found);
        if (!(found.over_frac > 0.0)) least_s = fmin(least_s, found.step_s);
        for (digit = 0; digit < RLHF_CALLS; digit++) {
            if (++at[digit] < n[digit]) break;
            at[digit] = 0;
        }
    }
    return least_s;
}

/* Two GPUs on one node, and on two: all plans of six calls. */
TEST(the_best_plan_is_that_of_brute_force)
{
    struct rng rng;
    int n_fit = 0;
    rng_init(&rng, 22, 0, "rlhf", 0);
    for (int world = 0; world < 16; world++) {
        struct bed bed;
        struct rlhf_search search;
        bed_init(&bed, &rng, 2, world % 2 == 0 ? 2 : 1);
        bed.space.usable_bytes *= 2.0;
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
        const double least_s = brute_force(&bed.space);
        CHECK(search.is_exact);
        CHECK_EQ_INT(search.has_best, isfinite(least_s));
        if (search.has_best) {
            n_fit++;
            CHECK_NEAR(search.best.step_s / least_s, 1.0, 1e-12);
        }
        bed_fini(&bed);
    }
    CHECK(n_fit > 6);
}

/* The chain alone, without proof, finds the optimum of most small clusters, and never anything below it. */
TEST(the_chain_is_never_below_the_proven_optimum)
{
    struct rng rng;
    int n_equal = 0, n_walked = 0, n = 0;
    rng_init(&rng, 23, 0, "rlhf", 0);
    for (int world = 0; world < 20; world++) {
        struct bed bed;
        struct rlhf_search chain, exact;
        bed_init(&bed, &rng, 4, 2);
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &exact, &bed.diag), 0);
        CHECK(exact.is_exact);
        bed.config.visits = 0;
        bed.config.proposals = 4000;
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &chain, &bed.diag), 0);
        CHECK(!chain.is_exact);
        if (chain.has_best) {
            n++;
            CHECK(chain.best.step_s >= exact.best.step_s * (1.0 - 1e-12));
            CHECK(!(chain.walked_s < chain.best.step_s));
            if (chain.best.step_s <= exact.best.step_s * (1.0 + 1e-12)) n_equal++;
            if (chain.walked_s <= exact.best.step_s * (1.0 + 1e-12)) n_walked++;
        }
        bed_fini(&bed);
    }
    CHECK(n > 10);
    CHECK(2 * n_equal > n);
    CHECK(2 * n_walked > n); /* before any descent */
}

/* Whether all calls on all GPUs can be split so, and fit. */
static bool fits_so(const struct rlhf_space *space, int64_t tensor, int64_t pipeline)
{
    struct rlhf_found found = {.step_s = 0.0};
    for (int call = 0; call < RLHF_CALLS; call++) {
        const struct rlhf_options *options = &space->options[call][space->n_sizes - 1];
        found.calls[call] = (struct rlhf_choice){space->n_meshes - 1, -1};
        for (int32_t i = 0; i < options->n; i++)
            if (options->items[i].tensor == tensor && options->items[i].pipeline == pipeline)
                found.calls[call].option = i;
        if (found.calls[call].option < 0) return false;
    }
    rlhf_evaluate(space, &found);
    return !(found.over_frac > 0.0);
}

/* No split that fits has more tensor ranks than that of Megatron's rule, or as many and fewer stages. */
TEST(the_rule_of_megatron_takes_the_most_tensor_ranks_then_the_fewest_stages)
{
    struct rng rng;
    int n = 0, n_others = 0;
    rng_init(&rng, 27, 0, "rlhf", 0);
    for (int world = 0; world < 20; world++) {
        struct bed bed;
        struct rlhf_search search;
        bed_init(&bed, &rng, 8, 4);
        bed.config.visits = bed.config.proposals = 0;
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
        for (int64_t tensor = 1; search.has_megatron && tensor <= 4; tensor *= 2)
            for (int64_t pipeline = 1; pipeline <= 2; pipeline *= 2) {
                const struct rlhf_option *rule = rlhf_option_of(&bed.space, RLHF_GENERATE, search.megatron.calls[0]);
                if (!fits_so(&bed.space, tensor, pipeline)) continue;
                n++;
                if (tensor < rule->tensor) n_others++;
                CHECK(tensor < rule->tensor || (tensor == rule->tensor && pipeline >= rule->pipeline));
            }
        bed_fini(&bed);
    }
    CHECK(n > 10);
    CHECK(n_others > 5);
}

/* The fastest plan that fits of those that differ from one plan in one call. */
static double least_neighbour_s(const struct rlhf_space *space, const struct rlhf_found *plan)
{
    double least_s = INFINITY;
    for (int call = 0; call < RLHF_CALLS; call++)
        for (int32_t mesh = 0; mesh < space->n_meshes; mesh++)
            for (int32_t i = 0; i < space->options[call][space->meshes[mesh].size].n; i++) {
                struct rlhf_found other = *plan;
                other.calls[call] = (struct rlhf_choice){mesh, i};
                rlhf_evaluate(space, &other);
                if (!(other.over_frac > 0.0)) least_s = fmin(least_s, other.step_s);
            }
    return least_s;
}

/* Without a proof, and with walks too short to find much. */
TEST(no_change_of_one_call_betters_a_plan_after_the_descent)
{
    struct rng rng;
    int n = 0, n_descended = 0;
    rng_init(&rng, 30, 0, "rlhf", 0);
    for (int world = 0; world < 30; world++) {
        struct bed bed;
        struct rlhf_search search;
        bed_init(&bed, &rng, 8, 4);
        bed.space.usable_bytes *= 3.0;
        bed.config.visits = 0;
        bed.config.proposals = 200;
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
        if (search.has_best) {
            n++;
            n_descended += search.best.step_s < search.walked_s;
            CHECK(least_neighbour_s(&bed.space, &search.best) >= search.best.step_s * (1.0 - 1e-12));
        }
        bed_fini(&bed);
    }
    CHECK(n > 20);
    CHECK(n_descended > 10);
}

/* On one GPU there is one plan: the symmetric one, the begin of two walks of half the proposals each, and of the
 * descent. That tries both choices of each call, but at most five plans for each proposal. Two visits prove the plan,
 * one for each of two equal options, of which the first is taken. */
TEST(one_plan_is_evaluated_as_often_as_the_search_looks)
{
    static const struct {
        int64_t proposals, visits, evaluated, visited;
        bool is_exact;
    } cases[] = {{10, 0, 1 + 2 * (1 + 5) + 1 + 6 * 2, 0, false},
                 {10, 1, 1 + 2 * (1 + 5) + 1 + 6 * 2, 2, false},
                 {10, 2, 1 + 2 * (1 + 5) + 1 + 6 * 2, 2, true},
                 {0, 0, 4, 0, false},
                 {1, 0, 8, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rng rng;
        struct bed bed;
        struct rlhf_search search;
        rng_init(&rng, 31, 0, "rlhf", 0);
        bed_init(&bed, &rng, 1, 1);
        bed.space.usable_bytes = 1e9;
        bed.config.proposals = cases[i].proposals;
        bed.config.visits = cases[i].visits;
        for (int call = 0; call < RLHF_CALLS; call++) {
            struct rlhf_option *twice = arena_alloc(&bed.arena, 2 * sizeof *twice);
            MUST(twice != NULL && bed.space.options[call][0].n == 1);
            twice[0] = twice[1] = bed.space.options[call][0].items[0];
            bed.space.options[call][0] = (struct rlhf_options){twice, 2};
        }
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
        CHECK_EQ_INT(search.n_evaluated, cases[i].evaluated);
        CHECK_EQ_INT(search.n_visited, cases[i].visited);
        CHECK_EQ_INT(search.is_exact, cases[i].is_exact);
        CHECK(search.has_best && search.has_symmetric && search.has_megatron);
        for (int call = 0; call < RLHF_CALLS; call++) CHECK_EQ_INT(search.best.calls[call].option, 0);
        bed.space.usable_bytes = 101.0; /* of each model alone, not of all */
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
        CHECK(!search.has_best && isnan(search.walked_s));
        bed_fini(&bed);
    }
}

/* Six GPUs of a node of eight: the largest meshes have four. */
TEST(without_a_mesh_of_all_gpus_no_split_is_on_all)
{
    struct rng rng;
    struct bed bed;
    struct rlhf_search search;
    rng_init(&rng, 32, 0, "rlhf", 0);
    bed_init(&bed, &rng, 6, 8);
    bed.space.usable_bytes = 1e9;
    bed.config.visits = 0;
    CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search, &bed.diag), 0);
    CHECK(search.has_best && !search.has_symmetric && !search.has_megatron);
    bed_fini(&bed);
}

/* Interrupted at once, the search still has the fastest split for all calls. The whole search never falls behind it. */
TEST(an_interrupted_search_keeps_what_it_found)
{
    struct rng rng;
    int n = 0;
    rng_init(&rng, 28, 0, "rlhf", 0);
    for (int world = 0; world < 10; world++) {
        const volatile sig_atomic_t interrupt = SIGINT;
        struct bed bed;
        struct rlhf_search cut, whole, unproven;
        bed_init(&bed, &rng, 4, 2);
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, &interrupt, &cut, &bed.diag), 0);
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &whole, &bed.diag), 0);
        CHECK(!whole.is_interrupted);
        CHECK(cut.is_interrupted != cut.is_exact);
        CHECK(cut.n_evaluated < whole.n_evaluated);
        bed.config.proposals = 0; /* then the walks alone cannot make it shorter */
        CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, &interrupt, &unproven, &bed.diag), 0);
        CHECK(!unproven.is_exact || !unproven.has_best);
        CHECK(unproven.n_visited <= 6);
        CHECK_EQ_INT(cut.has_symmetric, whole.has_symmetric);
        CHECK(cut.has_best || !cut.has_symmetric);
        if (cut.has_best) CHECK(whole.best.step_s <= cut.best.step_s);
        if (cut.has_symmetric) CHECK(cut.best.step_s <= cut.symmetric.step_s);
        n += cut.has_best;
        bed_fini(&bed);
    }
    CHECK(n > 3);
}

TEST(the_same_seed_finds_the_same_plan)
{
    struct rng rng;
    struct bed bed;
    struct rlhf_search search[2];
    rng_init(&rng, 24, 0, "rlhf", 0);
    bed_init(&bed, &rng, 8, 4);
    bed.config.visits = 100;
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(rlhf_search(&bed.space, &bed.config, NULL, &search[i], &bed.diag), 0);
    CHECK(search[0].has_best);
    CHECK_EQ_INT(search[0].n_evaluated, search[1].n_evaluated);
    CHECK_NEAR(search[0].best.step_s, search[1].best.step_s, 0.0);
    for (int call = 0; call < RLHF_CALLS; call++) {
        CHECK_EQ_INT(search[0].best.calls[call].mesh, search[1].best.calls[call].mesh);
        CHECK_EQ_INT(search[0].best.calls[call].option, search[1].best.calls[call].option);
    }
    bed_fini(&bed);
}

static bool has_mesh(const struct rlhf_space *space, const struct rlhf_mesh *mesh)
{
    for (int32_t i = 0; i < space->n_meshes; i++)
        if (space->meshes[i].first == mesh->first && space->meshes[i].gpus == mesh->gpus) return true;
    return false;
}

/* So a cluster that grows never loses a plan. */
TEST(meshes_of_fewer_gpus_are_among_those_of_more)
{
    struct rlhf_space spaces[16];
    struct arena arena;
    struct diag diag;
    arena_init(&arena);
    diag_init(&diag);
    for (int64_t gpus = 1; gpus <= 9; gpus++) {
        spaces[gpus] = (struct rlhf_space){.gpus = 0};
        CHECK_EQ_INT(rlhf_space_meshes(&spaces[gpus], gpus < 9 ? gpus : 16, 8, &arena, &diag), 0);
        for (int32_t i = 0; gpus > 1 && i < spaces[gpus - 1].n_meshes; i++) {
            CHECK(has_mesh(&spaces[gpus], &spaces[gpus - 1].meshes[i]));
            CHECK_EQ_INT(8 % spaces[gpus - 1].meshes[i].gpus, 0);
        }
    }
    CHECK_EQ_INT(spaces[6].n_meshes, 6 + 3 + 1);
    CHECK_EQ_INT(spaces[8].n_meshes, 8 + 4 + 2 + 1);
    arena_fini(&arena);
}

/* Parts of a node at multiples of their size, and all runs of nodes. */
TEST(meshes_are_parts_of_a_node_or_whole_nodes)
{
    struct bed bed;
    struct rng rng;
    rng_init(&rng, 25, 0, "rlhf", 0);
    bed_init(&bed, &rng, 24, 8);
    CHECK_EQ_INT(bed.space.n_meshes, 24 + 12 + 6 + 3 + 2 + 1);
    CHECK_EQ_INT(bed.space.n_sizes, 6);
    for (int32_t i = 0; i < bed.space.n_meshes; i++) {
        const struct rlhf_mesh mesh = bed.space.meshes[i];
        CHECK_EQ_INT(bed.space.sizes[mesh.size], mesh.gpus);
        CHECK_EQ_INT(mesh.first % (mesh.gpus < 8 ? mesh.gpus : 8), 0);
        CHECK(mesh.first + mesh.gpus <= 24);
        CHECK(mesh.gpus % 8 == 0 || mesh.first / 8 == (mesh.first + mesh.gpus - 1) / 8);
    }
    bed_fini(&bed);
}
