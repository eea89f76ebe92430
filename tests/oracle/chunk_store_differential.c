/* Chunk stores against a naive counter: 100 random worlds with one request at a time, at several capacities. Tokens
 * that are hits, transferred, recomputed and new, hits of every request, variants kept and evictions of every tier must
 * be equal, without a tolerance.
 *
 * The counter shares the random variable with the world (chunk_attention_pair), and nothing else: it lists variants in
 * the order in which they were made, and searches all of them. */
#include "sim/world/kv/chunk_attention.h"
#include "tests/support/bed.h"
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"

enum { CASES = 100, REQUESTS = 30, MOST_CHUNKS = 6, MOST_CORPUS = 24, MOST_TIERS = 3, MOST_VARIANTS = 4096 };
enum { TOKEN_BYTES = 131072 }; /* Llama 3.1 8B, BF16 */

struct world {
    uint64_t seed;
    double alpha, inter, sigma;
    int m, n; /* most variants of a chunk, most chunks */
    bool keeps_whole, has_gpu;
    int n_tiers, capacity[MOST_TIERS]; /* in tokens */
    int tokens[MOST_CORPUS];
    int n_chunks[REQUESTS], chunks[REQUESTS][MOST_CHUNKS], question[REQUESTS];
};

/* --- Drawing --- */

static int between(struct rng *rng, int least, int most)
{
    return least + (int)rng_below(rng, (uint64_t)(most - least + 1));
}

static void draw_prompt(struct rng *rng, struct world *world, int r, int corpus)
{
    world->n_chunks[r] = between(rng, 0, MOST_CHUNKS < corpus ? MOST_CHUNKS : corpus);
    world->question[r] = between(rng, world->n_chunks[r] == 0, 40);
    for (int i = 0; i < world->n_chunks[r]; i++) {
        int id = 0;
        for (bool is_new = false; !is_new;) {
            id = between(rng, 0, between(rng, 0, corpus - 1)); /* low numbers are frequent */
            is_new = true;
            for (int k = 0; k < i; k++) is_new &= world->chunks[r][k] != id;
        }
        world->chunks[r][i] = id;
    }
}

static struct world draw_world(int number)
{
    static const double alphas[] = {0, 0.3, 1, 2, 4, 1e12}, sigmas[] = {0, 0.5, 2}, inters[] = {0.01, 0.2, 3};
    struct rng rng = test_rng(39, "chunk-worlds", (uint64_t)number);
    const int corpus = between(&rng, 3, MOST_CORPUS);
    struct world world = {.seed = (uint64_t)number + 1, .alpha = alphas[rng_below(&rng, 6)],
                          .inter = inters[rng_below(&rng, 3)], .sigma = sigmas[rng_below(&rng, 3)],
                          .m = between(&rng, 1, 4), .n = between(&rng, 0, 1) * between(&rng, 1, 10),
                          .keeps_whole = rng_below(&rng, 3) == 0, .has_gpu = rng_below(&rng, 3) > 0,
                          .n_tiers = between(&rng, 1, 2)};
    world.n_tiers += world.has_gpu;
    for (int t = 0; t < world.n_tiers; t++) world.capacity[t] = between(&rng, 50, rng_below(&rng, 2) ? 400 : 3000);
    for (int i = 0; i < corpus; i++) world.tokens[i] = between(&rng, 1, 300);
    for (int r = 0; r < REQUESTS; r++) draw_prompt(&rng, &world, r, corpus);
    return world;
}

/* --- The counter --- */

struct variant {
    bool is_gone;
    int chunk, n, context[MOST_CHUNKS], tier;
    double weights[MOST_CHUNKS], cci;
    long used, stamp; /* latest use; latest entry or use in its tier */
};

struct counter {
    const struct world *world;
    struct chunk_attention attention;
    struct variant variants[MOST_VARIANTS];
    int n;
    long clock, chunk_used[MOST_CORPUS];
    long hit, transferred, recomputed, fresh, evicted[MOST_TIERS];
    int hits[REQUESTS];
};

