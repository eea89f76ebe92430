/* What the files of this room share. */
#ifndef ORRERY_WORLD_POWER_POWER_STATE_H
#define ORRERY_WORLD_POWER_POWER_STATE_H

#include "sim/core/mem.h"
#include "sim/core/tally.h"
#include "sim/world/policy/power_cap.h"
#include "sim/world/power/power.h"
#include "sim/world/replica/gpu_clock.h"

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

/* The setting of a group of GPUs, or of the brake. */
struct power_hold {
    struct power_setting in_force, ordered;
    int64_t n_ordered, n_in_force; /* numbers of these commands, from 1 on */
    sim_ns effect_ns;              /* of the latest command */
    sim_ns since_ns, held_ns;      /* a setting has been in force since then, and for that time before */
    sim_ns given_ns;               /* when the command in force was given */
};

struct power_breaker {
    double heat, since_j; /* it trips at heat 1; energy of the domain at the latest reading */
    int64_t trips;
};

/* The minimum of the latest readings: a monotone deque. */
struct power_least {
    struct power_dip {
        sim_ns at_ns;
        double mean_w;
    } *dips; /* [capacity], a ring */
    int32_t capacity, first, n;
};

/* The outages of a domain whose breaker can leave it dark. */
struct power_outage {
    struct owner reset;
    struct power *power;
    int32_t domain;
    bool is_dark;
    sim_ns since_ns, dark_ns; /* it has been dark since then, and for that time before */
};

struct power_domain {
    const char *name;
    int64_t first_node, servers;
    double bare_w; /* of all its GPUs without holders */
    double process_w; /* of all its GPUs, idle with a process: no clock takes them below */
    struct power_outage outage;
    struct power_meter rest, beside; /* of GPUs that no replica holds; of servers without their GPUs */
    struct power_hold holds[POWER_TARGETS];
    struct power_breaker breaker;
    void *capper_state;
    struct power_view view;
    double least_limit_w; /* of its GPUs; the most is in the view */
    struct power_least least;
    struct tally used;      /* readings as a fraction of the budget */
    double rise_w;          /* the largest rise within the latency of a command */
    int64_t brakes;
    sim_ns over_ns;         /* time of the readings above the budget */
    int64_t n_stuck;        /* of these, with all its GPUs at the lowest clock that is ordered */
    double stuck_w;         /* the highest of them */
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
    } *parts; /* [draw.gpus]; the first is the domain that it obeys */
};

/* A type of nodes: its GPU, and the voltage of that. */
struct power_node_type {
    struct gpu_spec gpu;
    struct power_model model; /* of jobs with a stated power: only idle power with a process, limit and voltage */
    struct power_model load;  /* of loads; active_w NAN: not known */
    double compute_range[2], memory_range[2]; /* of the loads that it was fitted on */
    bool is_measured;                         /* on this GPU */
    /* Settings in force for holders of its GPUs that cannot do what they say, in W, W and Hz; 0: none. */
    double cap_above_w, cap_below_w, clock_above_hz;
};

/* A steady holder with GPUs: a job that runs. */
struct power_job {
    struct power_job *next, *prev;
    struct holder *holder;
    double gpu_w, share; /* power of each GPU at the clock in force; share of each GPU that it holds */
    bool is_known;       /* else it draws idle power */
    sim_ns since_ns;     /* it has drawn gpu_w since then */
    struct clock_order order; /* in force */
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

/* Commands in flight of one latency, in the order in which they take effect. */
struct power_order {
    struct power_order *next;
    int32_t domain;
    enum power_target target;
    struct power_setting setting;
    int64_t number;
    sim_ns given_ns;
    double reading_w; /* that the policy had then */
};

struct power_command_queue {
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
    struct power_command_queue locks, brakes;
    struct pool orders;
    struct power_node_type *types; /* [1 + node types] */
    struct pool jobs;
    struct power_job *running;
    int64_t n_finished_jobs;
    struct power_meter on_jobs, idle; /* of GPUs that jobs hold, and of GPUs without holders */
    int64_t n_unknown;          /* runs of jobs whose power is not known */
    int64_t n_outside;          /* of jobs with stages: with loads that the model was not fitted on */
    struct power_rows marks, unseen; /* energies at the start of windows; readings in flight */
    struct power_row *spares;
    double *joules;     /* [n_domains], scratch */
    struct tally site;  /* readings of the site */
    double checked_j, checked_w; /* for INV-11: integral of power until checked_ns, and power then */
    sim_ns checked_ns;
    bool varies_between_events;     /* a replica has pipeline stages: its power changes between events */
};

/* Writes the energies of all domains until `at`. */
void power_collect(struct power *power, sim_ns at, double *joules);

/* Applies to a member what is in force in its domain. */
void power_apply(struct power_member *member, sim_ns now);

/* Checks and sends the commands of a policy; they take effect after their latency, or `at_once`. Returns 0,
 * SIM_E_POLICY with a finding, or SIM_E_NOMEM. */
int power_command(struct power *power, int32_t domain, const struct power_plan *plan, bool at_once, sim_ns now);
void power_commands_init(struct power *power);

/* Jobs, the steady holders: one is given GPUs, and its speed_frac is set by the clock in force; one is about to
 * release them. */
int power_job_starts(struct power *power, struct holder *holder, sim_ns now); /* 0 or SIM_E_NOMEM */
void power_job_stops(struct power *power, struct holder *holder, sim_ns now);
void power_job_redrawn(struct power *power, struct holder *holder, sim_ns now); /* its `draw` has changed */
double power_job_j(const struct watcher *watcher, const struct holder *holder, sim_ns now);
struct holder_command power_job_command(const struct watcher *watcher, const struct holder *holder);

/* Applies to jobs on GPUs of a domain what is in force there. */
void power_jobs_apply(struct power *power, int32_t domain, sim_ns now);

/* The clock and cap of a group in a domain, for GPUs of a type. Notes in the type what it cannot follow. */
struct clock_order power_order_of(const struct power_domain *domain, int group, struct power_node_type *type);

/* The type of the GPUs that a holder has, or will have. */
struct power_node_type *power_type_of(const struct power *power, const struct holder *holder);

/* The domain of a node. */
struct power_domain *power_domain_of(const struct power *power, int64_t node);

/* For a domain whose breaker can leave it dark. */
void power_outage_init(struct power *power, int32_t domain);

/* Brings the view of a domain up to date. */
void power_refresh_view(struct power *power, int32_t domain, sim_ns now);

/* Counts a reading of all domains: mean powers over the row's time. */
void power_count_readings(struct power *power, const struct power_row *row, const double *joules);

/* As in struct component. */
int power_start(void *self);
int power_finish(void *self, sim_ns now);

#endif
