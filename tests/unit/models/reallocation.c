/* Moves of weights between layouts, against a count of every parameter on every GPU. */
#include "models/training/reallocation.h"
#include "tests/support/harness.h"

enum { LAYERS = 12, COLUMNS = 24, PIECES = LAYERS + 2, CELLS = COLUMNS + 1, GPUS = 32 };

/* Bytes of a column of each piece, and of what is not split: embedding, layers, head. */
static const double column_bytes[3] = {5.0, 3.0, 7.0}, copied_bytes[3] = {2.0, 11.0, 0.0};

static int kind_of(int piece)
{
    return piece == 0 ? 0 : piece == PIECES - 1 ? 2 : 1;
}

static struct reallocation_model model_of_pieces(void)
{
    struct reallocation_part parts[3];
    for (int kind = 0; kind < 3; kind++)
        parts[kind] = (struct reallocation_part){COLUMNS * column_bytes[kind], copied_bytes[kind]};
    return (struct reallocation_model){.layers = LAYERS, .embedding = parts[0], .layer = parts[1], .head = parts[2]};
}

/* Whether a GPU has a column of a piece; the last cell stands for what is not split. */
static bool has(const struct reallocation_layout *layout, int64_t gpu, int piece, int cell)
{
    const int64_t rank = gpu - layout->first;
    if (rank < 0 || rank >= reallocation_gpus(layout)) return false;
    const int64_t tensor = rank % layout->tensor, stage = rank / (layout->tensor * layout->data);
    const int64_t layer = piece - 1, owner = piece == 0            ? 0
                                             : piece == PIECES - 1 ? layout->pipeline - 1
                                                                   : layer / (LAYERS / layout->pipeline);
    return stage == owner && (cell == COLUMNS || cell / (COLUMNS / layout->tensor) == tensor);
}

static bool node_has(const struct reallocation_layout *layout, int64_t node, int64_t per_node, int piece, int cell)
{
    for (int64_t gpu = node * per_node; gpu < (node + 1) * per_node; gpu++)
        if (has(layout, gpu, piece, cell)) return true;
    return false;
}

/* Parameter by parameter, GPU by GPU. */
static struct reallocation count_naively(const struct reallocation_layout *from, const struct reallocation_layout *to,
                                         const struct reallocation_links *links)
{
    struct reallocation sum = {0};
    double into_gpu[GPUS] = {0}, into_node[GPUS] = {0}, once = 0.0, slowest_s = 0.0;
    int64_t receivers[GPUS] = {0};
    for (int piece = 0; piece < PIECES; piece++)
        for (int cell = 0; cell < CELLS; cell++) {
            const double bytes = (cell == COLUMNS ? copied_bytes : column_bytes)[kind_of(piece)];
            bool entered[GPUS] = {false}, is_sent = false;
            for (int64_t gpu = 0; gpu < GPUS; gpu++) {
                const int64_t node = gpu / links->gpus_per_node;
                if (!has(to, gpu, piece, cell)) continue;
                if (has(from, gpu, piece, cell)) {
                    sum.kept_bytes += bytes;
                } else if (entered[node] || node_has(from, node, links->gpus_per_node, piece, cell)) {
                    sum.node_bytes += bytes;
                    into_gpu[gpu] += bytes;
                } else {
                    sum.network_bytes += bytes;
                    into_node[node] += bytes;
                    entered[node] = is_sent = true;
                }
            }
            if (is_sent) once += bytes;
        }
    for (int64_t gpu = to->first; gpu < to->first + reallocation_gpus(to); gpu++)
        receivers[gpu / links->gpus_per_node]++;
    for (int i = 0; i < GPUS; i++) {
        slowest_s = fmax(slowest_s, into_gpu[i] / links->node_bytes_per_s);
        if (receivers[i] > 0)
            slowest_s = fmax(slowest_s, into_node[i] / (double)receivers[i] / links->network_bytes_per_s);
    }
    sum.seconds = fmax(slowest_s, once / (double)reallocation_gpus(from) / links->network_bytes_per_s);
    return sum;
}

/* A layout of GPUs of four nodes of eight. */
static struct reallocation_layout draw_layout(struct rng *rng)
{
    static const int64_t tensors[] = {1, 2, 3, 4, 6, 8}, pipelines[] = {1, 2, 3, 4, 6, 12};
    struct reallocation_layout layout;
    do {
        layout = (struct reallocation_layout){.tensor = tensors[rng_below(rng, 6)],
                                              .pipeline = pipelines[rng_below(rng, 6)],
                                              .data = 1 + (int64_t)rng_below(rng, 4)};
    } while (reallocation_gpus(&layout) > GPUS);
    layout.first = (int64_t)rng_below(rng, (uint64_t)(GPUS - reallocation_gpus(&layout) + 1));
    return layout;
}

