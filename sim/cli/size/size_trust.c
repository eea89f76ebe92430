/* The errors that the calibration file of a GPU states, of kernels that were held out of the fit. */
#include "sim/cli/size/size.h"
#include "sim/core/json_doc.h"
#include "sim/core/path.h"

/* The median error of held-out rows of this class of kernels, in the first set that has it; -1: none has. */
static double find_error(const struct json_node *root, const char *kernel)
{
    const struct json_node *sets = json_member(root, "sets");
    for (const struct json_node *set = sets != NULL ? sets->first : NULL; set != NULL; set = set->next) {
        const struct json_node *node = json_member(set, kernel);
        static const char *const steps[] = {"held_out", "error", "all", "median"};
        for (size_t i = 0; node != NULL && i < sizeof steps / sizeof *steps; i++) node = json_member(node, steps[i]);
        if (node != NULL && node->kind == JSON_NUMBER) return node->number;
    }
    return -1;
}

/* Experts are kernels of their own. No whole run with experts is in a fit of an engine. */
static void add_experts(double experts, struct text *text)
{
    if (experts >= 0)
        text_printf(text, ", %.0f %% (experts)", 100 * experts);
    else
        text_add(text, ", experts not measured");
    text_add(text, "; no whole run with experts is in the fits: README.md has the error of the one measured");
}

static int add_kernels(const struct catalog *catalog, const char *gpu, bool has_experts, struct arena *arena,
                       struct text *text)
{
    const char *folder = path_join(arena, catalog->root, "calibration");
    const char *file = arena_printf(arena, "%s/%s.json", folder != NULL ? folder : "", gpu);
    struct json_node *root;
    struct diag diag;
    if (folder == NULL || file == NULL) return SIM_E_NOMEM;
    diag_init(&diag);
    int code = json_load(arena, file, &root, &diag);
    if (code == SIM_E_NOMEM) return code;
    const double products = code == 0 ? find_error(root, "gemm") : -1;
    const double attention = code == 0 ? find_error(root, "decode_attention") : -1;
    const double experts = code == 0 ? find_error(root, "moe") : -1;
    const struct json_node *like = code == 0 ? json_member(root, "like") : NULL;
    if (products >= 0 && attention >= 0)
        text_printf(text, "median error of held-out kernels %.0f %% (products), %.0f %% (attention)", 100 * products,
                    100 * attention);
    else if (products >= 0)
        text_printf(text, "median error of held-out products %.0f %%, attention not measured", 100 * products);
    else if (like != NULL && like->kind == JSON_STRING)
        text_printf(text, "kernels not measured: those of %s, scaled", like->text);
    else
        text_printf(text, "kernels not measured: a fit to all measured GPUs, which are NVIDIA's");
    if (has_experts) add_experts(experts, text);
    return text->failed ? SIM_E_NOMEM : 0;
}

static int add_trust(const struct size_question *question, const struct size_result *result,
                     const struct catalog *catalog, struct arena *arena, struct text *text)
{
    const struct size_gpu *of = result->states[result->best[0]].option.gpu;
    const char *gpu = of->name;
    if (of->slices > 0 && result->engine != NULL)
        text_printf(text, "kernels of slices not measured: those of %.*s", (int)(strrchr(gpu, ':') - gpu), gpu);
    else if (result->engine != NULL && !result->names_kernels)
        return add_kernels(catalog, gpu, question->has_experts, arena, text);
    else if (result->engine == NULL)
        text_printf(text, "no error of held-out kernels is known of the cost model %s", result->cost_model);
    else
        text_add(text, "no error of held-out kernels is known, as the settings name a calibration");
    return text->failed ? SIM_E_NOMEM : 0;
}

int size_find_trust(const struct size_question *question, const struct catalog *catalog, struct arena *arena,
                    struct size_result *result)
{
    struct text text;
    if (result->n_best == 0) return 0;
    text_init(&text);
    int code = add_trust(question, result, catalog, arena, &text);
    if (code == 0 && (result->trust = arena_strdup(arena, text.chars)) == NULL) code = SIM_E_NOMEM;
    text_fini(&text);
    return code;
}
