/* Skeletons of random worlds: what must fit together, so that a good share of the worlds is valid. */
#ifndef ORRERY_TESTS_SUPPORT_WORLDS_SKELETON_H
#define ORRERY_TESTS_SUPPORT_WORLDS_SKELETON_H

#include "tests/support/worlds/draw.h"

/* A service, jobs or both, with a random selection of subsystems; values "?" are left to the tables. */
cJSON *skeleton_draw(struct drawing *drawing);

#endif
