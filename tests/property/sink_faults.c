/* A row that the sink refuses ends the run with the code of the sink: rows of every kind, the first of a run, one in
 * between and the last. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

enum kind {
#define KIND(name, row_struct) KIND_##name,
    SINK_ROWS(KIND)
#undef KIND
        KINDS
};

static const char *const kinds[KINDS] = {
#define KIND(name, row_struct) [KIND_##name] = #name,
    SINK_ROWS(KIND)
#undef KIND
};

/* Refuses row number `refused` of one kind; counts the rows of all. */
struct refusing {
    enum kind kind;
    long refused; /* 0: none */
    long n[KINDS];
};

static int take(struct refusing *refusing, enum kind kind)
{
    const long n = ++refusing->n[kind];
    return kind == refusing->kind && n == refusing->refused ? SIM_E_IO : 0;
}

#define TAKE(name, row_struct)                                                                                         \
    static int take_##name(void *context, const struct row_struct *row)                                                \
    {                                                                                                                  \
        (void)row;                                                                                                     \
        return take(context, KIND_##name);                                                                             \
    }
SINK_ROWS(TAKE)
#undef TAKE

/* Runs the scenario; rows of all kinds are wanted. Returns the code of the run. */
static int run(const char *scenario, struct refusing *refusing)
{
    const struct sink sink = {.context = refusing,
#define MEMBER(name, row_struct) .name = take_##name,
                              SINK_ROWS(MEMBER)
#undef MEMBER
    };
    struct bed_rows *rows = bed_run(BED(.also = &sink, .quiet = true), "%s", scenario);
    const int code = rows->code;
    test_release(rows);
    return code;
}

/* Together they have rows of every kind. */
static const char *const scenarios[] = {
    /* Jobs that save, at a lower clock, beside a planned outage. */
    "{'cluster': {'nodes': 2, 'gpus_per_node': 4, 'gpu': 'a100-80-sxm', 'server_power': {'idle': '670W',"
    " 'per_gpu_watt': 0.5}, 'power': {'budget': '9kW', 'level': 'site', 'telemetry': {'period': '1s'}, 'capping':"
    " {'policy': 'static-lock', 'clock': '600MHz', 'on': 'all'}}}, 'failures': {'outages': {'o': {'node': 0, 'from':"
    " '40s', 'until': '50s'}}}, 'keep': 'decisions', 'jobs': {'placement': 'consolidated', 'types': {'default':"
    " {'power': {'mean': '390W', 'clock_share': 0.5}, 'checkpoint': {'policy': {'policy': 'periodic', 'interval':"
    " '30s'}, 'bytes': '80GB', 'write': '8GB/s'}}}, 'trace': {'format': 'inline-jobs', 'jobs': [{'duration': '100s',"
    " 'gpus': 4}, {'duration': '20s', 'gpus': 4}, {'duration': '20s', 'gpus': 4}]}}}",
    "{'extends': ['configs/scenarios/disaggregated.json'], 'until': '5s'}",
    "{'extends': ['configs/scenarios/best-of.json'], 'until': '20s'}",
    "{'extends': ['configs/scenarios/rent-on-a-budget.json'], 'until': '6h'}",
};

TEST(a_row_that_is_refused_ends_the_run)
{
    long all[KINDS] = {0};
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        struct refusing none = {.refused = 0};
        CHECK_EQ_INT(run(scenarios[i], &none), 0);
        for (int kind = 0; kind < KINDS; kind++) {
            const long n = none.n[kind], places[] = {1, n / 2 + 1, n};
            all[kind] += n;
            for (size_t k = 0; n > 0 && k < sizeof places / sizeof *places; k++) {
                struct refusing refusing = {.kind = (enum kind)kind, .refused = places[k]};
                const int code = run(scenarios[i], &refusing);
                if (code != SIM_E_IO) printf("scenario %zu, %s %ld of %ld\n", i, kinds[kind], places[k], n);
                CHECK_EQ_INT(code, SIM_E_IO);
            }
        }
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (all[kind] == 0) printf("no scenario has a row of %s\n", kinds[kind]);
        CHECK(all[kind] > 0);
    }
}
