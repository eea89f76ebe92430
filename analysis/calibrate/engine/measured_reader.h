/* What the readers of measured iterations share: the sheet and the list of rows. */
#ifndef ORRERY_ANALYSIS_CALIBRATE_ENGINE_MEASURED_READER_H
#define ORRERY_ANALYSIS_CALIBRATE_ENGINE_MEASURED_READER_H

#include "analysis/calibrate/engine/measured.h"

/* An LLM that rows name, looked up once. */
struct measured_llm {
    struct measured_llm *next;
    const char *name; /* in the file */
    bool known;       /* to the catalog */
    struct llm_spec spec;
};

struct measured_reader {
    struct sheet sheet; /* of JSON only its path, arena and diag are set */
    const struct catalog *catalog;
    struct measured_llm *llms;
    struct measured *measured;
    size_t capacity;
};

/* Files that are no table of rows. Both return 0, SIM_E_IO, SIM_E_CONFIG, SIM_E_DATA or SIM_E_NOMEM. */
int measured_read_distserve(struct measured_reader *reader);
int measured_read_layers(struct measured_reader *reader);

/* Whether the path names a file that measured_read_layers reads. */
bool measured_layers_recognise(const char *path);

/* Appends a row with the line of the sheet's current row. A row without a time is dropped. Returns 0 or SIM_E_NOMEM. */
int measured_add(struct measured_reader *reader, const struct measured_row *row);

/* Counts a row as left out; `reason` is a static text. Returns 0. */
int measured_drop(struct measured_reader *reader, const char *reason);

#endif
