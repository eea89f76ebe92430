#include "analysis/calibrate/profile/profile_llm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { GPUS_PER_NODE = 8, MAX_TENSOR = 1024 };

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Whether `word` stands in `text` with no letter or digit on either side, whatever its case. */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = text; *at != '\0'; at++) {
        if (strncasecmp(at, word, n) != 0 || is_word_char(at[n])) continue;
        if (at == text || !is_word_char(at[-1])) return true;
    }
    return false;
}

/* The N of a word "tpN" in the file's name, else 1. */
static int64_t tensor_of_name(const char *name)
{
    for (const char *at = strstr(name, "tp"); at != NULL; at = strstr(at + 2, "tp")) {
        const bool starts_word = at == name || !is_word_char(at[-1]);
        if (starts_word && isdigit((unsigned char)at[2])) return strtol(at + 2, NULL, 10);
    }
    return 1;
}

/* The longest name in the catalog that stands in the file's name; NULL without one. */
static int llm_of_name(struct profile_reader *reader, const char **llm)
{
    struct catalog_names names;
    const int status = catalog_list_llms(reader->options->catalog, reader->arena, &names, reader->diag);
    *llm = NULL;
    for (size_t i = 0; status == 0 && i < names.n; i++) {
        const bool longer = *llm == NULL || strlen(names.names[i]) > strlen(*llm);
        if (longer && has_word(file_name(reader->profile->path), names.names[i])) *llm = names.names[i];
    }
    return status;
}

static int set_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor)
{
    const char *problem = tensor < 1 || tensor > MAX_TENSOR ? "no such tensor-parallel degree"
                                                            : llm_parallel_problem(&llm->spec, tensor, 1);
    if (problem != NULL)
        return diag_error(reader->diag, SIM_E_CONFIG, reader->profile->path, NULL, "'%s' split %lld ways: %s",
                          llm->spec.name, (long long)tensor, problem);
    llm->split = (struct llm_split){.tensor = tensor, .pipeline = 1, .expert = 1, .samples = true,
                                    .gpus_per_node = GPUS_PER_NODE};
    llm->shard = llm_shard(&llm->spec, tensor, 1);
    return 0;
}

int profile_llm_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor)
{
    reader->profile->uses_tensor_parallel = false;
    return set_split(reader, llm, tensor);
}

int profile_llm_find(struct profile_reader *reader, struct profile_llm *llm)
{
    const struct profile_options *options = reader->options;
    const char *path = reader->profile->path, *name = options->llm;
    *llm = (struct profile_llm){.gpu = options->gpu};
    int status = name != NULL ? 0 : llm_of_name(reader, &name);
    if (status == 0 && name == NULL)
        status = diag_error(reader->diag, SIM_E_CONFIG, path, "name it with --llm; `orrery list llms` shows all",
                            "the file's name says no LLM of the catalog");
    if (status == 0) status = catalog_llm(options->catalog, name, path, reader->arena, &llm->spec, reader->diag);
    if (status < 0) return status;
    const int64_t tensor = options->tensor_parallel;
    reader->profile->uses_llm = reader->profile->uses_tensor_parallel = true;
    return set_split(reader, llm, tensor > 0 ? tensor : tensor_of_name(file_name(path)));
}

bool profile_llm_call(const struct profile_llm *llm, enum llm_operator op, int64_t tokens, struct kernel_call *call)
{
    const struct iteration_work prompt = {.prefill_sequences = 1,
                                          .prefill_tokens = tokens,
                                          .prefill_pairs = (double)tokens * (double)tokens};
    const struct iteration_work decodes = {.decode_sequences = tokens, .decode_context_tokens = tokens};
    const bool by_sequence = op == OP_HEAD || op == OP_SAMPLING || op == OP_DECODE_ATTENTION;
    struct kernel_use uses[LLM_MAX_USES];
    const size_t n = llm_iteration_kernels(&llm->spec, &llm->split, llm->gpu, by_sequence ? &decodes : &prompt, uses);
    for (size_t i = 0; i < n; i++) {
        if (uses[i].op != op) continue;
        *call = uses[i].call;
        return true;
    }
    return false;
}
