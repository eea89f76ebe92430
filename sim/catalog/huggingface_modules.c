#include "sim/catalog/huggingface_modules.h"

#include "sim/core/err.h"
#include "sim/core/vec.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Patterns --- */

static const char no_bracket[] = "a backslash or '[:' in brackets, where \\d alone is read";
static const char no_escape[] = "a backslash before what it is not read of (read are \\b, \\d, \\s, \\w, \\B, \\S, \\W "
                                "and characters that stand for themselves)";

/* What of Python's syntax at `c` POSIX reads otherwise; NULL: nothing. `first`: the first character of the open
 * bracket; NULL: none is open. */
static const char *unread(const char *c, const char *first, bool follows_count)
{
    if (first != NULL) {
        const bool is_class = c[0] == '[' && c[1] != 0 && strchr(":.=", c[1]) != NULL;
        return is_class || (c[0] == '\\' && c[1] != 'd') ? no_bracket : NULL;
    }
    if (c[0] == '\\' && (isalnum((unsigned char)c[1]) ? strchr("bdswBSW", c[1]) == NULL : strchr("<>`'", c[1]) != NULL))
        return no_escape;
    if (c[0] == '{') return "a count of repetitions";
    if (c[0] == '+' && follows_count) return "a possessive repetition";
    return c[0] == '(' && c[1] == '?' && c[2] != ':' ? "a group other than (...) and (?:...)" : NULL;
}

/* The expression with what Python writes otherwise than POSIX: \d, (?:...). Returns NULL, or what cannot be read. */
static const char *translate(const char *python, char *posix, size_t size)
{
    size_t used = 0;
    bool follows_count = false;
    const char *first = NULL; /* character of the open bracket, where "]" does not close it */
    for (const char *c = python; *c != 0; c++) {
        const char *why = unread(c, first, follows_count), *put = NULL;
        const bool escapes = c[0] == '\\' && c[1] != 0;
        if (why != NULL) return why;
        follows_count = first == NULL && strchr("*+?", *c) != NULL;
        if (escapes && c[1] == 'd') {
            put = first != NULL ? "0-9" : "[0-9]";
        } else if (first != NULL) {
            if (c[0] == ']' && c != first) first = NULL;
        } else if (c[0] == '[') {
            first = c + (c[1] == '^' ? 2 : 1);
        } else if (c[0] == '(' && c[1] == '?') {
            put = "(";
            c++;
        }
        const size_t n = put != NULL ? strlen(put) : escapes ? 2 : 1;
        if (used + n >= size) return "more characters than are read here";
        memcpy(posix + used, put != NULL ? put : c, n);
        used += n;
        if (put != NULL || escapes) c++;
    }
    posix[used] = 0;
    return NULL;
}

bool module_names_expert(const char *text, long *number)
{
    const char *experts = strstr(text, "experts.");
    const bool is_pattern = strpbrk(text, "*?[") != NULL || strncmp(text, "re:", 3) == 0;
    char *end;
    if (is_pattern || experts == NULL || !isdigit((unsigned char)experts[8])) return false;
    *number = strtol(experts + 8, &end, 10);
    return *end == '.' || *end == 0;
}

/* Whether a pattern may mean a module with one number and not that with another one. Text between `*` or `.*` does
 * not, if it has neither a digit nor what stands for some characters. */
static bool reads_numbers(const char *text, bool is_regex)
{
    if (!is_regex) return strpbrk(text, "*?[") != NULL && strpbrk(text, "?[0123456789") != NULL;
    for (const char *c = text; *c != 0; c++) {
        if (isdigit((unsigned char)*c) || strchr("[?+|", *c) != NULL || (c[0] == '.' && c[1] != '*')) return true;
        if (c[0] == '\\' && isalnum((unsigned char)*++c)) return true;
        if (*c == 0) break;
    }
    return false;
}

