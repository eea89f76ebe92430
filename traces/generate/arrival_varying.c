/* Processes whose rate varies: by random jumps, as in a Markov-modulated Poisson process (Fischer and Meier-Hellstern,
 * Performance Evaluation 1993); by several independent telegraph signals, which is one with 2^n states; and by the
 * hours of the day and the days of the week, from a wave or from tables. */
#include "traces/generate/arrival.h"

#include <math.h>

enum { MAX_MODULATORS = 8 };

/* Refuses a process whose state changes so often between two arrivals that walking from change to change would take
 * for ever. Such arrivals are those of a Poisson process. */
static int check_changes(double changes_per_arrival, const char *where, struct diag *diag)
{
    const double most = 1e5;
    if (changes_per_arrival <= most) return 0;
    return diag_error(diag, SIM_E_CONFIG, where, "raise the rate, make its changes slower, or use \"poisson\"",
                      "the rate changes %.3g times per arrival, at most %.0e are possible", changes_per_arrival, most);
}

/* --- mmpp --- */

struct mmpp_state {
    double rate_per_s;
    sim_ns dwell_ns;
};

struct mmpp_params {
    struct config_list states;
};

struct mmpp {
    size_t now;
    double at_s, end_s; /* clock of the process; end of the present state */
};

static const struct mmpp_state *mmpp_states(const struct arrivals *arrivals)
{
    return ((const struct mmpp_params *)arrivals->params)->states.items;
}

static size_t mmpp_n(const struct arrivals *arrivals)
{
    return ((const struct mmpp_params *)arrivals->params)->states.n;
}

static void mmpp_enter(struct arrivals *arrivals, size_t state)
{
    struct mmpp *mmpp = arrivals->state;
    mmpp->now = state;
    mmpp->end_s = mmpp->at_s + rng_exponential(&arrivals->rng, sim_s_from_ns(mmpp_states(arrivals)[state].dwell_ns));
}

/* Every state leads to each of the others with the same probability, so at a random moment the process is in a state
 * with a probability proportional to its mean dwell time. */
static void mmpp_start(struct arrivals *arrivals)
{
    const struct mmpp_state *states = mmpp_states(arrivals);
    double total = 0;
    for (size_t i = 0; i < mmpp_n(arrivals); i++) total += (double)states[i].dwell_ns;
    double left = rng_uniform(&arrivals->rng) * total;
    size_t state = 0;
    while (state + 1 < mmpp_n(arrivals) && left > (double)states[state].dwell_ns)
        left -= (double)states[state++].dwell_ns;
    mmpp_enter(arrivals, state);
}

static void mmpp_leave(struct arrivals *arrivals)
{
    struct mmpp *mmpp = arrivals->state;
    mmpp->at_s = mmpp->end_s;
    size_t other = rng_below(&arrivals->rng, mmpp_n(arrivals) - 1);
    mmpp_enter(arrivals, other + (other >= mmpp->now));
}

static sim_ns mmpp_next(struct arrivals *arrivals)
{
    struct mmpp *mmpp = arrivals->state;
    for (;;) {
        double rate_per_s = mmpp_states(arrivals)[mmpp->now].rate_per_s;
        double gap_s = rate_per_s > 0 ? rng_exponential(&arrivals->rng, 1 / rate_per_s) : (double)INFINITY;
        if (mmpp->at_s + gap_s <= mmpp->end_s) {
            mmpp->at_s += gap_s;
            sim_ns time_ns = sim_ns_from_s(mmpp->at_s);
            return time_ns > arrivals->now_ns ? time_ns : arrivals->now_ns;
        }
        mmpp_leave(arrivals);
    }
}

static int mmpp_check(const void *params, const char *where, struct diag *diag)
{
    const struct config_list *list = &((const struct mmpp_params *)params)->states;
    const struct mmpp_state *states = list->items;
    double arrivals = 0; /* while every state is entered once */
    for (size_t i = 0; i < list->n; i++) arrivals += states[i].rate_per_s * sim_s_from_ns(states[i].dwell_ns);
    if (list->n >= 2 && arrivals > 0) return check_changes((double)list->n / arrivals, where, diag);
    return diag_error(diag, SIM_E_CONFIG, where, "write \"states\": [{\"rate\": \"2/s\", \"dwell\": \"60s\"}, ...]",
                      "\"states\" must be two or more, one of them with a rate above 0");
}

