#include "sim/study/sizing.h"

#include <float.h>

void sizing_start(struct sizing *sizing, struct sizing_option *options, size_t n, size_t wanted)
{
    *sizing = (struct sizing){.n = n, .options = options, .wanted = wanted};
    for (size_t i = 0; i < n; i++) {
        if (options[i].least < 1) options[i].least = 1;
        options[i].bad = options[i].least - 1;
        options[i].good = 0;
        options[i].is_out = options[i].least > options[i].most;
    }
}

bool sizing_is_exact(const struct sizing_option *option)
{
    return option->good > 0 && option->good == option->bad + 1;
}

static double cost_of(const struct sizing_option *option, int64_t replicas)
{
    return option->replica_usd_per_h * (double)replicas;
}

/* The cost of the last of the wanted options, as far as known. */
static double find_cutoff(const struct sizing *sizing)
{
    double limit = DBL_MAX, above = -1;
    for (size_t rank = 0; rank < sizing->wanted; rank++) {
        double next = DBL_MAX;
        size_t n_equal = 0;
        for (size_t i = 0; i < sizing->n; i++) {
            const struct sizing_option *option = &sizing->options[i];
            if (option->good == 0 || option->is_out) continue;
            const double cost = cost_of(option, option->good);
            if (cost <= above) continue;
            if (cost < next) n_equal = 0;
            if (cost <= next) next = cost, n_equal++;
        }
        if (n_equal == 0) return DBL_MAX;
        above = limit = next;
        rank += n_equal - 1;
    }
    return limit;
}

/* The best bracket within the group of an option: the least `good`, and the largest `bad` below it. */
static void look_at_group(const struct sizing *sizing, size_t option, int64_t *good, int64_t *bad)
{
    *good = *bad = 0;
    for (size_t i = 0; i < sizing->n; i++) {
        const struct sizing_option *other = &sizing->options[i];
        if (i == option || other->group != sizing->options[option].group || other->good == 0) continue;
        if (*good != 0 && other->good >= *good) continue;
        *good = other->good;
        *bad = other->bad;
    }
}

/* The replicas to try next. `most_cost` or less is of use: where the option fails with all it may cost, it is done. */
static int64_t next_of(const struct sizing *sizing, size_t index, double most_cost)
{
    const struct sizing_option *option = &sizing->options[index];
    int64_t good, bad, useful = option->most;
    if (most_cost < option->replica_usd_per_h * (double)option->most) {
        useful = (int64_t)(most_cost / option->replica_usd_per_h);
        while (useful < option->most && cost_of(option, useful + 1) <= most_cost) useful++;
    }
    look_at_group(sizing, index, &good, &bad);
    if (option->good == 0 || option->good > useful) { /* up: to where a sibling succeeded, else by half as many again */
        int64_t replicas = option->bad < option->least ? option->least : option->bad + (option->bad + 1) / 2;
        if (good > option->bad) replicas = good;
        return most_cost < DBL_MAX || replicas > useful ? useful : replicas;
    }
    if (bad > option->bad && bad < option->good) return bad;
    if (good == option->good && option->good - 1 > option->bad) return option->good - 1;
    return option->bad + (option->good - option->bad) / 2;
}

/* Whether a run of the option may still change the answer. */
static bool is_open(const struct sizing_option *option, double most_cost)
{
    if (option->is_out || sizing_is_exact(option) || option->bad >= option->most) return false;
    return cost_of(option, option->bad + 1) <= most_cost;
}

size_t sizing_next(const struct sizing *sizing, struct sizing_try *tries, size_t most)
{
    const double most_cost = find_cutoff(sizing);
    size_t n = 0;
    double last_cost = -1;
    size_t last = 0;
    while (n < most) { /* the next option in order of (cost, index) */
        size_t found = sizing->n;
        double found_cost = DBL_MAX;
        for (size_t i = 0; i < sizing->n; i++) {
            const struct sizing_option *option = &sizing->options[i];
            if (!is_open(option, most_cost)) continue;
            const double cost = cost_of(option, option->bad + 1);
            const bool is_after = cost > last_cost || (cost == last_cost && i > last);
            if (is_after && cost < found_cost) found = i, found_cost = cost;
        }
        if (found == sizing->n) break;
        tries[n++] = (struct sizing_try){.option = found, .replicas = next_of(sizing, found, most_cost)};
        last_cost = found_cost;
        last = found;
    }
    return n;
}

void sizing_tell(struct sizing *sizing, const struct sizing_try *made, enum sizing_verdict verdict)
{
    struct sizing_option *option = &sizing->options[made->option];
    sizing->n_tries++;
    if (verdict == SIZING_CANNOT_RUN) option->is_out = true;
    if (verdict == SIZING_MEETS && (option->good == 0 || made->replicas < option->good)) option->good = made->replicas;
    if (verdict == SIZING_FAILS && made->replicas > option->bad) option->bad = made->replicas;
}

size_t sizing_best(const struct sizing *sizing, size_t *options, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < sizing->n; i++) {
        const struct sizing_option *option = &sizing->options[i];
        if (option->is_out || option->good == 0) continue;
        const double cost = cost_of(option, option->good);
        size_t at = n;
        while (at > 0 && cost_of(&sizing->options[options[at - 1]], sizing->options[options[at - 1]].good) > cost) at--;
        if (at == most) continue;
        for (size_t j = n < most ? n : most - 1; j > at; j--) options[j] = options[j - 1];
        options[at] = i;
        n += n < most;
    }
    return n;
}