static int position(const int *list, int n, int id)
{
    for (int i = 0; i < n; i++)
        if (list[i] == id) return i;
    return -1;
}

static double cfo_of(const struct counter *counter, const struct variant *v, const int *context, int n)
{
    double sum = 0, common = 0, swapped = 0, pairs = 0;
    for (int j = 0; j < v->n; j++) {
        const int at = position(context, n, v->context[j]);
        sum += v->weights[j];
        if (at >= 0) common += v->weights[j];
        for (int k = j + 1; at >= 0 && k < v->n; k++) {
            const int other = position(context, n, v->context[k]);
            if (other < 0) continue;
            pairs++;
            if (other < at) swapped++;
        }
    }
    const double beta = v->n == 0 ? (n == 0 ? 1 : 0) : common / sum, gamma = pairs > 0 ? swapped / pairs : 0;
    const double cfo = counter->attention.alpha * v->cci * (1 - beta * (1 - gamma));
    return cfo < 1 ? cfo : 1;
}

static int used_tokens(const struct counter *counter, int tier)
{
    int tokens = 0;
    for (int i = 0; i < counter->n; i++)
        if (!counter->variants[i].is_gone && counter->variants[i].tier == tier)
            tokens += counter->world->tokens[counter->variants[i].chunk];
    return tokens;
}

static void enter(struct counter *counter, int number, int tier)
{
    struct variant *v = &counter->variants[number];
    const int tokens = counter->world->tokens[v->chunk];
    v->tier = -1;
    while (tier < counter->world->n_tiers && tokens > counter->world->capacity[tier]) tier++;
    if (tier == counter->world->n_tiers) {
        v->is_gone = true;
        return;
    }
    while (used_tokens(counter, tier) + tokens > counter->world->capacity[tier]) {
        int least = -1;
        for (int i = 0; i < counter->n; i++)
            if (!counter->variants[i].is_gone && counter->variants[i].tier == tier &&
                (least < 0 || counter->variants[i].stamp < counter->variants[least].stamp))
                least = i;
        counter->evicted[tier]++;
        enter(counter, least, tier + 1);
    }
    v->tier = tier;
    v->stamp = counter->clock++;
}

static int count_of(const struct counter *counter, int chunk)
{
    int n = 0;
    for (int i = 0; i < counter->n; i++) n += !counter->variants[i].is_gone && counter->variants[i].chunk == chunk;
    return n;
}

/* Makes room by numbers. */
static void keep_to_limits(struct counter *counter, int chunk)
{
    int chunks = 0, oldest = -1, least = -1;
    for (int c = 0; c < MOST_CORPUS; c++) {
        if (count_of(counter, c) == 0) continue;
        chunks++;
        if (oldest < 0 || counter->chunk_used[c] < counter->chunk_used[oldest]) oldest = c;
    }
    if (count_of(counter, chunk) == 0 && counter->world->n > 0 && chunks >= counter->world->n)
        for (int i = 0; i < counter->n; i++) counter->variants[i].is_gone |= counter->variants[i].chunk == oldest;
    if (count_of(counter, chunk) < counter->world->m) return;
    for (int i = 0; i < counter->n; i++)
        if (!counter->variants[i].is_gone && counter->variants[i].chunk == chunk &&
            (least < 0 || counter->variants[i].used < counter->variants[least].used))
            least = i;
    counter->variants[least].is_gone = true;
}

