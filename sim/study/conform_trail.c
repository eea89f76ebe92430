#include "sim/study/conform_trail.h"

#include "sim/core/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void trail_begin(struct conform_trail *trail, int partner, int check)
{
    *trail = (struct conform_trail){.partner = partner, .check = check};
    trail->latest.at_ns = -1;
}

void trail_enter(struct conform_trail *trail, const char *function, sim_ns at_ns)
{
    const struct trail_call before = trail->latest;
    trail->before = before;
    trail->latest = (struct trail_call){
        .number = before.number + 1, .at_ns = at_ns >= 0 ? at_ns : before.at_ns, .returned = (double)NAN};
    snprintf(trail->latest.function, sizeof trail->latest.function, "%s", function);
    trail->is_inside = true;
    trail->shows_waiting = false;
}

void trail_leave(struct conform_trail *trail, double returned)
{
    trail->latest.returned = returned;
    trail->is_inside = false;
}

void trail_see(struct conform_trail *trail, int64_t waiting, int64_t running)
{
    trail->shows_waiting = true;
    trail->waiting = waiting;
    trail->running = running;
}

double trail_time_s(const struct conform_trail *trail)
{
    const bool is_known = trail->latest.number > 0 && trail->latest.at_ns >= 0;
    return is_known ? sim_s_from_ns(trail->latest.at_ns) : (double)NAN;
}

static void add_call(struct text *text, const char *before, const struct trail_call *call, const char *comma)
{
    text_printf(text, "%s %" PRId64 ", of '%s'", before, call->number, call->function);
    if (call->at_ns >= 0) text_printf(text, " at %.9g s", sim_s_from_ns(call->at_ns));
    if (!isnan(call->returned)) text_printf(text, "%s returned %.9g", comma, call->returned);
}

const char *trail_tell(const struct conform_trail *trail, char *text, size_t text_bytes)
{
    struct text told;
    text_init(&told);
    if (trail->latest.number > 0) {
        add_call(&told, trail->is_inside ? "it is inside call" : "its last call was", &trail->latest, ", which");
        if (trail->events > 0) text_printf(&told, "; after at least %" PRIu64 " events", trail->events);
        if (trail->shows_waiting)
            text_printf(&told, "; %" PRId64 " wait, %" PRId64 " run", trail->waiting, trail->running);
        if (trail->is_inside && trail->before.number > 0) add_call(&told, "; call", &trail->before, ",");
    }
    snprintf(text, text_bytes, "%s", told.failed || told.chars == NULL ? "" : told.chars);
    text_fini(&told);
    return text;
}
