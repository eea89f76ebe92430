/* Published job shops: ft06 (Fisher and Thompson, 1963), la01 to la05 (Lawrence, 1984), as in the collection JSPLIB;
 * and their run in the simulator, where a machine is a node type of one GPU and an operation is a job. */
#ifndef ORRERY_TESTS_SUPPORT_SHOPS_H
#define ORRERY_TESTS_SUPPORT_SHOPS_H

#include "tests/support/bed.h"

enum { MOST_MACHINES = 15, MOST_JOBS = 30 };

struct shop {
    int jobs, machines;
    struct {
        int machine, time_s;
    } tasks[MOST_JOBS][MOST_MACHINES];
};

extern const struct shop shop_ft06, shop_la01, shop_la02, shop_la03, shop_la04, shop_la05;

enum shop_kind {
    SHOP_CLASSIC, /* room for waiting jobs between the machines */
    SHOP_SWAP,    /* none: a machine is blocked until its job goes on; jobs may exchange machines */
    SHOP_NO_SWAP  /* none, and no exchange */
};

/* A time in which a machine is down, and its running work pauses. */
struct shop_outage {
    int machine, from_s, until_s;
};

/* Runs a shop of kind SHOP_CLASSIC under a rule, with outages. */
struct bed_rows *shop_run_with(const struct shop *shop, const char *rule, const struct shop_outage *outages, int n);

/* Runs the shop under a rule of `dispatch`. The number of an operation is job * machines + place. */
struct bed_rows *shop_run(const struct shop *shop, enum shop_kind kind, const char *rule, bool quiet);

#endif
