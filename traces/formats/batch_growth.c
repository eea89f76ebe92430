#include "traces/formats/batch_growth.h"

#include <string.h>

const char *const growth_mode_names[] = {"static", "accordion", "gns", NULL};

enum { RESNET_18, RESNET_50, TRANSFORMER, LM, RECOMMENDATION, N_MODELS };

static const struct growing_model models[N_MODELS] = {[RESNET_18] = {"resnet-18", 50000, 256},
                                                      [RESNET_50] = {"resnet-50", 100000, 128},
                                                      [TRANSFORMER] = {"transformer", 10000, 128},
                                                      [LM] = {"lm", 59675, 80},
                                                      [RECOMMENDATION] = {"recommendation", 117907, 8192}};

const struct growing_model *growing_model_find(const char *chars, size_t n_chars)
{
    for (int i = 0; i < N_MODELS; i++)
        if (strlen(models[i].name) == n_chars && memcmp(models[i].name, chars, n_chars) == 0) return &models[i];
    return NULL;
}

int64_t growth_epochs(const struct growing_model *model, int64_t batch, int64_t steps)
{
    const int64_t per_epoch = (model->samples + batch - 1) / batch;
    return (steps + per_epoch - 1) / per_epoch;
}

/* --- Gradient noise scale --- */

enum { DOUBLINGS = 4 };

/* Epochs at which the batch of such a job doubles, rising; 0: no more. */
struct doubling {
    int model, batch, gpus;
    int at[DOUBLINGS];
};

static const struct doubling doublings[] = {
    {RESNET_18, 16, 1, {31, 41, 51, 71}},  {RESNET_18, 32, 1, {21, 31, 51}},  {RESNET_18, 64, 1, {11, 31}},
    {RESNET_18, 128, 1, {11}},             {RESNET_18, 16, 2, {21, 31, 91, 111}}, {RESNET_18, 32, 2, {11, 21, 41}},
    {RESNET_18, 64, 2, {21, 41}},          {RESNET_18, 128, 2, {41}},         {RESNET_18, 16, 4, {11, 21, 81, 91}},
    {RESNET_18, 32, 4, {21, 31, 61}},      {RESNET_18, 64, 4, {11, 61}},      {RESNET_18, 128, 4, {11}},
    {RESNET_50, 64, 1, {101}},             {RESNET_50, 32, 2, {101, 111}},    {RESNET_50, 64, 2, {81}},
    {RESNET_50, 32, 4, {131, 221}},        {RESNET_50, 64, 4, {191}},         {LM, 5, 1, {31, 41, 61, 71}},
    {LM, 10, 1, {11, 21, 41}},             {LM, 20, 1, {11, 41}},             {LM, 40, 1, {11}},
    {LM, 5, 2, {31, 51, 61, 71}},          {LM, 10, 2, {11, 31, 41}},         {LM, 20, 2, {31, 41}},
    {LM, 40, 2, {11}},                     {LM, 5, 4, {11, 31, 71, 91}},      {LM, 10, 4, {11, 31, 61}},
    {LM, 20, 4, {11, 61}},                 {LM, 40, 4, {61}},                 {RECOMMENDATION, 512, 1, {21, 41, 71, 91}},
    {RECOMMENDATION, 1024, 1, {21, 51, 91}}, {RECOMMENDATION, 2048, 1, {21, 41}}, {RECOMMENDATION, 4096, 1, {41}}};

static int64_t doubled(const struct growing_model *model, int64_t first, int64_t gpus, int64_t epoch)
{
    int64_t batch = first;
    for (size_t i = 0; i < sizeof doublings / sizeof *doublings; i++) {
        const struct doubling *doubling = &doublings[i];
        if (&models[doubling->model] != model || doubling->batch != first || doubling->gpus != gpus) continue;
        for (int d = 0; d < DOUBLINGS && doubling->at[d] > 0; d++)
            if (epoch >= doubling->at[d]) batch *= 2;
    }
    return batch;
}

/* --- Accordion --- */

static int is_between(int64_t epoch, int64_t from, int64_t to)
{
    return epoch >= from && epoch < to;
}

/* Whether the batch stays at its first size in this epoch, however many there are. */
static int is_critical(const struct growing_model *model, int64_t batch, int64_t epoch)
{
    switch (model - models) {
    case RESNET_18:
        return epoch < (batch == 256 ? 20 : 10) || is_between(epoch, 150, 160) || is_between(epoch, 250, 260);
    case RESNET_50: return epoch % 30 < 10;
    case LM: return epoch < 10;
    case RECOMMENDATION:
        return epoch < (batch <= 1024   ? 30
                        : batch == 2048 ? 40
                                        : 10) ||
               is_between(epoch, 60, 70) || is_between(epoch, 80, 90);
    default: return 1;
    }
}

int64_t growth_batch(const struct growing_model *model, enum growth_mode mode, int64_t batch, int64_t gpus,
                     int64_t epochs, int64_t epoch)
{
    if (mode == GROWTH_GNS) return doubled(model, batch, gpus, epoch);
    if (mode == GROWTH_STATIC || 10 * epoch <= 3 * epochs || is_critical(model, batch, epoch)) return batch;
    return model->largest;
}
