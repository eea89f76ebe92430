/* What the host time of an engine rests on: the GPUs and degrees of tensor parallelism that it was measured with. */
#include "sim/catalog/engine.h"
#include "sim/core/text.h"

#include <string.h>

bool engine_preset_lists(const struct engine_preset *preset, int64_t tensor_parallel)
{
    const struct engine_overhead *list = preset->overheads.items;
    for (size_t i = 0; i < preset->overheads.n; i++)
        if (list[i].tensor_parallel == tensor_parallel) return true;
    return false;
}

static bool was_measured_on(const struct engine_preset *preset, const char *gpu)
{
    const char *const *gpus = preset->measured_on.items;
    for (size_t i = 0; i < preset->measured_on.n; i++)
        if (strcmp(gpus[i], gpu) == 0) return true;
    return preset->measured_on.n == 0;
}

/* What stands before the i-th of n things in a sentence. */
static const char *joint(size_t i, size_t n)
{
    if (i == 0) return "";
    return i + 1 < n ? ", " : " and ";
}

static void say_gpus(const struct engine_preset *preset, struct text *text)
{
    const char *const *gpus = preset->measured_on.items;
    const size_t n = preset->measured_on.n;
    for (size_t i = 0; i < n; i++) text_printf(text, "%s%s", i == 0 ? " on " : joint(i, n), gpus[i]);
}

static void say_degrees(const struct engine_preset *preset, struct text *text)
{
    const struct engine_overhead *list = preset->overheads.items;
    const size_t n = preset->overheads.n;
    for (size_t i = 0; i < n; i++)
        text_printf(text, "%s%lld", i == 0 ? " with " : joint(i, n), (long long)list[i].tensor_parallel);
    if (n > 0) text_add(text, list[n - 1].tensor_parallel == 1 ? " GPU" : " GPUs");
}

/* Which of the listed overheads stand in for a degree. */
static void say_source(const struct engine_preset *preset, int64_t tensor_parallel, struct text *text)
{
    const struct engine_overhead *list = preset->overheads.items;
    const size_t n = preset->overheads.n;
    size_t at = 0;
    while (at + 1 < n && list[at].tensor_parallel < tensor_parallel) at++;
    const long long nearest = list[at].tensor_parallel;
    if (at > 0 && nearest > tensor_parallel)
        text_printf(text, "lies between those of %lld and %lld GPUs", (long long)list[at - 1].tensor_parallel, nearest);
    else
        text_printf(text, "is that of %lld %s", nearest, nearest == 1 ? "GPU" : "GPUs");
    if (preset->measured_on.n > 0) text_add(text, " there");
}

/* Whether only the kernels were measured. */
static bool has_no_host(const struct engine_preset *preset)
{
    return preset->overheads.n == 0 && preset->measured_on.n > 0;
}

static void say_caveat(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel, struct text *text)
{
    if (has_no_host(preset)) {
        text_printf(text, "the host time of engine %s was not measured: none is added", preset->name);
        return;
    }
    text_printf(text, "engine %s was measured", preset->name);
    say_gpus(preset, text);
    say_degrees(preset, text);
    text_printf(text, "; its host time for %lld x %s ", (long long)tensor_parallel, gpu);
    say_source(preset, tensor_parallel, text);
}

int engine_preset_caveat(const struct engine_preset *preset, const char *gpu, int64_t tensor_parallel,
                         struct arena *arena, const char **caveat)
{
    const bool degree_known = preset->overheads.n == 0 || engine_preset_lists(preset, tensor_parallel);
    *caveat = NULL;
    if (was_measured_on(preset, gpu) && degree_known && !has_no_host(preset)) return 0;
    struct text text;
    text_init(&text);
    say_caveat(preset, gpu, tensor_parallel, &text);
    if (!text.failed) *caveat = arena_strdup(arena, text.chars);
    text_fini(&text);
    return *caveat ? 0 : SIM_E_NOMEM;
}
