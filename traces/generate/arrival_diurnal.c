/* A Poisson process whose rate follows the hours of the day and the days of the week, from a wave or from tables. */
#include "traces/generate/arrival.h"

#include <math.h>

enum { HOURS = 24, WEEKDAYS = 7 };

#define TWO_PI 6.283185307179586
#define HOUR_S 3600.0

struct diurnal {
    double hours[HOURS], weekdays[WEEKDAYS]; /* of the tables, with mean 1 */
    double at_s, most;                       /* the clock of the process; the highest value of the shape */
};

/* Copies a table with its mean brought to 1; 1 everywhere when there is none. Returns the highest value. */
static double normalise(const struct config_list *list, double *to, size_t n)
{
    const double *from = list->items;
    double sum = 0, most = 1;
    for (size_t i = 0; i < list->n; i++) sum += from[i];
    for (size_t i = 0; i < n; i++) {
        to[i] = list->n == n ? from[i] * (double)n / sum : 1;
        if (i == 0 || to[i] > most) most = to[i];
    }
    return most;
}

static void diurnal_start(struct arrivals *arrivals)
{
    const struct diurnal_params *params = arrivals->params;
    struct diurnal *state = arrivals->state;
    double most_hour = normalise(&params->hours, state->hours, HOURS);
    if (params->hours.n == 0) most_hour = 1 + params->amplitude_frac;
    state->most = most_hour * normalise(&params->weekdays, state->weekdays, WEEKDAYS);
}

/* The rate at a time since Monday, 0:00, over the mean rate. */
static double diurnal_shape(const struct diurnal_params *params, const struct diurnal *state, double since_monday_s)
{
    double hour = since_monday_s / HOUR_S;
    size_t day = (size_t)(hour / HOURS) % WEEKDAYS;
    double hour_of_day = fmod(hour, HOURS);
    double wave = 1 + params->amplitude_frac * cos(TWO_PI * (hour_of_day - params->peak_hour) / HOURS);
    return state->weekdays[day] * (params->hours.n > 0 ? state->hours[(size_t)hour_of_day] : wave);
}

/* Thinning (Lewis and Shedler, Naval Research Logistics 1979): candidates of the highest rate, each kept with the
 * probability that the rate of its moment has of it. */
static sim_ns diurnal_next(struct arrivals *arrivals)
{
    const struct diurnal_params *params = arrivals->params;
    struct diurnal *state = arrivals->state;
    double monday_s = (params->start_day * HOURS + params->start_hour) * HOUR_S;
    do {
        state->at_s += rng_exponential(&arrivals->rng, 1 / (params->rate_per_s * state->most));
    } while (rng_uniform(&arrivals->rng) * state->most >= diurnal_shape(params, state, monday_s + state->at_s));
    sim_ns time_ns = sim_ns_from_s(state->at_s);
    return time_ns > arrivals->now_ns ? time_ns : arrivals->now_ns;
}

static bool is_table(const struct config_list *list, size_t n)
{
    const double *items = list->items;
    double sum = 0;
    for (size_t i = 0; i < list->n; i++) sum += items[i];
    return list->n == 0 || (list->n == n && sum > 0);
}

static int diurnal_check(const void *params, const char *where, struct diag *diag)
{
    const struct diurnal_params *diurnal = params;
    if (is_table(&diurnal->hours, HOURS) && is_table(&diurnal->weekdays, WEEKDAYS)) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "write all of them, in any unit; their mean does not matter",
                      "\"hours\" must be 24 numbers from midnight on, \"weekdays\" 7 from Monday on");
}

static const char *const day_names[] = {"monday", "tuesday",  "wednesday", "thursday",
                                        "friday", "saturday", "sunday",    NULL};

static const struct config_field share_item[] = {{.kind = CONFIG_REAL, .max = 1e9}, {0}};

#define ROW_OF struct diurnal_params
static const struct config_field diurnal_fields[] = {
    ROW_QUANTITY("rate", rate_per_s, UNIT_RATE, REQUIRED, WITHIN(1e-9, 1e9), "arrivals per time, mean over the week"),
    ROW_REAL("amplitude", amplitude_frac, DEFAULT("0.5"), WITHIN(0, 1), "of the daily wave, over the mean rate"),
    ROW_REAL("peak_hour", peak_hour, DEFAULT("14"), WITHIN(0, 24), "hour of the day at which the wave is highest"),
    ROW_LIST("hours", hours, OPTIONAL, ANY, double, share_item, "instead of the wave: relative rates of the 24 hours"),
    ROW_LIST("weekdays", weekdays, OPTIONAL, ANY, double, share_item, "relative rates of the 7 days from Monday on"),
    ROW_REAL("start_hour", start_hour, DEFAULT("0"), WITHIN(0, 24), "hour of the day at time 0"),
    ROW_CHOICE("start_day", start_day, DEFAULT("monday"), day_names, "day of the week at time 0"),
    {0}};
#undef ROW_OF

const struct arrival_process arrival_diurnal = {.name = "diurnal",
                                                .summary = "a rate that follows the hours of the day and of the week",
                                                .params = diurnal_fields,
                                                .params_bytes = sizeof(struct diurnal_params),
                                                .state_bytes = sizeof(struct diurnal),
                                                .check = diurnal_check,
                                                .start = diurnal_start,
                                                .next = diurnal_next};
