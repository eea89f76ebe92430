/* Error codes and diagnostics. Library code reports through these: it never prints and never exits.
 *
 * A function that can fail returns 0 or a negative code, and says why in the caller's `struct diag`. A diag collects
 * many findings, so that all problems of an input are reported in one pass, in compiler format:
 *
 *     exp.json:12:7: error: unknown key 'shceduler' in 'cluster'; did you mean 'scheduler'?
 *
 * Texts say first what failed, quote the subject, are lower case and have no full stop.
 *
 * SIM_E_UNFIT is a kind of wrong configuration: what is asked for is clear, but the hardware named beside it is too
 * small for it, or the LLM cannot be divided that way. A study takes it as an answer, not as a failure. */
#ifndef ORRERY_CORE_ERR_H
#define ORRERY_CORE_ERR_H

#include <stdarg.h>
#include <stddef.h>

/* X(name, value, exit status of the command line, text) */
#define SIM_ERRORS(X)                                                                                                  \
    X(SIM_OK, 0, 0, "ok")                                                                                              \
    X(SIM_E_GATE, -1, 1, "gate not met")                                                                               \
    X(SIM_E_USAGE, -2, 2, "wrong usage")                                                                               \
    X(SIM_E_CONFIG, -3, 2, "wrong configuration")                                                                      \
    X(SIM_E_DATA, -4, 3, "wrong input data")                                                                           \
    X(SIM_E_IO, -5, 3, "file cannot be read or written")                                                               \
    X(SIM_E_STORE, -6, 3, "results cannot be stored")                                                                  \
    X(SIM_E_POLICY, -7, 4, "policy fault")                                                                             \
    X(SIM_E_STALLED, -8, 5, "no progress")                                                                             \
    X(SIM_E_NOMEM, -9, 70, "out of memory")                                                                            \
    X(SIM_E_INTERRUPTED, -10, 130, "interrupted")                                                                      \
    X(SIM_E_CRASH, -11, 70, "crashed")                                                                                 \
    X(SIM_E_UNFIT, -12, 2, "does not fit")

enum sim_err {
#define SIM_ERR_ENUM(name, value, status, text) name = value,
    SIM_ERRORS(SIM_ERR_ENUM)
#undef SIM_ERR_ENUM
};

enum diag_level { DIAG_ERROR, DIAG_WARNING };

enum { DIAG_MAX_ITEMS = 20, DIAG_WHERE_CHARS = 256, DIAG_TEXT_CHARS = 328 };
enum { DIAG_LINE_CHARS = 4 * (DIAG_WHERE_CHARS + 2 * DIAG_TEXT_CHARS) + 32 };

struct diag_item {
    enum diag_level level;
    int code;                      /* enum sim_err; SIM_OK for warnings */
    char where[DIAG_WHERE_CHARS];  /* "file:line:col", "--set a.b", a path, or empty */
    char text[DIAG_TEXT_CHARS];    /* what failed; what was expected */
    char hint[DIAG_TEXT_CHARS];    /* what to do about it, or empty */
};

/* Findings in the order they were made. The first DIAG_MAX_ITEMS are kept whole; later ones are only counted. */
struct diag {
    int n_items;
    int n_errors, n_warnings; /* counted past DIAG_MAX_ITEMS too */
    int code;                 /* code of the first error, SIM_OK when there is none */
    const char *place;        /* of warnings that are given none, such as those of policies; NULL: empty */
    struct diag_item items[DIAG_MAX_ITEMS];
};

void diag_init(struct diag *diag);

/* Adds an error and returns `code`, so that a caller can `return diag_error(...)`. `where` and `hint` may be NULL.
 * `diag` may be NULL: then only the code is returned. Texts that do not fit are cut, and end in "...". */
int diag_error(struct diag *diag, int code, const char *where, const char *hint, const char *format, ...)
    __attribute__((cold, format(printf, 5, 6)));

/* Adds SIM_E_NOMEM, "out of memory", and returns it; `where` may be NULL. `diag` may be NULL, as above. */
int diag_nomem(struct diag *diag) __attribute__((cold));
int diag_nomem_at(struct diag *diag, const char *where) __attribute__((cold));

/* Adds SIM_E_IO with what the system says about errno value `error`: "PATH: error: cannot open: No such file or
 * directory". Returns SIM_E_IO. */
int diag_system_error(struct diag *diag, const char *path, const char *what, int error) __attribute__((cold));

/* Adds a warning, unless one of the same place and text is kept. Beyond DIAG_MAX_ITEMS all are counted. */
void diag_warning(struct diag *diag, const char *where, const char *hint, const char *format, ...)
    __attribute__((cold, format(printf, 4, 5)));

/* Gives a hint to the findings from number `first` on that have none. `diag` may be NULL. */
void diag_add_hint(struct diag *diag, int first, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes "name:line:column" to `buffer` and returns it. A name that does not fit loses its front:
 * "...d-of-the-path.csv:12:7". */
const char *diag_place(char *buffer, size_t buffer_bytes, const char *name, long long line, long long column);

/* Writes "where: error: text; hint" to `buffer` (always terminated), with control characters and bytes that are no
 * UTF-8 as \xNN. Returns the length it needed, like snprintf; DIAG_LINE_CHARS are always enough. */
int diag_format(const struct diag_item *item, char *buffer, size_t buffer_bytes);

/* The same without "error: ", to be quoted in the text of another finding: "where: text; hint". */
int diag_quote(const struct diag_item *item, char *buffer, size_t buffer_bytes);

/* "SIM_E_DATA" and "wrong input data" for a code of the list above; "unknown" texts for any other. */
const char *sim_err_name(int code);
const char *sim_err_text(int code);

/* Exit status of the command line for a code: 0 ok, 1 gate, 2 usage or config, 3 input data, 4 policy, 5 watchdog,
 * 70 our own fault, 130 interrupted. */
int sim_err_exit_status(int code);

#endif
