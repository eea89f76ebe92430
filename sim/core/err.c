#include "sim/core/err.h"

#include <stdio.h>
#include <string.h>

void diag_init(struct diag *diag)
{
    memset(diag, 0, sizeof *diag);
}

static void copy_text(char *to, size_t to_bytes, const char *from)
{
    snprintf(to, to_bytes, "%s", from != NULL ? from : "");
}

__attribute__((format(printf, 6, 0))) static void diag_add(struct diag *diag, enum diag_level level, int code,
                                                           const char *where, const char *hint, const char *format,
                                                           va_list args)
{
    if (level == DIAG_ERROR) {
        if (diag->n_errors++ == 0) diag->code = code;
    } else {
        diag->n_warnings++;
    }
    if (diag->n_items == DIAG_MAX_ITEMS) return;

    struct diag_item *item = &diag->items[diag->n_items++];
    item->level = level;
    item->code = code;
    copy_text(item->where, sizeof item->where, where);
    copy_text(item->hint, sizeof item->hint, hint);
    vsnprintf(item->text, sizeof item->text, format, args);
}

int diag_error(struct diag *diag, int code, const char *where, const char *hint, const char *format, ...)
{
    if (diag != NULL) {
        va_list args;
        va_start(args, format);
        diag_add(diag, DIAG_ERROR, code, where, hint, format, args);
        va_end(args);
    }
    return code;
}

int diag_system_error(struct diag *diag, const char *path, const char *what, int error)
{
    char reason[128];
    if (strerror_r(error, reason, sizeof reason) != 0) snprintf(reason, sizeof reason, "error %d", error);
    return diag_error(diag, SIM_E_IO, path, NULL, "%s: %s", what, reason);
}

void diag_warning(struct diag *diag, const char *where, const char *hint, const char *format, ...)
{
    if (diag == NULL) return;
    va_list args;
    va_start(args, format);
    diag_add(diag, DIAG_WARNING, SIM_OK, where, hint, format, args);
    va_end(args);
}

int diag_format(const struct diag_item *item, char *buffer, size_t buffer_bytes)
{
    const char *level = item->level == DIAG_ERROR ? "error" : "warning";
    return snprintf(buffer, buffer_bytes, "%s%s%s: %s%s%s", item->where, item->where[0] ? ": " : "", level, item->text,
                    item->hint[0] ? "; " : "", item->hint);
}

const char *sim_err_name(int code)
{
    switch (code) {
#define SIM_ERR_NAME(name, value, status, text)                                                                        \
    case value: return #name;
        SIM_ERRORS(SIM_ERR_NAME)
#undef SIM_ERR_NAME
    default: return "SIM_E_UNKNOWN";
    }
}

const char *sim_err_text(int code)
{
    switch (code) {
#define SIM_ERR_TEXT(name, value, status, text)                                                                        \
    case value: return text;
        SIM_ERRORS(SIM_ERR_TEXT)
#undef SIM_ERR_TEXT
    default: return "unknown error";
    }
}

int sim_err_exit_status(int code)
{
    switch (code) {
#define SIM_ERR_STATUS(name, value, status, text)                                                                      \
    case value: return status;
        SIM_ERRORS(SIM_ERR_STATUS)
#undef SIM_ERR_STATUS
    default: return 70;
    }
}
