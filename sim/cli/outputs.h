/* Output files must differ from each other and from all inputs. Two paths are the same if they name one regular file
 * on disk, through whatever links; devices and pipes never are. */
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

/* Adds the output that `option` names, such as "--timeline"; at most OUTPUTS_MAX, a NULL path is none. Returns 0, or
 * SIM_E_USAGE if the path is empty or equals another output, which may not exist yet. */
int outputs_add(struct outputs *outputs, const char *option, const char *path);

/* Checks an input; a NULL path is none. Returns 0, or SIM_E_USAGE if it is one of the outputs so far. */
int outputs_check(const struct outputs *outputs, const char *path);

/* Checks the file of every plug-in; `plugins` may be NULL. */
int outputs_check_plugins(const struct outputs *outputs, const struct plugins *plugins);

#endif
