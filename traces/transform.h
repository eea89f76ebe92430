/* Transforms that any trace accepts, and the parameters of trace files.
 *
 * Applied in this order, each to the output of the one before. Times start at 0 with the trace:
 *     jitter       spreads arrivals of one time stamp at random over this time, up to the next stamp, in order
 *                  (Mooncake's clock ticks every 3 s: "jitter": "3s")
 *     window       [from, to): only these arrivals; from becomes 0
 *     replicate    makes another trace of this one for each seed (replicate.h)
 *     upscale      requests only: more of them at the same clock (upscale.h)
 *     rate_scale   factor on the arrival rate: divides arrival times
 *     thin         keeps this share of the records, chosen by their ids: the same seed keeps the same ones, and a
 *                  larger share keeps all those of a smaller one
 *     extra_output_tokens
 *                  added to every output (1 where a trace counts the tokens after the first)
 *     max_prompt_tokens, max_output_tokens, max_total_tokens
 *                  clip lengths. The total is met by shortening the prompt, as Vidur does when it
 *                  replays a trace (at least one prompt token stays; then the output gives way)
 *     limit        keeps the first `limit` records
 *     offline      submits all requests at the start, in an order (offline.h) */
#ifndef ORRERY_TRACES_TRANSFORM_H
#define ORRERY_TRACES_TRANSFORM_H

#include "sim/core/config/config.h"
#include "traces/offline.h"
#include "traces/replicate.h"
#include "traces/stream.h"
#include "traces/upscale.h"

#include <stdint.h>

/* The first member of the parameters of every format and generator. */
struct trace_transform {
    struct config_list window; /* of two sim_ns, or empty */
    double rate_scale, thin_frac;
    sim_ns jitter_ns;
    struct replicate_config replicate;
    int64_t limit;                                                  /* 0: all */
    int64_t extra_output_tokens;                                    /* requests only, like what follows */
    int64_t max_prompt_tokens, max_output_tokens, max_total_tokens; /* 0: no limit */
    int offline;                                                    /* enum offline_order */
    struct upscale_config upscale;
};

/* The first member of the parameters of every format that reads a file. */
struct trace_file {
    struct trace_transform transform;
    const char *path;
    int64_t allow_bad_rows;
    bool sort;
};

extern const struct config_field trace_window_item[];

/* One line of a parameter table. */
#define TRACE_PARAM(type, member, key, kind_, value_, min_, max_, help_)                                               \
    {                                                                                                                  \
        .name = key, .kind = kind_, .offset = offsetof(type, member), .value = value_, .min = min_, .max = max_,       \
        .help = help_                                                                                                  \
    }
#define TRACE_TRANSFORM_PARAM(...) TRACE_PARAM(struct trace_transform, __VA_ARGS__)

/* The transforms of every trace; those of requests; and the parameters of every file. `sort_default` is "true" for
 * formats whose public files are not sorted. */
#define TRACE_TIME_PARAMS                                                                                              \
    {.name = "window",                                                                                                 \
     .kind = CONFIG_LIST,                                                                                              \
     .flags = CONFIG_OPTIONAL | CONFIG_STRETCH,                                                                        \
     .offset = offsetof(struct trace_transform, window),                                                               \
     .fields = trace_window_item,                                                                                      \
     .elem_bytes = sizeof(sim_ns),                                                                                     \
     .min = 2,                                                                                                         \
     .max = 2,                                                                                                         \
     .help = "only arrivals in [from, to), also written \"2h:3h\"; from becomes time 0"},                              \
        TRACE_TRANSFORM_PARAM(rate_scale, "rate_scale", CONFIG_REAL, "1", 1e-6, 1e6,                                   \
                              "factor on the arrival rate; divides arrival times"),                                                \
        TRACE_TRANSFORM_PARAM(thin_frac, "thin", CONFIG_REAL, "1", 1e-9, 1,                                            \
                              "share of the records kept, chosen by a hash of their ids"),                             \
        TRACE_TRANSFORM_PARAM(jitter_ns, "jitter", CONFIG_TIME, "0s", 0, 1e9,                                          \
                              "spread the arrivals of one time stamp over this time, in order"),                       \
        {.name = "replicate",                                                                                          \
         .kind = CONFIG_SECTION,                                                                                       \
         .flags = CONFIG_OPTIONAL,                                                                                     \
         .offset = offsetof(struct trace_transform, replicate),                                                        \
         .fields = replicate_config_fields,                                                                            \
         .help = "another trace for each seed, so that replays have intervals"},                                       \
        TRACE_TRANSFORM_PARAM(limit, "limit", CONFIG_INT, "0", 0, 1e15, "keep only the first records; 0: all")

#define TRACE_LENGTH_PARAMS                                                                                            \
    TRACE_TRANSFORM_PARAM(extra_output_tokens, "extra_output_tokens", CONFIG_INT, "0", 0, INT32_MAX / 2,               \
                          "added to every output: 1 where a trace counts the tokens after the first"),                 \
        TRACE_TRANSFORM_PARAM(max_prompt_tokens, "max_prompt_tokens", CONFIG_INT, "0", 0, INT32_MAX,                   \
                              "longer prompts are clipped; 0: no limit"),                                              \
        TRACE_TRANSFORM_PARAM(max_output_tokens, "max_output_tokens", CONFIG_INT, "0", 0, INT32_MAX,                   \
                              "longer outputs are clipped; 0: no limit"),                                              \
        TRACE_TRANSFORM_PARAM(max_total_tokens, "max_total_tokens", CONFIG_INT, "0", 0, INT32_MAX,                     \
                              "prompt plus output; the prompt is clipped to fit; 0: no limit"),                        \
    {.name = "upscale",                                                                                                \
     .kind = CONFIG_SECTION,                                                                                           \
     .flags = CONFIG_OPTIONAL,                                                                                         \
     .offset = offsetof(struct trace_transform, upscale),                                                              \
     .fields = upscale_config_fields,                                                                                  \
     .help = "more requests at the same clock: shifted copies of the trace are laid over it"},                         \
    {.name = "offline",                                                                                                \
     .kind = CONFIG_CHOICE,                                                                                            \
     .offset = offsetof(struct trace_transform, offline),                                                              \
     .value = "no",                                                                                                    \
     .choices = offline_orders,                                                                                        \
     .help = "all requests are submitted at the start, in this order"}

#define TRACE_FILE_PARAMS(sort_default)                                                                                \
    {.name = "path",                                                                                                   \
     .kind = CONFIG_PATH,                                                                                              \
     .flags = CONFIG_REQUIRED,                                                                                         \
     .offset = offsetof(struct trace_file, path),                                                                      \
     .help = "the file, plain or gzip-compressed"},                                                                    \
        TRACE_PARAM(struct trace_file, allow_bad_rows, "allow_bad_rows", CONFIG_INT, "0", 0, 1e15,                     \
                    "most unreadable rows left out with a warning; more are an error"),                 \
        TRACE_PARAM(struct trace_file, sort, "sort", CONFIG_BOOL, sort_default, 0, 0,                                  \
                    "sort by time in memory; otherwise time that runs backwards is an error")

/* Opens the stages behind a reader or generator. Takes ownership of `inner`, also on failure. Returns 0, SIM_E_CONFIG
 * (the window is not [from, to)) or SIM_E_NOMEM. */
int transform_open(const struct trace_transform *transform, const struct source_options *options, bool requests,
                   struct stream *inner, struct stream **stream, struct diag *diag);

#endif
