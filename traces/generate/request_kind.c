#include "traces/generate/request_kind.h"

#include "traces/stream.h"

#include <float.h>
#include <stdio.h>

enum { SESSION_ID_BITS = 32 }; /* of the block ids that a kind has for itself */

static int init_length(const struct config_variant *given, const struct empirical_params *of_mix, const char *what,
                       const struct source_options *options, struct length_source *length, struct diag *diag)
{
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.%s", options->stream, what);
    *length = (struct length_source){.distribution = given->entry, .params = given->params};
    if (given->entry == NULL) *length = (struct length_source){.distribution = &length_empirical, .params = of_mix};
    rng_init(&length->rng, options->seed, options->run, name, 0);
    int (*check)(const void *, const char *, struct diag *) = length->distribution->check;
    return check != NULL ? check(length->params, options->where, diag) : 0;
}

int request_kind_init(struct request_kind *kind, const struct config_variant *prompt,
                      const struct config_variant *output, const struct request_mix *mix,
                      const struct session_params *sessions, size_t index, const struct source_options *options,
                      struct diag *diag)
{
    int code = init_length(prompt, &mix->prompt, "prompt", options, &kind->prompt, diag);
    if (code == 0) code = init_length(output, &mix->output, "output", options, &kind->output, diag);
    if (code == 0) code = sessions_init(&kind->sessions, sessions, options, diag);
    kind->sessions.next_id += (uint64_t)index << SESSION_ID_BITS;
    return code;
}

void request_kind_fini(struct request_kind *kind)
{
    sessions_fini(&kind->sessions);
}

int request_kind_draw(struct request_kind *kind, struct request_record *request, struct diag *diag)
{
    struct length_source *prompt = &kind->prompt, *output = &kind->output;
    request->prompt_tokens = length_draw(prompt->distribution, prompt->params, &prompt->rng);
    request->output_tokens = length_draw(output->distribution, output->params, &output->rng);
    request->class_name = kind->name;
    return sessions_next(&kind->sessions, request, diag);
}

#define ROW_OF struct request_class_params
const struct config_field request_class_fields[] = {
    ROW_REAL("share", share, OPTIONAL, WITHIN(DBL_MIN, 1e9),
             "weight of this class among the common arrivals"),
    ROW_VARIANT("arrival", arrival, OPTIONAL, "arrival", "process", "separate arrivals instead of a share"),
    ROW_CHOICE("mix", mix, OPTIONAL, request_class_mix_names,
               "public trace whose lengths are the defaults of this class; common: those of all classes"),
    ROW_VARIANT("prompt", prompt, OPTIONAL, "length", "distribution", "prompt lengths"),
    ROW_VARIANT("output", output, OPTIONAL, "length", "distribution", "output lengths"),
    {0}};
#undef ROW_OF
