#include "tests/support/catalog_session.h"

void session_fini(struct session *session)
{
    arena_fini(&session->arena);
}

const char *session_message(struct session *session)
{
    session->message[0] = 0;
    if (session->diag.n_items > 0) diag_format(&session->diag.items[0], session->message, sizeof session->message);
    return session->message;
}