static void keep(struct counter *counter, const int *chunks, int n)
{
    const int chunk = chunks[n];
    for (int i = 0; i < counter->n; i++) {
        const struct variant *v = &counter->variants[i];
        if (!v->is_gone && v->chunk == chunk && v->n == n && memcmp(v->context, chunks, (size_t)n * sizeof(int)) == 0)
            return;
    }
    bool fits = false;
    for (int t = 0; t < counter->world->n_tiers; t++)
        fits |= counter->world->tokens[chunk] <= counter->world->capacity[t];
    if (!fits) return; /* what others have is left alone */
    keep_to_limits(counter, chunk);
    struct variant *v = &counter->variants[counter->n];
    *v = (struct variant){.chunk = chunk, .n = n, .used = counter->clock++};
    double ratio = 0;
    for (int j = 0; j < n; j++) {
        const double pair = chunk_attention_pair(&counter->attention, (uint64_t)chunk, (uint64_t)chunks[j]);
        v->context[j] = chunks[j];
        v->weights[j] = pair * counter->world->tokens[chunks[j]];
        ratio += pair;
    }
    v->cci = 1 / (1 + exp(-ratio));
    counter->chunk_used[chunk] = counter->clock++;
    enter(counter, counter->n++, 0);
}

struct pick {
    int variant, reused;
    double cfo;
};

static struct pick pick(const struct counter *counter, const int *chunks, int n)
{
    struct pick best = {.variant = -1};
    for (int i = counter->n - 1; i >= 0; i--) {
        const struct variant *v = &counter->variants[i];
        if (v->is_gone || v->chunk != chunks[n]) continue;
        const double cfo = cfo_of(counter, v, chunks, n);
        if (best.variant >= 0 &&
            (cfo > best.cfo || (cfo == best.cfo && v->tier >= counter->variants[best.variant].tier)))
            continue;
        best = (struct pick){i, 0, cfo};
    }
    const int tokens = counter->world->tokens[chunks[n]];
    if (best.variant >= 0) best.reused = tokens - (int)ceil(best.cfo * tokens);
    return best;
}

static void serve(struct counter *counter, int r)
{
    const struct world *world = counter->world;
    const int *chunks = world->chunks[r], n = world->n_chunks[r];
    struct pick picks[MOST_CHUNKS];
    int left = world->question[r];
    for (int i = 0; i < n; i++) {
        picks[i] = pick(counter, chunks, i);
        left += world->tokens[chunks[i]] - picks[i].reused;
    }
    for (int i = n - 1; i >= 0 && left == 0; i--)
        if (picks[i].reused > 0) left = 1, picks[i].reused--;
    counter->fresh += world->question[r];
    for (int i = 0; i < n; i++) {
        const int tokens = world->tokens[chunks[i]];
        if (picks[i].variant < 0) counter->fresh += tokens;
        if (picks[i].variant < 0) continue;
        struct variant *v = &counter->variants[picks[i].variant];
        const bool is_hit = world->has_gpu && v->tier == 0;
        counter->recomputed += tokens - picks[i].reused;
        if (is_hit) counter->hits[r] += picks[i].reused;
        if (is_hit)
            counter->hit += picks[i].reused;
        else
            counter->transferred += picks[i].reused;
        if (picks[i].reused == 0) continue;
        v->used = counter->clock++;
        counter->chunk_used[v->chunk] = counter->clock++;
        v->stamp = counter->clock++;
    }
    for (int i = 0; i < n; i++) {
        const bool reuses = picks[i].variant >= 0 && picks[i].reused > 0;
        const struct variant *v = reuses ? &counter->variants[picks[i].variant] : NULL;
        if (reuses && picks[i].cfo == 0 && !v->is_gone && v->tier > 0 && world->tokens[v->chunk] <= world->capacity[0])
            enter(counter, picks[i].variant, 0);
        if (!reuses || (!world->keeps_whole && picks[i].cfo > 0)) keep(counter, chunks, i);
    }
}

/* --- The world --- */

static const char *trace_of(const struct world *world)
{
    char text[REQUESTS * 120] = "arrival_s,prompt_tokens,output_tokens,chunks\n";
    size_t at = strlen(text);
    for (int r = 0; r < REQUESTS; r++) {
        int prompt = world->question[r];
        for (int i = 0; i < world->n_chunks[r]; i++) prompt += world->tokens[world->chunks[r][i]];
        at += (size_t)snprintf(text + at, sizeof text - at, "%d,%d,3,", 1000 * r, prompt);
        for (int i = 0; i < world->n_chunks[r]; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%d:%d", i > 0 ? " " : "", world->chunks[r][i],
                                   world->tokens[world->chunks[r][i]]);
        at += (size_t)snprintf(text + at, sizeof text - at, "\n");
    }
    return trace_source_file("chunks.csv", text);
}

