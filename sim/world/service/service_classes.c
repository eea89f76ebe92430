#include "sim/world/service/service_classes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char default_name[] = "default";

/* Adds a class; its name is copied. */
static int add_class(struct service_classes *classes, const char *name, struct service_class **out)
{
    struct service_class *added = arena_alloc(classes->arena, sizeof *added);
    if (added == NULL) return SIM_E_NOMEM;
    int code = request_stats_init(&added->stats);
    classes->items[classes->n] = *out = added;
    added->view = (struct request_class){.name = arena_strdup(classes->arena, name), .index = classes->n++};
    added->entity = arena_printf(classes->arena, "%s/%s", classes->service, name);
    slo_limits_of(classes->slo, name, added->limits_s);
    return added->view.name != NULL && added->entity != NULL ? code : SIM_E_NOMEM;
}

static int too_many(const struct service_classes *classes, const char *next)
{
    return diag_error(classes->diag, SIM_E_DATA, classes->where, "do they come from the right column?",
                      "service '%s' has more than %d classes of requests; the next one is '%s'", classes->service,
                      SLO_MAX_CLASSES, next);
}

int service_classes_init(struct service_classes *classes, const struct slo_config *slo, const char *service,
                         const char *where, struct arena *arena, struct diag *diag)
{
    const struct slo_class *named = slo->classes.items;
    *classes = (struct service_classes){.service = service, .where = where, .slo = slo, .arena = arena, .diag = diag};
    classes->unnamed.view.name = "";
    slo_limits_of(slo, "", classes->unnamed.limits_s);
    int code = 0;
    for (size_t i = 0; i < slo->classes.n && code == 0; i++) {
        struct service_class *added;
        code = add_class(classes, named[i].name, &added);
    }
    return code;
}

void service_classes_fini(struct service_classes *classes)
{
    for (uint16_t i = 0; i < classes->n; i++) request_stats_fini(&classes->items[i]->stats);
}

static struct service_class *find_name(const struct service_classes *classes, const char *name)
{
    for (uint16_t i = 0; i < classes->n; i++)
        if (strcmp(classes->items[i]->view.name, name) == 0) return classes->items[i];
    return NULL;
}

static int find_or_add(struct service_classes *classes, const char *source_name, struct service_class **found)
{
    const char *name = source_name != NULL ? source_name : default_name;
    *found = source_name == NULL && classes->n == 0 ? &classes->unnamed : find_name(classes, name);
    if (*found != NULL) return 0;
    return classes->n < SLO_MAX_CLASSES ? add_class(classes, name, found) : too_many(classes, name);
}

static struct service_class *find_source_name(const struct service_classes *classes, const char *source_name)
{
    for (uint16_t i = 0; source_name != NULL && i < classes->n; i++)
        if (classes->items[i]->source_name == source_name) return classes->items[i];
    return NULL;
}

int service_classes_find(struct service_classes *classes, const char *name, struct service_class **found)
{
    *found = find_source_name(classes, name);
    int code = *found == NULL ? find_or_add(classes, name, found) : 0;
    if (code != 0) return code;
    (*found)->occurs = true;
    (*found)->source_name = name;
    classes->latest = *found;
    classes->latest_name = name;
    return 0;
}

int service_classes_emit(const struct service_classes *classes, double span_s, const struct sink *sink)
{
    int code = 0;
    for (uint16_t i = 0; i < classes->n && code == 0; i++) {
        const struct service_class *class = classes->items[i];
        code = request_stats_emit_counts(&class->stats, class->entity, sink);
        if (code == 0) code = request_stats_emit_distributions(&class->stats, class->entity, sink);
        if (code == 0) code = slo_emit(&class->stats.slo, class->entity, span_s, sink);
        if (code == 0) code = request_stats_emit_rates(&class->stats, class->entity, span_s, sink);
    }
    return code;
}

/* The names of the classes that requests were of. */
static void list_occurring(const struct service_classes *classes, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint16_t i = 0; i < classes->n && length < bytes; i++) {
        if (!classes->items[i]->occurs) continue;
        length += (size_t)snprintf(text + length, bytes - length, "%s'%s'", length > 0 ? ", " : "",
                                   classes->items[i]->view.name);
    }
}

int service_classes_warn(const struct service_classes *classes, const struct sink *sink)
{
    char text[512], occurring[256];
    int code = 0;
    list_occurring(classes, occurring, sizeof occurring);
    for (size_t i = 0; i < classes->slo->classes.n && code == 0; i++) {
        const struct service_class *class = classes->items[i];
        if (class->occurs || sink->warning == NULL) continue;
        snprintf(text, sizeof text, "service '%s': no request was of class '%s', which slo.classes names%s%s",
                 classes->service, class->view.name, occurring[0] != '\0' ? "; there were " : "", occurring);
        struct warning_row row = {.t_s = (double)NAN, .code = "class-absent", .text = text, .count = 1};
        code = sink->warning(sink->context, &row);
    }
    return code;
}
