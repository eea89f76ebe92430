/* Synthetic requests of one class: their lengths and shared prefixes. Without classes all requests are of one unnamed
 * kind. Prompts, outputs and sessions of a kind draw from three random streams. */
#ifndef ORRERY_TRACES_GENERATE_REQUEST_KIND_H
#define ORRERY_TRACES_GENERATE_REQUEST_KIND_H

#include "sim/core/config/config.h"
#include "traces/generate/length.h"
#include "traces/generate/request_mix.h"
#include "traces/generate/session.h"

/* A section of "classes". */
struct request_class_params {
    const char *name; /* its key */
    double share;     /* weight of the class among the common arrivals; NAN: it has arrivals of its own */
    int mix;          /* in request_class_mix_names */
    struct config_variant arrival, prompt, output; /* no entry: the common ones, or those of the mix */
};

extern const struct config_field request_class_fields[];

struct length_source {
    const struct length_distribution *distribution;
    const void *params;
    struct rng rng;
};

struct request_kind {
    const char *name; /* of its class; NULL: there are no classes */
    struct length_source prompt, output;
    struct sessions sessions;
};

/* Takes lengths from `prompt` and `output`, or from the mix where they have no entry. `options->stream` names the
 * random streams of the kind, `index` keeps its block ids apart from those of other kinds. Returns 0, SIM_E_CONFIG or
 * SIM_E_NOMEM. Call request_kind_fini also after failure. */
int request_kind_init(struct request_kind *kind, const struct config_variant *prompt,
                      const struct config_variant *output, const struct request_mix *mix,
                      const struct session_params *sessions, size_t index, const struct source_options *options,
                      struct diag *diag);
void request_kind_fini(struct request_kind *kind);

/* Fills all of a record except id and time. Returns 0 or SIM_E_NOMEM. */
int request_kind_draw(struct request_kind *kind, struct request_record *request, struct diag *diag);

#endif
