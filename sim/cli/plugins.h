/* Plug-ins: shared objects that bring policies of a user's own (sim/world/policy/policy.h, ORRERY_PLUGIN). */
#ifndef ORRERY_CLI_PLUGINS_H
#define ORRERY_CLI_PLUGINS_H

#include "sim/cli/options.h"
#include "sim/core/config/config.h"
#include "sim/core/hash.h"
#include "sim/world/policy/policy.h"
#include "sim/world/scenario.h"

#include <stdbool.h>
#include <stddef.h>

struct plugin {
    const char *path;
    char name[64];             /* of its file, blanks and the like as '_': how results call it */
    char hash[HASH_HEX_CHARS]; /* of the file's bytes */
    void *handle;
    struct policy_table policies;
};

enum { PLUGINS_MAX = 64, PLUGINS_CHARS = 1024 };

struct plugins {
    char *at_fault; /* [PLUGINS_CHARS] the files of those whose code may run; NULL: nobody asks */
    size_t n;
    struct plugin items[PLUGINS_MAX];
};

/* Loads the shared objects, checks all of their policies against these headers, the built-in policies and each other.
 * Returns 0, SIM_E_IO, SIM_E_USAGE or SIM_E_NOMEM, with findings for each of them; plugins_close may be called in
 * either case. `paths` must outlive the plug-ins. */
int plugins_load(const struct option_texts *paths, struct plugins *plugins, struct diag *diag);

/* Nothing may point to their policies any more. */
void plugins_close(struct plugins *plugins);

/* The plug-in that a policy comes from; NULL for built-in ones. `plugins` may be NULL. */
const struct plugin *plugins_of(const struct plugins *plugins, const struct policy *policy);

/* Adds " plugin.NAME=HASH" for each plug-in that brings a policy in force. */
void plugins_describe(const struct plugins *plugins, const struct scenario *scenario, struct text *text);

/* Writes the files of the plug-ins that bring a policy in force, with ", " between them; empty without any. A NULL
 * scenario has none. `plugins` may be NULL. */
void plugins_in_force(const struct plugins *plugins, const struct scenario *scenario, char files[PLUGINS_CHARS]);

/* Keeps them as those at fault if the process dies from now on. */
void plugins_blame(const struct plugins *plugins, const struct scenario *scenario);

/* Whether the plug-ins that an earlier run names, as plugins_describe wrote them, are here. One that is missing is an
 * error; one of the same name and other bytes, which may be the same source built anew, a warning. Returns 0 or
 * SIM_E_USAGE. */
int plugins_check(const struct plugins *plugins, const char *policies, const char *where, struct diag *diag);

/* All policies, trace formats, generators and cost models that a scenario may name. Policies of plug-ins follow the
 * built-in ones. `plugins` may be NULL; else it must outlive the result. */
struct config_families cli_families(const struct plugins *plugins);

#endif