#define ROW_OF struct mmpp_state
static const struct config_field mmpp_state_fields[] = {
    ROW_QUANTITY("rate", rate_per_s, UNIT_RATE, REQUIRED, WITHIN(0, 1e9), "arrivals per time in this state"),
    ROW_TIME("dwell", dwell_ns, REQUIRED, WITHIN(1e-6, 1e9), "mean time in this state"),
    {0}};
#undef ROW_OF

#define ROW_OF struct mmpp_params
static const struct config_field mmpp_params[] = {
    ROW_LIST("states", states, REQUIRED, ANY, struct mmpp_state, mmpp_state_fields, "states; each other state may follow"),
    {0}};
#undef ROW_OF

const struct arrival_process arrival_mmpp = {.name = "mmpp",
                                             .summary = "Markov-modulated Poisson: rates that change at random times",
                                             .params = mmpp_params,
                                             .params_bytes = sizeof(struct mmpp_params),
                                             .state_bytes = sizeof(struct mmpp),
                                             .check = mmpp_check,
                                             .start = mmpp_start,
                                             .next = mmpp_next};

/* --- modulated --- */

struct modulated {
    double at_s;
    struct {
        double sign, end_s;
    } signals[MAX_MODULATORS];
};

/* A signal that changes every `dwell` on average has a correlation time of half of that. */
static double signal_dwell_s(const struct modulator *modulator)
{
    return 2 * sim_s_from_ns(modulator->time_ns);
}

static void modulated_start(struct arrivals *arrivals)
{
    const struct modulated_params *params = arrivals->params;
    const struct modulator *modulators = params->modulators.items;
    struct modulated *state = arrivals->state;
    for (size_t i = 0; i < params->modulators.n; i++) {
        state->signals[i].sign = rng_below(&arrivals->rng, 2) ? 1 : -1;
        state->signals[i].end_s = rng_exponential(&arrivals->rng, signal_dwell_s(&modulators[i]));
    }
}

static double modulated_rate(const struct arrivals *arrivals, double *end_s, size_t *first)
{
    const struct modulated_params *params = arrivals->params;
    const struct modulator *modulators = params->modulators.items;
    const struct modulated *state = arrivals->state;
    double level = 1;
    *end_s = (double)INFINITY;
    for (size_t i = 0; i < params->modulators.n; i++) {
        level += modulators[i].amplitude_frac * state->signals[i].sign;
        if (state->signals[i].end_s >= *end_s) continue;
        *end_s = state->signals[i].end_s;
        *first = i;
    }
    return params->rate_per_s * level;
}

static sim_ns modulated_next(struct arrivals *arrivals)
{
    const struct modulated_params *params = arrivals->params;
    const struct modulator *modulators = params->modulators.items;
    struct modulated *state = arrivals->state;
    for (;;) {
        double end_s;
        size_t first = 0;
        double rate_per_s = modulated_rate(arrivals, &end_s, &first);
        double gap_s = rate_per_s > 0 ? rng_exponential(&arrivals->rng, 1 / rate_per_s) : (double)INFINITY;
        if (state->at_s + gap_s <= end_s) {
            state->at_s += gap_s;
            sim_ns time_ns = sim_ns_from_s(state->at_s);
            return time_ns > arrivals->now_ns ? time_ns : arrivals->now_ns;
        }
        state->at_s = end_s;
        state->signals[first].sign = -state->signals[first].sign;
        state->signals[first].end_s += rng_exponential(&arrivals->rng, signal_dwell_s(&modulators[first]));
    }
}

static int modulated_check(const void *params, const char *where, struct diag *diag)
{
    const struct config_list *list = &((const struct modulated_params *)params)->modulators;
    const struct modulator *modulators = list->items;
    double sum = 0, changes_per_s = 0;
    for (size_t i = 0; i < list->n; i++) {
        sum += modulators[i].amplitude_frac;
        changes_per_s += 1 / signal_dwell_s(&modulators[i]);
    }
    if (list->n <= MAX_MODULATORS && sum < 1)
        return check_changes(changes_per_s / ((const struct modulated_params *)params)->rate_per_s, where, diag);
    return diag_error(diag, SIM_E_CONFIG, where, "the rate must not fall to 0",
                      "\"modulators\" must be at most %d, with amplitudes that add up to less than 1, got %g",
                      MAX_MODULATORS, sum);
}

#define ROW_OF struct modulator
static const struct config_field modulator_fields[] = {
    ROW_REAL("amplitude", amplitude_frac, REQUIRED, WITHIN(0, 1), "swing of the rate, as a share of its mean"),
    ROW_TIME("time", time_ns, REQUIRED, WITHIN(1e-6, 1e9), "correlation time"),
    {0}};
