/* A subsystem of the world: the functions that the world calls in each phase of a run.
 *
 * Every room that takes part in a run exports one table of these functions. The world keeps an ordered list of tables
 * and walks it for each phase, so a new subsystem is one more entry in world.c. Functions that a subsystem has no use
 * for are NULL. `self` is what the room's create function made. */
#ifndef ORRERY_WORLD_ROWS_COMPONENT_H
#define ORRERY_WORLD_ROWS_COMPONENT_H

#include "sim/core/units.h"
#include "sim/world/rows/sampler.h"

struct component {
    const char *name;
    /* Reads its trace up to `until_ns`, in place of a run, and files findings about records that cannot run. Returns 0
     * or the code of the first error. The world can only be destroyed afterwards. */
    int (*read_through)(void *self, sim_ns until_ns);
    /* Schedules the first events. Returns 0 or a negative code with findings. */
    int (*start)(void *self);
    /* Checks the invariants of its state. A violation ends the process. */
    void (*check)(void *self, sim_ns now);
    /* Writes the names of its time series to `series`, unless NULL. Returns their number or a negative code. Called
     * after creation and before start. */
    int (*series)(void *self, struct sampler_series *series);
    /* Writes the value of each series at a time at which no event is pending. */
    void (*sample)(void *self, sim_ns at, double *values);
    /* Emits rows, warnings and metrics after the engine has stopped. Returns 0 or a negative code. */
    int (*finish)(void *self, sim_ns now);
    void (*destroy)(void *self);
};

#endif
