/* What the rows of a board name, in the catalog: GPU, LLM, preset of the engine, number formats. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_NAMES_H
#define ORRERY_ANALYSIS_CALIBRATE_BOARD_BOARD_NAMES_H

#include "analysis/calibrate/board/board.h"

/* An entry that some row named; each is looked up once. `gpu` or `llm` is set where the catalog has it. */
struct board_name {
    struct board_name *next;
    const char *name;
    bool known;
    struct gpu_spec gpu;
    struct llm_spec llm;
};

/* A preset and the rows that it was fitted to, with those that it was not. */
struct board_preset {
    struct board_preset *next;
    struct engine_preset preset;
    const struct engine_recipe *recipe; /* NULL: none makes it */
    struct measured *files;             /* its profiles [n_files], rows of other presets included */
    size_t n_files;
};

/* The preset for a version of an engine, chosen once. */
struct board_choice {
    struct board_choice *next;
    const char *engine, *version;
    struct board_preset *preset; /* NULL: the engine has none */
};

struct board_names {
    const struct catalog *catalog;
    struct arena *arena;
    const char *directory; /* of the tables, where the files that presets were fitted to lie, too */
    struct board_name *gpus, *llms;
    struct board_preset *presets; /* those that rows use */
    struct board_choice *choices;
    struct catalog_names engines; /* names of all presets */
};

/* Returns 0, SIM_E_IO or SIM_E_NOMEM. */
int board_names_init(struct board_names *names, const struct catalog *catalog, struct arena *arena,
                     const char *directory, struct diag *diag);

/* Both set *found, whose `known` is false where the catalog lacks the entry. Return 0 or SIM_E_NOMEM. */
int board_names_gpu(struct board_names *names, const char *name, const struct board_name **found);
int board_names_llm(struct board_names *names, const char *name, const struct board_name **found);

/* The preset for a version of an engine: of those whose CPU overhead was measured the one of the nearest version, of
 * two the newer. *found is NULL where the engine has none. A version that is not stated counts as the newest. Returns
 * 0, SIM_E_CONFIG, SIM_E_IO, SIM_E_DATA or SIM_E_NOMEM. */
int board_names_preset(struct board_names *names, const char *engine, const char *version, struct board_preset **found,
                       struct diag *diag);

/* The format with the name that configurations use. Returns false for an unknown one. */
bool board_format(const char *name, enum number_format *format);

#endif
