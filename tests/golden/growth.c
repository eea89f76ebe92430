/* Batch sizes of growing jobs, whose epochs are tables of Shockwave's artifact: no law gives them. */
#include "sim/core/hash.h"
#include "tests/support/harness.h"
#include "traces/formats/batch_growth.h"

/* Each epoch of jobs of 1 to 300 epochs. */
static void add_job(struct hash *hash, const struct growing_model *model, enum growth_mode mode, int64_t batch,
                    int64_t gpus)
{
    static const int64_t lengths[] = {1, 7, 40, 120, 300};
    char text[32];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int64_t epoch = 0; epoch < lengths[i]; epoch++) {
            const int64_t now = growth_batch(model, mode, batch, gpus, lengths[i], epoch);
            snprintf(text, sizeof text, "%lld", (long long)now);
            hash_text(hash, text);
        }
}

TEST(batches_grow_as_recorded)
{
    static const char *const names[] = {"resnet-18", "resnet-50", "transformer", "lm", "recommendation"};
    char hex[HASH_HEX_CHARS];
    struct hash *hash = hash_create();
    MUST(hash != NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct growing_model *model = growing_model_find(names[i], strlen(names[i]));
        MUST(model != NULL);
        for (int64_t batch = model->largest; batch >= model->largest / 16; batch /= 2)
            for (int64_t gpus = 1; gpus <= 4; gpus *= 2)
                for (int mode = 0; growth_mode_names[mode] != NULL; mode++)
                    add_job(hash, model, (enum growth_mode)mode, batch, gpus);
    }
    hash_hex(hash, hex);
    CHECK_EQ_STR(hex, "b9854aafc7c4f8b1917161d4df42e199");
    hash_destroy(hash);
}

/* Samples of an epoch, by steps that are just enough for so many epochs, and one more. */
TEST(epochs_are_counted_by_the_models_samples)
{
    static const struct {
        const char *name;
        int64_t samples, largest;
    } models[] = {{"resnet-18", 50000, 256}, {"resnet-50", 100000, 128}, {"transformer", 10000, 128}, {"lm", 59675, 80},
                  {"recommendation", 117907, 8192}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const struct growing_model *model = growing_model_find(models[i].name, strlen(models[i].name));
        MUST(model != NULL);
        CHECK_EQ_INT(model->largest, models[i].largest);
        CHECK(growing_model_find(models[i].name, strlen(models[i].name) - 1) == NULL);
        for (int64_t batch = 1; batch <= model->largest; batch++)
            for (int64_t epochs = 1; epochs <= 3; epochs++) {
                const int64_t steps = epochs * ((models[i].samples + batch - 1) / batch);
                CHECK_EQ_INT(growth_epochs(model, batch, steps), epochs);
                CHECK_EQ_INT(growth_epochs(model, batch, steps + 1), epochs + 1);
            }
    }
}