int module_patterns_add(struct module_patterns *patterns, const char *text, const char **why)
{
    char posix[512], anchored[520];
    long number;
    struct module_pattern pattern = {
        .text = text, .is_regex = strncmp(text, "re:", 3) == 0, .is_of_expert = module_names_expert(text, &number)};
    if (pattern.is_regex) {
        pattern.text = text + 3;
        *why = translate(pattern.text, posix, sizeof posix);
        if (*why != NULL) return SIM_E_CONFIG;
        snprintf(anchored, sizeof anchored, "^(%s)", posix);
        const int problem = regcomp(&pattern.regex, anchored, REG_EXTENDED | REG_NOSUB);
        *why = "brackets or parentheses that do not match, or what else is no expression";
        if (problem != 0) return problem == REG_ESPACE ? SIM_E_NOMEM : SIM_E_CONFIG;
    }
    pattern.reads_numbers = reads_numbers(pattern.text, pattern.is_regex);
    pattern.has_wildcards = !pattern.is_regex && strpbrk(pattern.text, "*?[") != NULL;
    pattern.head = pattern.is_regex ? 0 : strcspn(pattern.text, "*?[\\");
    if (vec_push(&patterns->at, &patterns->n, &patterns->capacity, pattern) == 0) return 0;
    if (pattern.is_regex) regfree(&pattern.regex);
    return SIM_E_NOMEM;
}

void module_patterns_fini(struct module_patterns *patterns)
{
    for (size_t i = 0; i < patterns->n; i++)
        if (patterns->at[i].is_regex) regfree(&patterns->at[i].regex);
    mem_free(patterns->at);
    *patterns = (struct module_patterns){.n = 0};
}

/* Whether the text stands in the name between dots. */
static bool stands_between_dots(const char *text, const char *name)
{
    const size_t n = strlen(text);
    for (const char *at = strstr(name, text); at != NULL && n > 0; at = strstr(at + 1, text))
        if ((at == name || at[-1] == '.') && (at[n] == 0 || at[n] == '.')) return true;
    return false;
}

/* Whether the wildcards fit the name, or a module that holds it. */
static bool fits_wildcards(const char *text, const char *name)
{
    char holder[160];
    snprintf(holder, sizeof holder, "%s", name);
    for (;;) {
        if (fnmatch(text, holder, 0) == 0) return true;
        char *dot = strrchr(holder, '.');
        if (dot == NULL) return false;
        *dot = 0;
    }
}

static bool means(const struct module_pattern *pattern, const char *name)
{
    if (pattern->is_regex) return regexec(&pattern->regex, name, 0, NULL, 0) == 0;
    if (pattern->has_wildcards)
        return strncmp(pattern->text, name, pattern->head) == 0 && fits_wildcards(pattern->text, name);
    return stands_between_dots(pattern->text, name);
}

/* A module's names with any prefix of multimodal checkpoints. */
struct whole_names {
    char text[9][160];
    size_t n;
};

static void put_whole_names(const struct module_name *name, struct whole_names *whole)
{
    static const char *const prefixes[] = {"model.", "language_model.model.", "model.language_model."};
    static const char *const outer[] = {"", "language_model."};
    whole->n = 0;
    for (size_t k = 0; k < sizeof name->text / sizeof *name->text && *name->text[k] != 0; k++) {
        const bool is_outer = strncmp(name->text[k], "layers.", 7) != 0;
        const size_t n = is_outer ? sizeof outer / sizeof *outer : sizeof prefixes / sizeof *prefixes;
        for (size_t p = 0; p < n; p++)
            snprintf(whole->text[whole->n++], sizeof whole->text[0], "%s%s", (is_outer ? outer : prefixes)[p],
                     name->text[k]);
    }
}

static bool means_any(const struct module_pattern *pattern, const struct whole_names *whole)
{
    for (size_t i = 0; i < whole->n; i++)
        if (means(pattern, whole->text[i])) return true;
    return false;
}