static struct bed_rows *run(const struct world *world)
{
    static const char *const devices[] = {"'device': 'gpu', ", "", "'device': 'drives', "};
    char tiers[400] = "";
    size_t at = 0;
    for (int t = 0; t < world->n_tiers; t++)
        at += (size_t)snprintf(tiers + at, sizeof tiers - at, "%s't%d': {%s'capacity': '%dB'}", t > 0 ? ", " : "", t,
                               devices[t + !world->has_gpu], world->capacity[t] * TOKEN_BYTES);
    return bed_run(BED(.check = true),
                   "{'seed': %d, 'cluster': {'gpu': 'h100-sxm', 'nodes': 1, 'gpus_per_node': 1, 'host': {'device':"
                   " 'host-dram-pcie5'}, 'storage': {'drives': {'device': 'samsung-980-pro'}}}, 'services': {'a':"
                   " {'llm': 'llama-3.1-8b', 'cost': 'roofline', 'batching': 'vllm-v1', 'kv': {'blocks': 2600,"
                   " 'chunk_store': {'tiers': {%s}, 'variants': %d, 'chunks': %d, 'alpha': %.17g, 'inter': %.17g,"
                   " 'sigma': %.17g, 'keeps': '%s'}}, 'trace': {'format': 'csv', 'path': '%s'}}}}",
                   (int)world->seed, tiers, world->m, world->n, world->alpha, world->inter, world->sigma,
                   world->keeps_whole ? "whole" : "any", trace_of(world));
}

static void compare(const struct counter *counter, const struct bed_rows *rows)
{
    char name[64];
    MUST(rows->code == 0);
    CHECK_EQ_INT(bed_metric(rows, "chunk.hit_tokens.sum"), counter->hit);
    CHECK_EQ_INT(bed_metric(rows, "chunk.transferred_tokens.sum"), counter->transferred);
    CHECK_EQ_INT(bed_metric(rows, "chunk.recomputed_tokens.sum"), counter->recomputed);
    CHECK_EQ_INT(bed_metric(rows, "chunk.new_tokens.sum"), counter->fresh);
    CHECK_EQ_INT(bed_metric(rows, "chunk.kept_variants.sum"), counter->n);
    for (int t = 0; t < counter->world->n_tiers; t++) {
        snprintf(name, sizeof name, "chunk.evicted_variants.sum[t%d]", t);
        CHECK_EQ_INT(bed_metric(rows, name), counter->evicted[t]);
    }
    for (int r = 0; r < REQUESTS; r++) CHECK_EQ_INT(bed_request(rows, r)->cached_tokens, counter->hits[r]);
}

TEST(chunk_stores_count_what_a_naive_counter_counts)
{
    static struct counter counter;
    long sums[4] = {0}, evicted = 0;
    for (int number = 0; number < CASES; number++) {
        const struct world world = draw_world(number);
        counter = (struct counter){.world = &world,
                                   .attention = {world.alpha, world.inter, world.sigma, world.seed, 0}};
        for (int r = 0; r < REQUESTS; r++) serve(&counter, r);
        struct bed_rows *rows = run(&world);
        compare(&counter, rows);
        bed_free(rows);
        sums[0] += counter.hit;
        sums[1] += counter.transferred;
        sums[2] += counter.recomputed;
        sums[3] += counter.fresh;
        for (int t = 0; t < world.n_tiers; t++) evicted += counter.evicted[t];
    }
    for (int i = 0; i < 4; i++) CHECK(sums[i] > 10000); /* the cases see all four */
    CHECK(evicted > 1000);
}
