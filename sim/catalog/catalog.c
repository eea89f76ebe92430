#include "sim/catalog/catalog.h"

#include "sim/catalog/huggingface.h"
#include "sim/catalog/shelf.h"
#include "sim/core/json_doc.h"

static const struct shelf gpus = {"hardware", "GPU", "orrery list gpus"};
static const struct shelf llms = {"llms", "LLM", "orrery list llms"};

int catalog_list_gpus(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag)
{
    return shelf_list(catalog, &gpus, arena, names, diag);
}

int catalog_list_llms(const struct catalog *catalog, struct arena *arena, struct catalog_names *names,
                      struct diag *diag)
{
    return shelf_list(catalog, &llms, arena, names, diag);
}

int catalog_gpu(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct gpu_spec *gpu, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &gpus, name, where, arena, &path, diag);
    if (code == 0) code = shelf_bind(catalog, path, catalog_gpu_fields, arena, gpu, sizeof *gpu, diag);
    if (code != 0) return code;
    gpu->name = shelf_entry_name(arena, path);
    return gpu->name ? 0 : diag_nomem(diag);
}

static int check_shape(const struct json_node *root, const struct llm_spec *llm, struct diag *diag)
{
    char where[DIAG_WHERE_CHARS];
    const char *problem = llm_problem(llm);
    if (!problem) return 0;
    return diag_error(diag, SIM_E_CONFIG, json_where(root, where, sizeof where), NULL, "no LLM has this shape: %s",
                      problem);
}

int catalog_llm(const struct catalog *catalog, const char *name, const char *where, struct arena *arena,
                struct llm_spec *llm, struct diag *diag)
{
    const char *path;
    int code = shelf_find(catalog, &llms, name, where, arena, &path, diag);
    if (code != 0) return code;
    struct json_node *root;
    code = json_load(arena, path, &root, diag);
    if (code != 0) return code;
    shelf_note(catalog, &root->source->bytes);
    if (huggingface_recognises(root))
        code = huggingface_read(root, llm, diag);
    else
        code = shelf_bind(catalog, path, catalog_llm_fields, arena, llm, sizeof *llm, diag);
    if (code == 0) code = check_shape(root, llm, diag);
    if (code != 0) return code;
    llm->name = shelf_entry_name(arena, path);
    return llm->name ? 0 : diag_nomem(diag);
}
