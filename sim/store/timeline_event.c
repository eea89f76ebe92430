#include "sim/store/timeline_event.h"

#include <inttypes.h>
#include <math.h>

int64_t timeline_ns(double time_s)
{
    return llrint(time_s * 1e9);
}

/* Nanoseconds as microseconds, with as many decimals as it takes. */
static void add_us(struct text *text, int64_t ns)
{
    int64_t rest = ns % 1000;
    if (rest == 0)
        text_printf(text, "%" PRId64, ns / 1000);
    else
        text_printf(text, "%" PRId64 ".%03" PRId64, ns / 1000, rest);
}

void timeline_begin(struct text *text, char kind, int64_t pid, int64_t tid, int64_t at_ns)
{
    text_printf(text, ",\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", kind, pid, tid);
    add_us(text, at_ns);
}

void timeline_duration(struct text *text, struct span span)
{
    text_add(text, ",\"dur\":");
    add_us(text, span.to_ns - span.from_ns);
}

static void add_metadata(struct text *text, const char *what, int64_t pid, int64_t tid)
{
    text_printf(text, ",\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":\"%s\",\"args\":{", pid, tid,
                what);
}

void timeline_name(struct text *text, int64_t pid, int64_t tid, const char *name)
{
    add_metadata(text, tid == 0 ? "process_name" : "thread_name", pid, tid);
    text_add(text, "\"name\":");
    text_json_string(text, name);
    text_add(text, "}}");
    if (tid > 0) return;
    add_metadata(text, "process_sort_index", pid, tid);
    text_printf(text, "\"sort_index\":%" PRId64 "}}", pid);
}
