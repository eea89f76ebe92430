/* A call with plug-ins happens in a child process, so that a plug-in that crashes, or ends its process, ends the call
 * and not orrery: the parent reports it and removes what a run has left behind. The child does all else, its output
 * included. */
#ifndef ORRERY_CLI_APART_H
#define ORRERY_CLI_APART_H

#include "sim/cli/cli.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Memory of both processes, kept up to date by the child. */
struct apart {
    bool has_ended;              /* the child has come to its end */
    bool is_loaded;              /* the plug-ins are neither being loaded nor unloaded */
    char at_fault[PLUGINS_CHARS]; /* the plug-ins whose code may run; empty: none */

    /* What stays behind if the child dies in a run: the open run in the database (0: none), which the child has
     * created; and a timeline (empty: none). */
    int64_t run_id;
    bool has_created;
    char output[PATH_MAX], timeline[PATH_MAX];
};

/* Divides the process. Returns 1 in the child, with cli->apart set, to go on with the call. Returns 0 in the parent
 * when the child has ended in order, with its status in cli->child_status; or SIM_E_POLICY if a plug-in ended it,
 * SIM_E_CRASH if orrery crashed, or SIM_E_IO. `paths` are the plug-ins. */
int apart_begin(struct cli *cli, const struct option_texts *paths);

#endif