bool module_patterns_mean(const struct module_patterns *patterns, const struct module_name *name, bool by_number)
{
    struct whole_names whole;
    if (patterns->n == 0) return false;
    put_whole_names(name, &whole);
    for (size_t i = 0; i < patterns->n; i++)
        if ((by_number || !patterns->at[i].is_of_expert) && means_any(&patterns->at[i], &whole)) return true;
    return false;
}

/* Whether the pattern may mean one module alone of those that begin as `name` up to the number of its expert. */
static bool may_tell_apart(const struct module_pattern *pattern, const struct whole_names *whole)
{
    if (!pattern->reads_numbers) return false;
    for (size_t i = 0; i < whole->n; i++) {
        const char *experts = strstr(whole->text[i], "experts.");
        const size_t common = experts != NULL ? (size_t)(experts - whole->text[i]) + 8 : 0;
        if (strncmp(pattern->text, whole->text[i], pattern->head < common ? pattern->head : common) == 0) return true;
    }
    return false;
}

bool module_patterns_tell_experts_apart(const struct module_patterns *patterns, const struct module_name *name)
{
    struct whole_names whole;
    put_whole_names(name, &whole);
    for (size_t i = 0; i < patterns->n; i++)
        if (may_tell_apart(&patterns->at[i], &whole)) return true;
    return false;
}

/* --- Modules --- */

/* Matrices of a layer: the usual name, then others; "%e" stands for the number of an expert. */
struct matrix {
    const char *names[3];
};

static const struct matrix head_inputs[] = {{{"self_attn.q_proj", "self_attn.qkv_proj"}},
                                            {{"self_attn.k_proj", "self_attn.qkv_proj"}},
                                            {{"self_attn.v_proj", "self_attn.qkv_proj"}}};
static const struct matrix latent_inputs[] = {
    {{"self_attn.kv_a_proj_with_mqa"}}, {{"self_attn.kv_b_proj"}}, {{"self_attn.q_a_proj"}}, {{"self_attn.q_b_proj"}}};
static const struct matrix whole_query_inputs[] = {
    {{"self_attn.kv_a_proj_with_mqa"}}, {{"self_attn.kv_b_proj"}}, {{"self_attn.q_proj"}}};
static const struct matrix outputs[] = {{{"self_attn.o_proj"}}};
/* What makes decay and strength of linear attention's heads is left out: few numbers, which checkpoints keep wide. */
static const struct matrix linear_inputs[] = {{{"linear_attn.in_proj_qkv", "linear_attn.in_proj_qkvz"}},
                                              {{"linear_attn.in_proj_z", "linear_attn.in_proj_qkvz"}},
                                              {{"linear_attn.in_proj_qkv", "linear_attn.in_proj_qkvz"}}};
static const struct matrix linear_outputs[] = {{{"linear_attn.out_proj"}}};
static const struct matrix dense[] = {
    {{"mlp.up_proj", "mlp.gate_up_proj"}}, {{"mlp.down_proj"}}, {{"mlp.gate_proj", "mlp.gate_up_proj"}}};
static const struct matrix shared[] = {{{"mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj"}},
                                       {{"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj"}},
                                       {{"mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj"}}};
static const struct matrix experts[] = {{{"mlp.experts.%e.up_proj", "block_sparse_moe.experts.%e.w3"}},
                                        {{"mlp.experts.%e.down_proj", "block_sparse_moe.experts.%e.w2"}},
                                        {{"mlp.experts.%e.gate_proj", "block_sparse_moe.experts.%e.w1"}}};
static const struct matrix head[] = {{{"lm_head"}}};

/* The matrices of a part in each of its layers. */
struct part_matrices {
    const struct matrix *matrices;
    int64_t n;             /* in a layer, of each expert */
    int64_t layers, first; /* how many layers, and the first one */
    int64_t experts;       /* that stand for all of a layer; 1 without */
};

