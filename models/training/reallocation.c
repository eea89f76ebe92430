#include "models/training/reallocation.h"

#include <math.h>

/* Sums while parts are dealt out. */
struct dealing {
    const struct reallocation_layout *from, *to;
    const struct reallocation_links *links;
    struct reallocation *sum;
    double once_bytes;                        /* over the network, what several nodes want counted once */
    double into_gpu_bytes[REALLOCATION_GPUS]; /* from its node; set for the GPUs of `to` alone, as the next one is */
    double into_node_bytes[REALLOCATION_GPUS];
};

/* GPUs with one part of a model: of a stage and a tensor rank, or with all tensor ranks. `step` GPUs lie between two
 * of them. */
struct owners {
    int64_t first, step, n;
};

static struct owners owners_of(const struct reallocation_layout *layout, int64_t stage, int64_t tensor)
{
    const int64_t start = layout->first + stage * layout->data * layout->tensor;
    if (tensor < 0) return (struct owners){start, 1, layout->data * layout->tensor};
    return (struct owners){start + tensor, layout->tensor, layout->data};
}

static bool owns(const struct owners *owners, int64_t gpu)
{
    const int64_t at = gpu - owners->first;
    return at >= 0 && at % owners->step == 0 && at / owners->step < owners->n;
}

/* Whether one of them lies on the node with these GPUs. */
static bool owns_on_node(const struct owners *owners, int64_t first_gpu, int64_t gpus)
{
    const int64_t before = first_gpu - owners->first;
    const int64_t index = before <= 0 ? 0 : (before + owners->step - 1) / owners->step;
    return index < owners->n && owners->first + index * owners->step < first_gpu + gpus;
}

/* One part, of `bytes`, that each GPU of `wanting` wants and each of `having` has. */
static void deal(struct dealing *dealing, const struct owners *having, const struct owners *wanting, double bytes)
{
    const int64_t per_node = dealing->links->gpus_per_node;
    int64_t entered = -1; /* the node that it entered last: nodes come in order */
    bool is_sent = false;
    if (!(bytes > 0.0)) return;
    for (int64_t i = 0; i < wanting->n; i++) {
        const int64_t gpu = wanting->first + i * wanting->step, node = gpu / per_node;
        if (owns(having, gpu)) {
            dealing->sum->kept_bytes += bytes;
        } else if (node == entered || owns_on_node(having, node * per_node, per_node)) {
            dealing->sum->node_bytes += bytes;
            dealing->into_gpu_bytes[gpu] += bytes;
        } else {
            dealing->sum->network_bytes += bytes;
            dealing->into_node_bytes[node] += bytes;
            entered = node;
            is_sent = true;
        }
    }
    if (is_sent) dealing->once_bytes += bytes;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t x = a, y = b;
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* `count` equal parts that a stage of one layout has and a stage of the other one wants. */
static void deal_part(struct dealing *dealing, const struct reallocation_part *part, double count, int64_t from_stage,
                      int64_t to_stage)
{
    const int64_t slices = common_multiple(dealing->from->tensor, dealing->to->tensor);
    for (int64_t slice = 0; slice < slices; slice++) {
        const struct owners having = owners_of(dealing->from, from_stage, slice * dealing->from->tensor / slices);
        const struct owners wanting = owners_of(dealing->to, to_stage, slice * dealing->to->tensor / slices);
        deal(dealing, &having, &wanting, count * part->split_bytes / (double)slices);
    }
    const struct owners having = owners_of(dealing->from, from_stage, -1);
    const struct owners wanting = owners_of(dealing->to, to_stage, -1);
    deal(dealing, &having, &wanting, count * part->copied_bytes);
}

static void deal_layers(struct dealing *dealing, const struct reallocation_model *model)
{
    const int64_t each_from = model->layers / dealing->from->pipeline, each_to = model->layers / dealing->to->pipeline;
    for (int64_t layer = 0; layer < model->layers;) {
        const int64_t from_stage = layer / each_from, to_stage = layer / each_to;
        const int64_t from_end = (from_stage + 1) * each_from, to_end = (to_stage + 1) * each_to;
        const int64_t end = from_end < to_end ? from_end : to_end;
        deal_part(dealing, &model->layer, (double)(end - layer), from_stage, to_stage);
        layer = end;
    }
}

/* GPUs of the layout on a node. */
static int64_t gpus_on_node(const struct reallocation_layout *layout, int64_t node, int64_t per_node)
{
    const int64_t first = node * per_node, end = first + per_node, last = layout->first + reallocation_gpus(layout);
    const int64_t from = layout->first > first ? layout->first : first, to = last < end ? last : end;
    return to > from ? to - from : 0;
}

static double seconds_of(const struct dealing *dealing)
{
    const struct reallocation_links *links = dealing->links;
    const struct reallocation_layout *to = dealing->to;
    const int64_t end = to->first + reallocation_gpus(to), per_node = links->gpus_per_node;
    double bytes = 0.0, adapter_bytes = dealing->once_bytes / (double)reallocation_gpus(dealing->from);
    for (int64_t gpu = to->first; gpu < end; gpu++) bytes = fmax(bytes, dealing->into_gpu_bytes[gpu]);
    for (int64_t node = to->first / per_node; node * per_node < end; node++)
        adapter_bytes = fmax(adapter_bytes, dealing->into_node_bytes[node] / (double)gpus_on_node(to, node, per_node));
    const double network_s = adapter_bytes > 0.0 ? adapter_bytes / links->network_bytes_per_s : 0.0;
    return fmax(network_s, bytes / links->node_bytes_per_s);
}

/* Sets to 0 what is read, so that a move costs time by its GPUs and not by the most that there may be. */
static void clear(struct dealing *dealing)
{
    const int64_t first = dealing->to->first, end = first + reallocation_gpus(dealing->to);
    const int64_t per_node = dealing->links->gpus_per_node;
    for (int64_t gpu = first; gpu < end; gpu++) dealing->into_gpu_bytes[gpu] = 0.0;
    for (int64_t node = first / per_node; node * per_node < end; node++) dealing->into_node_bytes[node] = 0.0;
}

struct reallocation reallocation_of(const struct reallocation_model *model, const struct reallocation_layout *from,
                                    const struct reallocation_layout *to, const struct reallocation_links *links)
{
    struct reallocation sum = {0.0, 0.0, 0.0, 0.0};
    struct dealing dealing;
    dealing.from = from;
    dealing.to = to;
    dealing.links = links;
    dealing.sum = &sum;
    dealing.once_bytes = 0.0;
    clear(&dealing);
    deal_part(&dealing, &model->embedding, 1.0, 0, 0);
    deal_layers(&dealing, model);
    deal_part(&dealing, &model->head, 1.0, from->pipeline - 1, to->pipeline - 1);
    sum.seconds = seconds_of(&dealing);
    return sum;
}

static double part_bytes(const struct reallocation_part *part, int64_t tensor)
{
    return part->split_bytes / (double)tensor + part->copied_bytes;
}

double reallocation_rank_bytes(const struct reallocation_model *model, const struct reallocation_layout *layout)
{
    const double layers = (double)(model->layers / layout->pipeline) * part_bytes(&model->layer, layout->tensor);
    const double first = part_bytes(&model->embedding, layout->tensor), last = part_bytes(&model->head, layout->tensor);
    return layers + (layout->pipeline == 1 ? first + last : fmax(first, last));
}
