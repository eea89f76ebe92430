#include "analysis/calibrate/profile/profile_llm.h"

#include "sim/core/path.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { GPUS_PER_NODE = 8, MAX_TENSOR = 1024 };

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) != 0;
}

/* Whether `text` contains `word` in any case, with no letter or digit on either side. */
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

/* The longest name of the catalog that the file's name contains; NULL without one. */
static int llm_of_name(struct profile_reader *reader, const char **llm)
{
    struct catalog_names names;
    const int status = catalog_list_llms(reader->options->catalog, reader->sheet.arena, &names, reader->sheet.diag);
    *llm = NULL;
    for (size_t i = 0; status == 0 && i < names.n; i++) {
        const bool longer = *llm == NULL || strlen(names.names[i]) > strlen(*llm);
        if (longer && has_word(path_name(reader->profile->path), names.names[i])) *llm = names.names[i];
    }
    return status;
}

static int set_split(struct profile_reader *reader, struct profile_llm *llm, int64_t tensor)
{
    const char *problem = tensor < 1 || tensor > MAX_TENSOR ? "no such tensor-parallel degree"
                                                            : llm_parallel_problem(&llm->spec, tensor, 1);
    if (problem != NULL)
        return diag_error(reader->sheet.diag, SIM_E_CONFIG, reader->profile->path, NULL, "'%s' split %lld ways: %s",
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
        status = diag_error(reader->sheet.diag, SIM_E_CONFIG, path, "name it with --llm; `orrery list llms` shows all",
                            "the file's name contains no LLM of the catalog");
    if (status == 0)
        status = catalog_llm(options->catalog, name, path, reader->sheet.arena, &llm->spec, reader->sheet.diag);
    if (status < 0) return status;
    const int64_t tensor = options->tensor_parallel;
    reader->profile->uses_llm = reader->profile->uses_tensor_parallel = true;
    return set_split(reader, llm, tensor > 0 ? tensor : tensor_of_name(path_name(path)));
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

/* --- Attention --- */

const char profile_faster_than_memory[] = "faster than the memory";

static int find_group(struct profile_reader *reader, const struct profile_heads *heads, uint32_t *group)
{
    return profile_group(reader, group, "%g/%g heads", heads->query, heads->kv);
}

int profile_add_prefill(struct profile_reader *reader, const struct profile_heads *heads,
                        const struct profile_chunks *chunks, double seconds)
{
    const struct prefill_shape shape = {
        .sequences = chunks->n,
        .tokens = chunks->n * chunks->tokens,
        .past = chunks->n * chunks->past,
        .pairs = chunks->n * chunks->tokens * (chunks->tokens + 2.0 * chunks->past),
        .decodes = chunks->decodes.n,
        .decode_context = chunks->decodes.context,
        .decode_longest = chunks->decodes.longest,
        .q_heads = heads->query,
        .kv_heads = heads->kv,
        .key_dim = heads->dim,
        .value_dim = heads->dim,
        .kv = heads->kv_format,
        .compute = heads->compute,
        .full = chunks->full,
        .writes_kv = heads->writes_kv,
    };
    struct profile_row row = {.call = {.class = KERNEL_PREFILL_ATTENTION, .shape.prefill = shape},
                              .op = chunks->decodes.n > 0.0 ? OP_MIXED_ATTENTION : OP_PREFILL_ATTENTION,
                              .measured_s = seconds,
                              .tokens = shape.tokens};
    const int status = find_group(reader, heads, &row.group);
    return status == 0 ? profile_add(reader, &row) : status;
}

int profile_add_decode(struct profile_reader *reader, const struct profile_heads *heads,
                       const struct profile_decodes *decodes, double seconds)
{
    const struct decode_shape shape = {
        .sequences = decodes->n,
        .context = decodes->context,
        .longest = decodes->longest,
        .q_heads = heads->query,
        .kv_heads = heads->kv,
        .key_dim = heads->dim,
        .value_dim = heads->dim,
        .kv = heads->kv_format,
        .compute = heads->compute,
        .writes_kv = heads->writes_kv,
    };
    struct profile_row row = {.call = {.class = KERNEL_DECODE_ATTENTION, .shape.decode = shape},
                              .op = OP_DECODE_ATTENTION,
                              .measured_s = seconds,
                              .tokens = decodes->n};
    const double kv_bytes = 2.0 * decodes->n * decodes->context * heads->kv * heads->dim *
                            number_format_bytes(heads->kv_format);
    if (seconds > 0.0 && kv_bytes > seconds * reader->options->gpu->memory_bytes_per_s)
        return profile_drop(reader, profile_faster_than_memory);
    const int status = find_group(reader, heads, &row.group);
    return status == 0 ? profile_add(reader, &row) : status;
}