static struct part_matrices matrices_of(const struct llm_spec *llm, enum llm_part part)
{
    const int64_t ffn = llm->gated_ffn ? 3 : 2, after = llm->layers - llm->dense_layers;
    const bool is_latent = llm->kv_latent > 0, has_experts = llm->experts > 0;
    switch (part) {
    case LLM_PART_ATTENTION:
        if (!is_latent) return (struct part_matrices){head_inputs, 3, llm->layers, 0, 1};
        return llm->query_latent > 0 ? (struct part_matrices){latent_inputs, 4, llm->layers, 0, 1}
                                     : (struct part_matrices){whole_query_inputs, 3, llm->layers, 0, 1};
    case LLM_PART_OUT: return (struct part_matrices){outputs, 1, llm->layers, 0, 1};
    case LLM_PART_DENSE: return (struct part_matrices){dense, ffn, has_experts ? llm->dense_layers : llm->layers, 0, 1};
    case LLM_PART_SHARED:
        return (struct part_matrices){shared, ffn, has_experts && llm->ffn > 0 ? after : 0, llm->dense_layers, 1};
    case LLM_PART_EXPERTS:
        return (struct part_matrices){experts, ffn, has_experts ? after : 0, llm->dense_layers,
                                      llm->experts > 1 ? 2 : 1};
    case LLM_PART_HEAD:
    case LLM_PART_COUNT: break;
    }
    return (struct part_matrices){head, 1, 1, 0, 1};
}

int64_t module_count(const struct llm_spec *llm, enum llm_part part)
{
    const struct part_matrices of = matrices_of(llm, part);
    return of.layers * of.experts * of.n;
}

/* The pattern with the number of the expert. */
static void put_expert(char *text, size_t size, int64_t layer, const char *pattern, int64_t expert)
{
    const char *mark = strstr(pattern, "%e");
    const int before = mark != NULL ? (int)(mark - pattern) : (int)strlen(pattern);
    int used = snprintf(text, size, "layers.%lld.%.*s", (long long)layer, before, pattern);
    if (mark != NULL) snprintf(text + used, size - (size_t)used, "%lld%s", (long long)expert, mark + 2);
}

static void put_name(const struct matrix *matrix, int64_t layer, int64_t expert, struct module_name *name)
{
    *name = (struct module_name){{{0}}};
    for (size_t k = 0; k < sizeof matrix->names / sizeof *matrix->names && matrix->names[k] != NULL; k++)
        put_expert(name->text[k], sizeof name->text[k], layer, matrix->names[k], expert);
}

bool module_layer_is_linear(const struct llm_spec *llm, int64_t layer)
{
    const int64_t attending = llm->layers - llm->linear_layers;
    return llm->linear_layers > 0 && (layer + 1) * attending / llm->layers == layer * attending / llm->layers;
}

void module_name_of(const struct llm_spec *llm, enum llm_part part, int64_t number, struct module_name *name)
{
    const struct part_matrices of = matrices_of(llm, part);
    const int64_t expert = number / of.n % of.experts > 0 ? llm->experts - 1 : 0;
    const int64_t layer = of.first + number / (of.n * of.experts);
    const struct matrix *matrices = of.matrices;
    if (part == LLM_PART_ATTENTION && module_layer_is_linear(llm, layer)) matrices = linear_inputs;
    if (part == LLM_PART_OUT && module_layer_is_linear(llm, layer)) matrices = linear_outputs;
    put_name(&matrices[number % of.n], layer, expert, name);
    if (part == LLM_PART_HEAD) snprintf(name->text[0], sizeof name->text[0], "%s", head[0].names[0]);
}

void module_name_of_expert(const struct llm_spec *llm, int64_t layer, int64_t number, int64_t expert,
                           struct module_name *name)
{
    put_name(&matrices_of(llm, LLM_PART_EXPERTS).matrices[number], layer, expert, name);
}
