/* What a test of the catalog allocates and finds: SCOPED(session) session = {0}. */
#ifndef ORRERY_TESTS_SUPPORT_CATALOG_SESSION_H
#define ORRERY_TESTS_SUPPORT_CATALOG_SESSION_H

#include "sim/core/err.h"
#include "sim/core/mem.h"

struct session {
    struct arena arena;
    struct diag diag;
    char message[1024]; /* the first finding */
};

void session_fini(struct session *session);

/* The first finding as it is printed, empty without one; lives as long as the session. */
const char *session_message(struct session *session);

#endif
