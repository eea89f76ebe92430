/* The classes of a service's requests: names from the trace and from slo.classes in one table, and what is counted of each.
 *
 * A service whose trace names no classes, and whose SLO names none, has one class without a name, of which nothing is counted
 * beside the service's own counts. In one that has classes, requests without one are of the class "default". */
#ifndef ORRERY_WORLD_SERVICE_SERVICE_CLASSES_H
#define ORRERY_WORLD_SERVICE_SERVICE_CLASSES_H

#include "sim/core/err.h"
#include "sim/core/mem.h"
#include "sim/world/service/request_stats.h"

#include <stdbool.h>

struct service_class {
    struct request_class view; /* first: a view is the class it belongs to */
    const char *source_name;   /* as the trace has interned it; NULL: not yet seen there */
    const char *entity;        /* of its metrics: "chat/interactive" */
    bool occurs;               /* a request of it has arrived */
    double limits_s[SLO_LIMITS];
    struct request_stats stats;
};

struct service_classes {
    const char *service; /* its name */
    const char *where;   /* config path of its trace, for findings */
    const struct slo_config *slo;
    struct arena *arena;
    struct diag *diag;
    struct service_class unnamed; /* of a service without classes; nothing is counted in its stats */
    struct service_class *items[SLO_MAX_CLASSES];
    uint16_t n;
    const char *latest_name; /* of the class of the latest request */
    struct service_class *latest;
};

/* The classes of `slo`. The texts and pointers outlive the table. Returns 0 or SIM_E_NOMEM; service_classes_fini also after
 * failure. */
int service_classes_init(struct service_classes *classes, const struct slo_config *slo, const char *service,
                         const char *where, struct arena *arena, struct diag *diag);
void service_classes_fini(struct service_classes *classes);

/* The class of a request that arrives, by its name in the trace, which is interned (struct request_record); NULL: it names none.
 * A new one is added. Returns 0, SIM_E_NOMEM, or SIM_E_DATA with a finding when there are too many. */
int service_classes_find(struct service_classes *classes, const char *name, struct service_class **found);

static inline int service_classes_get(struct service_classes *classes, const char *name, struct service_class **found)
{
    *found = classes->latest;
    return *found != NULL && name == classes->latest_name ? 0 : service_classes_find(classes, name, found);
}

static inline struct service_class *service_class_of(const struct request *request)
{
    return (struct service_class *)(uintptr_t)request->view.request_class;
}

/* The counts of the request's class; NULL in a service without classes. */
static inline struct request_stats *service_class_stats(const struct service_classes *classes,
                                                        const struct request *request)
{
    return classes->n > 0 ? &service_class_of(request)->stats : NULL;
}

/* Emits request.*, slo.* and service.* metrics of each class. `span_s`: the time that rates are over, the service's, so that
 * those of all classes add up to its own. */
int service_classes_emit(const struct service_classes *classes, double span_s, const struct sink *sink);

/* Warns of each class of slo.classes that no request was of. */
int service_classes_warn(const struct service_classes *classes, const struct sink *sink);

#endif
