/* The inside of the power of a site. Only the power*.c files include this. */
#ifndef ORRERY_WORLD_POWER_POWER_STATE_H
#define ORRERY_WORLD_POWER_POWER_STATE_H

#include "sim/core/mem.h"
#include "sim/core/tally.h"
#include "sim/world/policy/policy.h"
#include "sim/world/power/power.h"
#include "sim/world/replica/pace.h"

/* Watts now, and joules until a time. */
struct power_meter {
    double w, j;
    sim_ns until_ns;
};

static inline double power_meter_j(const struct power_meter *meter, sim_ns at)
{
    return meter->j + meter->w * sim_s_from_ns(at - meter->until_ns);
}

static inline void power_meter_add(struct power_meter *meter, double more_w, sim_ns now)
{
    meter->j = power_meter_j(meter, now);
    meter->until_ns = now;
    meter->w += more_w;
}

/* What a group of GPUs, or the brake, is set to. */
struct power_hold {
    struct power_setting in_force, ordered;
    int64_t n_ordered, n_in_force; /* numbers of these commands, from 1 on */
    sim_ns effect_ns;              /* of the latest command */
    sim_ns since_ns, held_ns;      /* in force is more than nothing since then; and was before that, in all */
};

struct power_breaker {
    double heat, since_j; /* of 1 it trips; energy of the domain at the latest reading */
    int64_t trips;
};

/* The least of the latest readings: a deque in which they rise. */
struct power_least {
    struct power_dip {
        sim_ns at_ns;
        double mean_w;
    } *dips; /* [capacity], a ring */
    int32_t capacity, first, n;
};

/* A domain whose breaker can leave it dark. */
struct power_outage {
    struct owner reset;
    struct power *power;
    int32_t domain;
    bool is_dark;
    sim_ns since_ns, dark_ns; /* it is dark; and was before that, in all */
};

struct power_domain {
    const char *name;
    int64_t first_node, servers;
    double bare_w; /* of all its GPUs, were nobody on them */
    struct power_outage outage;
    struct power_meter rest, beside; /* of GPUs that no replica holds; what servers draw beside GPUs that draw nothing */
    struct power_hold holds[POWER_TARGETS];
    struct power_breaker breaker;
    void *capper_state;
    struct power_view view;
    struct power_least least;
    struct tally used;      /* readings over the budget */
    double rise_w;          /* the largest within the latency of a command */
    int64_t brakes;
    sim_ns over_ns;         /* of the readings above the budget */
};

/* A holder that lasts, and how much of it is on which domain. */
struct power_member {
    struct power *power;
    struct holder *holder;
    double before_j; /* drawn when it was given its GPUs */
    int32_t n_parts; /* 0: it has none */
    struct power_share {
        int32_t domain;
        double share;
    } *parts; /* [capacity]; the first is the domain that it obeys */
};

/* A type of nodes: its GPU, and the voltage of that. */
struct power_node_type {
    struct gpu_spec gpu;
    struct power_law law; /* idle with a process, limit and voltage; nothing else */
};

/* A steady holder with GPUs: a job that runs. */
struct power_job {
    struct power_job *next, *prev;
    struct holder *holder;
    double gpu_w, share; /* of each of its GPUs, at the clock in force; of each that it holds */
    sim_ns since_ns;     /* it draws that */
};

/* Values of all domains at one time. */
struct power_row {
    struct power_row *next;
    sim_ns from_ns, to_ns;
    double values[];
};

struct power_rows {
    struct power_row *head, *tail;
};

/* Commands of one latency, which take effect in the order in which they were given. */
struct power_order {
    struct power_order *next;
    int32_t domain;
    enum power_target target;
    struct power_setting setting;
    int64_t number;
};

struct power_line {
    struct owner owner;
    sim_ns latency_ns;
    struct power_order *head, *tail;
};

struct power {
    struct power_env env;
    struct watcher watcher; /* keeps the power_member or power_job of a holder */
    const struct power_config *config;
    const struct power_capper *capper;
    int32_t n_domains;
    struct power_domain *domains;
    size_t n_members, capacity;
    struct power_member **members;
    struct owner mark_owner, sample_owner, seen_owner;
    struct power_line locks, brakes;
    struct pool orders;
    struct power_node_type *types; /* [1 + node types] */
    struct pool jobs;
    struct power_job *running;
    int64_t n_finished_jobs;
    struct power_meter on_jobs, idle; /* of the GPUs that jobs hold, and of those that nobody does */
    int64_t n_unknown;          /* stretches of jobs of which nothing is said */
    struct power_rows marks, unseen; /* energies where windows begin; readings that nobody has seen yet */
    struct power_row *spares;
    double *joules;     /* [n_domains], to collect in */
    struct tally site;  /* readings of the site */
    double checked_j, checked_w; /* integral of power until checked_ns, and power then */
    sim_ns checked_ns;
    bool is_lumped;     /* some replica has pipeline stages: its power changes between events, too */
};

/* Energies of all domains by a time. */
void power_collect(struct power *power, sim_ns at, double *joules);

/* Makes a member obey what is in force in its domain. */
void power_obey(struct power_member *member, sim_ns now);

/* Gives what a policy asks for, after checking it: takes effect after its latency, or at once. Returns 0 or SIM_E_POLICY with a finding, or
 * SIM_E_NOMEM. */
int power_command(struct power *power, int32_t domain, const struct power_plan *plan, bool at_once, sim_ns now);
void power_commands_init(struct power *power);

/* Steady holders: one is given GPUs, and has its speed_frac by the clock in force there; it is about to give them back. */
int power_job_runs(struct power *power, struct holder *holder, sim_ns now); /* 0 or SIM_E_NOMEM */
void power_job_rests(struct power *power, struct holder *holder, sim_ns now);
double power_job_j(const struct watcher *watcher, const struct holder *holder, sim_ns now);

/* Those on GPUs of a domain obey what is in force there. */
void power_jobs_obey(struct power *power, int32_t domain, sim_ns now);

/* What a group is held to there. */
struct pace_order power_order_of(const struct power_domain *domain, int group, double highest_hz);

/* The domain of a node. */
struct power_domain *power_domain_of(const struct power *power, int64_t node);

/* For a domain whose breaker can leave it dark. */
void power_outage_init(struct power *power, int32_t domain);

/* Brings the view of a domain up to date. */
void power_refresh_view(struct power *power, int32_t domain, sim_ns now);

/* A reading of all domains: mean powers over the row's time. */
void power_count_readings(struct power *power, const struct power_row *row, const double *joules);

/* As in struct component. */
int power_start(void *self);
int power_finish(void *self, sim_ns now);

#endif