#undef ROW_OF

#define ROW_OF struct modulated_params
static const struct config_field modulated_params[] = {
    ROW_QUANTITY("rate", rate_per_s, UNIT_RATE, REQUIRED, WITHIN(1e-9, 1e9), "mean arrivals per time"),
    ROW_LIST("modulators", modulators, OPTIONAL, ANY, struct modulator, modulator_fields,
             "independent swings of the rate, each on its own time scale"),
    {0}};
#undef ROW_OF

const struct arrival_process arrival_modulated = {.name = "modulated",
                                                  .summary = "a rate with independent swings on several time scales",
                                                  .params = modulated_params,
                                                  .params_bytes = sizeof(struct modulated_params),
                                                  .state_bytes = sizeof(struct modulated),
                                                  .check = modulated_check,
                                                  .start = modulated_start,
                                                  .next = modulated_next};

/* --- diurnal --- */

enum { HOURS = 24, WEEKDAYS = 7 };

#define TWO_PI 6.283185307179586
#define HOUR_S 3600.0

struct diurnal {
    double hours[HOURS], weekdays[WEEKDAYS]; /* of the tables, with mean 1 */
    double at_s, most;                       /* clock of the process; highest value of the shape */
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

/* The highest value of the shape in an hour since Monday, 0:00. */
static double most_in(const struct diurnal_params *params, const struct diurnal *state, int64_t hour)
{
    const double day = state->weekdays[hour / HOURS % WEEKDAYS];
    return day * (params->hours.n > 0 ? state->hours[hour % HOURS] : 1 + params->amplitude_frac);
}

/* The number of the hour since Monday, 0:00, in which the clock is, but not before `hour`. */
static int64_t hour_from(const struct diurnal *state, double monday_s, int64_t hour)
{
    const int64_t now = (int64_t)((monday_s + state->at_s) / HOUR_S);
    return now > hour ? now : hour;
}

/* Thinning (Lewis and Shedler, Naval Research Logistics 1979): candidates at the highest rate, each kept with the
 * probability of the present rate over the highest one. In quiet hours nearly all of them would be dropped: there the
 * candidates come at the highest rate of the hour, and the first one past its end is drawn again at the end, since the
 * process has no memory. Idle hours have none. */
static sim_ns diurnal_next(struct arrivals *arrivals)
{
    static const double quiet_frac = 1e-3; /* of the highest rate */
    const struct diurnal_params *params = arrivals->params;
    struct diurnal *state = arrivals->state;
    const double monday_s = (params->start_day * HOURS + params->start_hour) * HOUR_S;
    int64_t hour = hour_from(state, monday_s, 0);
    for (bool is_kept = false; !is_kept;) {
        const double most_now = most_in(params, state, hour), end_s = (double)(hour + 1) * HOUR_S - monday_s;
        const bool is_quiet = most_now < quiet_frac * state->most;
        const double most = is_quiet ? most_now : state->most;
        const double next_s = most > 0 ? state->at_s + rng_exponential(&arrivals->rng, 1 / (params->rate_per_s * most))
                                       : (double)INFINITY;
        const bool is_past = is_quiet && next_s >= end_s;
        state->at_s = is_past ? end_s : next_s;
        hour = hour_from(state, monday_s, is_past ? hour + 1 : hour);
        is_kept = !is_past && rng_uniform(&arrivals->rng) * most < diurnal_shape(params, state, monday_s + state->at_s);
    }
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

static bool has_own_wave(const struct diurnal_params *params)
{
    static const double default_amplitude_frac = 0.5, default_peak_hour = 14.0;
    return fabs(params->amplitude_frac - default_amplitude_frac) > 0 || fabs(params->peak_hour - default_peak_hour) > 0;
}

static int diurnal_check(const void *params, const char *where, struct diag *diag)
{
    const struct diurnal_params *diurnal = params;
    if (diurnal->hours.n > 0 && has_own_wave(diurnal))
        diag_warning(diag, where, "leave them out",
                     "'amplitude' and 'peak_hour' have no effect: \"hours\" takes the place of the wave");
    if (diurnal->start_day != 0 && diurnal->weekdays.n == 0)
        diag_warning(diag, where, "give them, or leave it out",
                     "'start_day' has no effect: without 'weekdays' all days are alike");
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
    ROW_REAL("amplitude", amplitude_frac, DEFAULT("0.5"), WITHIN(0, 1), "amplitude of the daily wave, over the mean rate"),
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
