/* What holds of the rows of every run: values that a reader may take literally.
 *
 * No metric is infinite. Shares lie between 0 and 1. Times do not run backwards, and lie within the run. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_LAWS_H
#define ORRERY_TESTS_SUPPORT_WORLDS_LAWS_H

#include "sim/world/rows/sink.h"

#include <stdbool.h>

enum { LAWS_TEXT_CHARS = 200 };

/* The first breach. */
struct laws {
    double latest_s; /* no time of a row lies behind it */
    bool is_broken;
    char text[LAWS_TEXT_CHARS];
};

/* `laws` must not move while rows come. `until_s` is the end that the scenario sets; 0: none. */
struct sink laws_sink(struct laws *laws, double until_s);

#endif
