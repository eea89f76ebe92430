/* Requests of one class, made up: their lengths and the prefixes that they share. Without classes all requests are of one kind
 * that has no name. Prompts, outputs and sessions draw from three random streams of its own. */
#ifndef ORRERY_TRACES_GENERATE_REQUEST_KIND_H
#define ORRERY_TRACES_GENERATE_REQUEST_KIND_H

#include "sim/core/config/config.h"
#include "traces/generate/length.h"
#include "traces/generate/request_mix.h"
#include "traces/generate/session.h"

/* A section of "classes". */
struct request_class_params {
    const char *name; /* its key */
    double share;     /* of the common arrivals, in proportion to those of the other classes; NAN: it has arrivals of its own */
    int mix;          /* in request_class_mix_names */
    struct config_variant arrival, prompt, output; /* no entry: as all requests, or of the class's mix */
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

/* What the user gave for lengths, else what the mix has. `options->stream` names the kind's random streams: of kinds that share a
 * generator each has its own, and block ids of its own by its `index`. Returns 0, SIM_E_CONFIG or SIM_E_NOMEM; request_kind_fini
 * also after failure. */
int request_kind_init(struct request_kind *kind, const struct config_variant *prompt,
                      const struct config_variant *output, const struct request_mix *mix,
                      const struct session_params *sessions, size_t index, const struct source_options *options,
                      struct diag *diag);
void request_kind_fini(struct request_kind *kind);

/* Fills a record in but for its id and time. Returns 0 or SIM_E_NOMEM. */
int request_kind_draw(struct request_kind *kind, struct request_record *request, struct diag *diag);

#endif
