#include "analysis/calibrate/lifetimes/lifetimes_events.h"

#include "sim/core/number.h"
#include "sim/core/vec.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NS_PER_H = 3.6e12;

bool lifetimes_time(const char *chars, size_t n_chars, double *hours, bool *is_calendar)
{
    sim_ns ns;
    *is_calendar = false;
    if (number_f64(chars, n_chars, hours) == NUMBER_OK) return isfinite(*hours);
    if (number_timestamp(chars, n_chars, &ns) != NUMBER_OK) return false;
    *is_calendar = true;
    *hours = (double)ns / NS_PER_H;
    return true;
}

static int by_node_and_time(const void *a, const void *b)
{
    const struct down_event *x = a, *y = b;
    const int order = strcmp(x->node, y->node);
    if (order != 0) return order;
    if (x->down_h != y->down_h) return x->down_h < y->down_h ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static void complete(struct events_span *span, const struct down_event *events, size_t n)
{
    double first_h = (double)INFINITY, last_h = -(double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        first_h = fmin(first_h, events[i].down_h);
        last_h = fmax(last_h, isnan(events[i].up_h) ? events[i].down_h : events[i].up_h);
    }
    if (isnan(span->from_h)) span->from_h = first_h;
    if (isnan(span->until_h)) span->until_h = last_h;
}

struct turning {
    const struct events_span *span;
    struct events_lives *lives;
    size_t capacity;
};

/* A life from one time to another, within the observation. */
static int add_life(struct turning *turning, double up_h, double end_h, bool failed)
{
    struct events_lives *lives = turning->lives;
    const double age_h = end_h - up_h;
    if (!(age_h > 0.0)) {
        lives->n_at_once += failed;
        return 0;
    }
    const struct observed_life life = {0.0, age_h, failed};
    return vec_push(&lives->lives, &lives->n, &turning->capacity, life);
}

/* The events of one node, in order of time. */
static int add_node(struct turning *turning, const struct down_event *events, size_t n, const char *path,
                    struct diag *diag)
{
    const struct events_span *span = turning->span;
    double up_h = span->from_h;
    int code = 0;
    for (size_t i = 0; i < n && code == 0; i++) {
        const struct down_event *event = &events[i];
        if (i > 0 && !(event->down_h >= events[i - 1].up_h)) {
            char where[DIAG_WHERE_CHARS];
            snprintf(where, sizeof where, "%s:%" PRId64, path, event->line);
            return diag_error(diag, SIM_E_DATA, where, "a node is up between two rows; correct 'up_at' there",
                              "node '%s' goes down, and is down since line %" PRId64, event->node, events[i - 1].line);
        }
        if (event->down_h >= span->from_h && event->down_h <= span->until_h)
            code = add_life(turning, up_h, event->down_h, true);
        else if (event->down_h > span->until_h)
            code = add_life(turning, up_h, span->until_h, false);
        up_h = isnan(event->up_h) ? (double)INFINITY : fmax(event->up_h, span->from_h);
        if (event->down_h > span->until_h) up_h = (double)INFINITY;
    }
    return code != 0 ? code : add_life(turning, up_h, span->until_h, false);
}

static int check_span(const struct events_span *span, int64_t n_logged, const char *path, struct diag *diag)
{
    if (!(span->until_h > span->from_h))
        return diag_error(diag, SIM_E_DATA, path, "--from and --until say when the observation began and ended",
                          "the observation ends %.6g h after its begin", span->until_h - span->from_h);
    if (span->n_nodes == 0 || span->n_nodes >= n_logged) return 0;
    return diag_error(diag, SIM_E_DATA, path, "--nodes counts all nodes, also those that failed",
                      "the log has %" PRId64 " nodes, and --nodes says %" PRId64, n_logged, span->n_nodes);
}

int lifetimes_of_events(struct down_event *events, size_t n, struct events_span *span, const char *path,
                        struct events_lives *lives, struct diag *diag)
{
    struct turning turning = {.span = span, .lives = lives};
    int code = 0;
    *lives = (struct events_lives){0};
    complete(span, events, n);
    if (n > 0) qsort(events, n, sizeof *events, by_node_and_time);
    for (size_t i = 0; i < n; i++) lives->n_logged += i == 0 || strcmp(events[i].node, events[i - 1].node) != 0;
    code = check_span(span, lives->n_logged, path, diag);
    for (size_t i = 0, k; i < n && code == 0; i = k) {
        for (k = i + 1; k < n && strcmp(events[k].node, events[i].node) == 0;) k++;
        code = add_node(&turning, events + i, k - i, path, diag);
    }
    for (int64_t i = lives->n_logged; i < span->n_nodes && code == 0; i++)
        code = add_life(&turning, span->from_h, span->until_h, false);
    return code;
}
