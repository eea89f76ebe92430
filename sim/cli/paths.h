/* Locations of the configurations that come with the program, and checks of paths that it writes. */
#ifndef ORRERY_CLI_PATHS_H
#define ORRERY_CLI_PATHS_H

#include "sim/cli/plugins.h"
#include "sim/core/err.h"
#include "sim/core/hash.h"
#include "sim/core/mem.h"

#include <stdbool.h>
#include <stddef.h>

/* The directory that holds "configs": $ORRERY_DATA; else the current one if it has "configs/hardware"; else the
 * executable's (the source tree around build/, or ../share/orrery); else PREFIX/share/orrery. In the arena; NULL
 * when out of memory. */
const char *paths_data(struct arena *arena);

/* The root of the catalog in it. In the arena; NULL when out of memory. */
const char *paths_catalog(struct arena *arena);

/* What to do if the catalog is not where paths_data says; NULL: it is there, or memory is exhausted. In the arena. */
const char *paths_data_hint(struct arena *arena);

/* Takes the folder behind --data into cli->data; NULL: no option. Returns 0, or SIM_E_USAGE if there is none. */
struct cli;
int paths_take_data(struct cli *cli, const char *folder);

/* Sorted, in the arena. */
struct file_names {
    size_t n;
    const char **names;
};

/* The files of a directory that end in one of `endings` (up to a NULL) and do not begin with a dot. Returns 0, SIM_E_IO
 * or SIM_E_NOMEM, and reports nothing. */
int paths_list_files(struct arena *arena, const char *directory, const char *const *endings, struct file_names *names);

/* The scenarios that come with the program, by name. */

/* `root` is the directory "configs". Returns 0, SIM_E_IO or SIM_E_NOMEM, and reports nothing. */
int paths_list_scenarios(struct arena *arena, const char *root, struct file_names *names);

/* The name of a file of "configs/FOLDER", such as "quickstart" of "scenarios", that the word names with or without its
 * ".json". NULL: the word is a file itself, or names none, or memory ran out. */
const char *paths_shipped(struct arena *arena, const char *folder, const char *word);

bool paths_is_file(const char *path);
bool paths_is_directory(const char *path);

/* Whether the file can be read once only, as a pipe (/dev/stdin). */
bool paths_is_stream(const char *path);

/* Whether the file is a SQLite database, such as results. A stream is none. */
bool paths_is_database(const char *path);

/* Adds the bytes of a file to the hash. Returns 0 or SIM_E_IO. */
int paths_hash_file(const char *path, struct hash *hash, struct diag *diag);

/* --- Outputs --- */

/* Output files must differ from each other and from all inputs. Two paths are the same if they name one regular file
 * on disk, through whatever links; devices and pipes never are. */

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

/* The same for a file of the form, "HTML", whose name may end in one of the words of `endings`, "html htm", or in no
 * ending of another form. SIM_E_USAGE also if it does. A ".gz" at the end does not count. */
int outputs_add_form(struct outputs *outputs, const char *option, const char *path, const char *form,
                     const char *endings);

/* The two checks alone, for outputs that are checked against what is read first. outputs_check_results is for a results
 * database; SIM_E_USAGE also if the path names a run of one, as "b.db:1". */
int outputs_check_form(const struct outputs *outputs, const char *option, const char *path, const char *form,
                       const char *endings);
int outputs_check_results(const struct outputs *outputs, const char *option, const char *path);

/* Checks an input; a NULL path is none. Returns 0, or SIM_E_USAGE if it is one of the outputs so far. */
int outputs_check(const struct outputs *outputs, const char *path);

/* Checks the file of every plug-in; `plugins` may be NULL. */
int outputs_check_plugins(const struct outputs *outputs, const struct plugins *plugins);

#endif
