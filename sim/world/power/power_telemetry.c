/* Telemetry: readings of all domains are taken, and seen by policies after a delay. */
#include "sim/core/check.h"
#include "sim/world/policy/instance.h"
#include "sim/world/power/power_state.h"
#include "sim/world/rows/priority.h"

#include <math.h>
#include <string.h>

/* --- Rows of values --- */

static struct power_row *take_row(struct power *power)
{
    struct power_row *row = power->spares;
    if (row == NULL)
        return arena_alloc(power->env.site->arena, sizeof *row + (size_t)power->n_domains * sizeof(double));
    power->spares = row->next;
    return row;
}

static void give_row(struct power *power, struct power_row *row)
{
    row->next = power->spares;
    power->spares = row;
}

static void push_row(struct power_rows *rows, struct power_row *row)
{
    row->next = NULL;
    if (rows->head == NULL)
        rows->head = row;
    else
        rows->tail->next = row;
    rows->tail = row;
}

static struct power_row *pop_row(struct power_rows *rows)
{
    struct power_row *row = rows->head;
    SIM_REQUIRE(row != NULL);
    rows->head = row->next;
    return row;
}

/* --- Seen --- */

/* Shows a policy a reading, never before its delay has passed. */
static int show_domain(struct power *power, int32_t index, const struct power_row *row, sim_ns now)
{
    struct power_domain *domain = &power->domains[index];
    struct power_plan plan = {0};
    SIM_REQUIRE(sim_ns_add(row->to_ns, power->config->telemetry.delay_ns) <= now);
    if (power->capper->decide == NULL) return 0;
    domain->view.reading = (struct power_reading){row->values[index], row->from_ns, row->to_ns};
    power_refresh_view(power, index, now);
    int code = power->capper->decide(domain->capper_state, &domain->view, &plan);
    if (code != 0) return policy_failed(&power->capper->policy, "decide", code, now, power->env.site->diag);
    return power_command(power, index, &plan, false, now);
}

static void show_row(struct power *power, struct power_row *row, sim_ns now)
{
    int code = 0;
    for (int32_t i = 0; i < power->n_domains && code == 0; i++) code = show_domain(power, i, row, now);
    give_row(power, row);
    if (code != 0) engine_fail(power->env.site->engine, code);
}

static void reading_is_seen(struct engine *engine, struct owner *owner, sim_ns now)
{
    (void)engine;
    struct power *power = OWNER_ENTITY(owner, struct power, seen_owner);
    show_row(power, pop_row(&power->unseen), now);
}

/* --- Taken --- */

/* Whether windows begin at the times of readings. */
static bool marks_with_samples(const struct power *power)
{
    return power_window_ns(power->config) % power->config->telemetry.period_ns == 0;
}

static void again(struct power *power, sim_ns at, event_fn handler, struct owner *owner)
{
    if (at < SIM_NS_MAX) engine_schedule_background(power->env.site->engine, at, PRIORITY_POWER, handler, owner);
}

static int mark(struct power *power, const double *joules, sim_ns now)
{
    struct power_row *row = take_row(power);
    if (row == NULL) return SIM_E_NOMEM;
    row->to_ns = now;
    memcpy(row->values, joules, (size_t)power->n_domains * sizeof *joules);
    push_row(&power->marks, row);
    return 0;
}

static void window_begins(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct power *power = OWNER_ENTITY(owner, struct power, mark_owner);
    power_collect(power, now, power->joules);
    if (mark(power, power->joules, now) != 0) engine_fail(engine, SIM_E_NOMEM);
    again(power, sim_ns_add(now, power->config->telemetry.period_ns), window_begins, owner);
}

/* Turns the row of energies at the start of a window into the row of its mean powers. */
static void take_reading(struct power *power, struct power_row *row, sim_ns now)
{
    row->from_ns = row->to_ns;
    row->to_ns = now;
    const double window_s = sim_s_from_ns(now - row->from_ns);
    for (int32_t i = 0; i < power->n_domains; i++) row->values[i] = (power->joules[i] - row->values[i]) / window_s;
    power_count_readings(power, row, power->joules);
}

static void sample_is_due(struct engine *engine, struct owner *owner, sim_ns now)
{
    struct power *power = OWNER_ENTITY(owner, struct power, sample_owner);
    const struct power_telemetry_config *telemetry = &power->config->telemetry;
    power_collect(power, now, power->joules);
    if (marks_with_samples(power) && mark(power, power->joules, now) != 0) engine_fail(engine, SIM_E_NOMEM);
    struct power_row *row = pop_row(&power->marks);
    take_reading(power, row, now);
    if (telemetry->delay_ns == 0) {
        show_row(power, row, now);
    } else {
        push_row(&power->unseen, row);
        again(power, sim_ns_add(now, telemetry->delay_ns), reading_is_seen, &power->seen_owner);
    }
    again(power, sim_ns_add(now, telemetry->period_ns), sample_is_due, owner);
}

/* Windows that would begin before the run begin with the run. */
static int start_windows(struct power *power)
{
    const sim_ns period_ns = power->config->telemetry.period_ns, window_ns = power_window_ns(power->config);
    sim_ns first_ns = period_ns;
    int code = 0;
    memset(power->joules, 0, (size_t)power->n_domains * sizeof *power->joules);
    for (; first_ns <= window_ns && code == 0; first_ns += period_ns) code = mark(power, power->joules, 0);
    if (code == 0 && !marks_with_samples(power)) again(power, first_ns - window_ns, window_begins, &power->mark_owner);
    return code;
}

int power_start(void *self)
{
    struct power *power = self;
    int code = 0;
    for (int32_t i = 0; i < power->n_domains && code == 0 && power->capper->setup != NULL; i++) {
        struct power_domain *domain = &power->domains[i];
        struct power_plan plan = {0};
        power_refresh_view(power, i, 0);
        code = power->capper->setup(domain->capper_state, &domain->view, &plan);
        code = code != 0 ? policy_failed(&power->capper->policy, "setup", code, 0, power->env.site->diag)
                         : power_command(power, i, &plan, true, 0);
    }
    if (code == 0) code = start_windows(power);
    again(power, power->config->telemetry.period_ns, sample_is_due, &power->sample_owner);
    power->checked_w = power_site_w(power, 0);
    return code;
}