TEST(moved_bytes_are_those_of_every_parameter)
{
    const struct reallocation_model model = model_of_pieces();
    const struct reallocation_links links = {8, 300.0, 25.0};
    struct rng rng;
    rng_init(&rng, 7, 0, "reallocation", 0);
    for (int i = 0; i < 300; i++) {
        const struct reallocation_layout from = draw_layout(&rng), to = draw_layout(&rng);
        const struct reallocation moved = reallocation_of(&model, &from, &to, &links);
        const struct reallocation naive = count_naively(&from, &to, &links);
        CHECK_NEAR(moved.kept_bytes, naive.kept_bytes, 1e-6);
        CHECK_NEAR(moved.node_bytes, naive.node_bytes, 1e-6);
        CHECK_NEAR(moved.network_bytes, naive.network_bytes, 1e-6);
        CHECK_NEAR(moved.seconds, naive.seconds, 1e-9);
    }
}

/* All bytes of the new layout are kept or come from somewhere; nothing moves to where it is. */
TEST(moved_bytes_are_those_of_the_new_layout)
{
    const struct reallocation_model model = model_of_pieces();
    const struct reallocation_links links = {8, 300.0, 25.0};
    const double split = COLUMNS * (column_bytes[0] + LAYERS * column_bytes[1] + column_bytes[2]);
    const double copied = copied_bytes[0] + LAYERS * copied_bytes[1] + copied_bytes[2];
    struct rng rng;
    rng_init(&rng, 8, 0, "reallocation", 0);
    for (int i = 0; i < 200; i++) {
        const struct reallocation_layout from = draw_layout(&rng), to = draw_layout(&rng);
        const struct reallocation moved = reallocation_of(&model, &from, &to, &links);
        const struct reallocation stays = reallocation_of(&model, &from, &from, &links);
        CHECK_NEAR(moved.kept_bytes + moved.node_bytes + moved.network_bytes,
                   (double)to.data * (split + (double)to.tensor * copied), 1e-6);
        CHECK(stays.node_bytes == 0.0 && stays.network_bytes == 0.0 && stays.seconds == 0.0);
        CHECK(!reallocation_is_needed(&from, &from));
    }
}

/* A model on one node goes to one other node once, over all its adapters. */
TEST(a_model_enters_a_node_once)
{
    const struct reallocation_model model = model_of_pieces();
    const struct reallocation_links links = {8, 300.0, 25.0};
    const struct reallocation_layout from = {0, 8, 1, 1}, to = {8, 1, 8, 1};
    const double split = COLUMNS * (column_bytes[0] + LAYERS * column_bytes[1] + column_bytes[2]);
    const double whole = split + copied_bytes[0] + LAYERS * copied_bytes[1] + copied_bytes[2];
    const struct reallocation moved = reallocation_of(&model, &from, &to, &links);
    CHECK_NEAR(moved.network_bytes, whole, 1e-9);
    CHECK_NEAR(moved.node_bytes, 7.0 * whole, 1e-9);
    CHECK_NEAR(moved.seconds, fmax(whole / 8.0 / 25.0, whole / 300.0), 1e-12);
}

/* A model of 2^-30 times the bytes moves in 2^-30 times the time, to the bit. */
TEST(time_is_in_proportion_to_bytes)
{
    const struct reallocation_model model = model_of_pieces();
    const struct reallocation_links links = {8, 300.0, 25.0};
    struct reallocation_model small = model;
    struct reallocation_part *parts[] = {&small.layer, &small.embedding, &small.head};
    for (int i = 0; i < 3; i++) {
        parts[i]->split_bytes = ldexp(parts[i]->split_bytes, -30);
        parts[i]->copied_bytes = ldexp(parts[i]->copied_bytes, -30);
    }
    struct rng rng = test_rng(10, "reallocation", 0);
    for (int i = 0; i < 100; i++) {
        const struct reallocation_layout from = draw_layout(&rng), to = draw_layout(&rng);
        const struct reallocation moved = reallocation_of(&model, &from, &to, &links);
        const struct reallocation less = reallocation_of(&small, &from, &to, &links);
        CHECK(less.seconds == ldexp(moved.seconds, -30));
        CHECK(less.kept_bytes == ldexp(moved.kept_bytes, -30) && less.node_bytes == ldexp(moved.node_bytes, -30) &&
              less.network_bytes == ldexp(moved.network_bytes, -30));
    }
}

TEST(a_rank_has_the_bytes_of_its_cells)
{
    const struct reallocation_model model = model_of_pieces();
    struct rng rng;
    rng_init(&rng, 9, 0, "reallocation", 0);
    for (int i = 0; i < 100; i++) {
        const struct reallocation_layout layout = draw_layout(&rng);
        double most = 0.0;
        for (int64_t gpu = 0; gpu < GPUS; gpu++) {
            double bytes = 0.0;
            for (int piece = 0; piece < PIECES; piece++)
                for (int cell = 0; cell < CELLS; cell++)
                    if (has(&layout, gpu, piece, cell))
                        bytes += (cell == COLUMNS ? copied_bytes : column_bytes)[kind_of(piece)];
            most = fmax(most, bytes);
        }
        CHECK_NEAR(reallocation_rank_bytes(&model, &layout), most, 1e-9);
    }
}
