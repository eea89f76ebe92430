/* Profiles as `orrery calibrate` reads them: from text or from shared data, of a GPU of the catalog. */
#ifndef ORRERY_TESTS_SUPPORT_PROFILE_FIXTURE_H
#define ORRERY_TESTS_SUPPORT_PROFILE_FIXTURE_H

#include "analysis/calibrate/profile/profile.h"

enum { PROFILE_FIXTURE_FILES = 16 };

struct profile_fixture {
    struct arena arena;
    struct diag diag;
    struct catalog catalog;
    struct gpu_spec gpu;
    struct profile_options options;
    struct profile files[PROFILE_FIXTURE_FILES];
    size_t n_files;
    struct profile joined; /* after profile_fixture_join */
    char message[1024];    /* the first finding */
};

/* Finds the GPU in configs/. Returns 0 or what failed; in every case profile_fixture_fini is due. */
int profile_fixture_init(struct profile_fixture *fixture, const char *gpu);
void profile_fixture_fini(struct profile_fixture *fixture);

/* Reads one more file; returns what profile_read returned. `text` becomes a file NAME in a temporary directory. */
int profile_fixture_read(struct profile_fixture *fixture, const char *path);
int profile_fixture_text(struct profile_fixture *fixture, const char *name, const char *text);

/* All rows read so far in fixture->joined. */
int profile_fixture_join(struct profile_fixture *fixture);

#endif
