/* The files that a call is to write, held against those that it reads and against each other: a name too many on the command
 * line must not cost anybody a file. Files are the same when they are one on the disk, by whatever names and links; devices
 * and pipes are never. */
#ifndef ORRERY_CLI_OUTPUTS_H
#define ORRERY_CLI_OUTPUTS_H

#include "sim/cli/plugins.h"
#include "sim/core/err.h"

#include <stddef.h>

enum { OUTPUTS_MAX = 4 };

struct outputs {
    struct diag *diag;
    size_t n;
    struct {
        const char *option, *path;
    } items[OUTPUTS_MAX];
};

/* What `option` names, such as "--timeline", is to be written; at most OUTPUTS_MAX of them, and a NULL path is none. Returns 0,
 * or SIM_E_USAGE when its name is empty, or it is another output, which may not exist yet. */
int outputs_add(struct outputs *outputs, const char *option, const char *path);

/* `path` is read; NULL is nothing. Returns 0, or SIM_E_USAGE when it is one of the outputs so far. */
int outputs_check(const struct outputs *outputs, const char *path);

/* The same of every plug-in; `plugins` may be NULL. */
int outputs_check_plugins(const struct outputs *outputs, const struct plugins *plugins);

#endif
