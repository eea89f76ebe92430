#include "analysis/calibrate/profile/profile_simple.h"

#include "models/operators/kernel_shape.h"
#include "sim/core/text.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 160, MAX_QUOTE_CHARS = 60 };

int profile_simple_fail(struct profile_reader *reader, int column, const char *hint, const char *what)
{
    char where[DIAG_WHERE_CHARS];
    const struct csv_field field = profile_text(reader, column);
    csv_where(reader->csv, column < 0 ? 0 : (size_t)column, 0, where);
    return diag_error(reader->diag, SIM_E_DATA, where, hint, "%s '%.*s'", what,
                      field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS, field.chars);
}

/* --- Columns --- */

/* Every name that a column may have; "source" and "tflops" are remarks. Members that classes share are there often. */
static size_t list_columns(const char *names[MAX_NAMES])
{
    static const char *const others[] = {"kernel", "operator", "group", "set", "time_us", "time_s", "source", "tflops"};
    size_t n = sizeof others / sizeof *others;
    memcpy(names, others, sizeof others);
    for (int class = 0; class < KERNEL_CLASS_COUNT; class ++) {
        const struct kernel_member *members = kernel_members((enum kernel_class) class);
        if (class > 0 && members == kernel_members((enum kernel_class)(class - 1))) continue;
        for (const struct kernel_member *member = members; member->name != NULL && n < MAX_NAMES; member++)
            names[n++] = member->name;
    }
    return n;
}

static bool is_listed(const char *name, const char *const *names, size_t n)
{
    size_t i = 0;
    while (i < n && strcmp(names[i], name) != 0) i++;
    return i < n;
}

int profile_simple_check_columns(struct profile_reader *reader)
{
    const char *names[MAX_NAMES];
    const size_t n_names = list_columns(names);
    for (size_t i = 0; i < reader->n_columns; i++) {
        const char *name = reader->columns[i];
        char hint[DIAG_TEXT_CHARS] = "'orrery calibrate --help' lists the members of every kernel";
        if (is_listed(name, reader->columns, i)) return profile_simple_fail(reader, (int)i, NULL, "another column");
        if (is_listed(name, names, n_names)) continue;
        const char *nearest = text_nearest(name, names, n_names);
        if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
        return profile_simple_fail(reader, (int)i, hint, "unknown column");
    }
    const int seconds = profile_column(reader, "time_s"), microseconds = profile_column(reader, "time_us");
    if (seconds < 0 || microseconds < 0) return 0;
    return profile_simple_fail(reader, seconds > microseconds ? seconds : microseconds, "leave one of them out",
                               "the time stands in 'time_us' and 'time_s' both:");
}

/* --- Formats --- */

static enum number_format weights_of(enum kernel_class class)
{
    switch (class) {
    case KERNEL_GEMM_FP8:
    case KERNEL_MOE_FP8:
    case KERNEL_MOE_FP8_TENSOR: return FORMAT_FP8;
    case KERNEL_GEMM_INT4:
    case KERNEL_MOE_INT4: return FORMAT_INT4;
    default: return FORMAT_FP16;
    }
}

enum number_format profile_simple_format(enum kernel_class class, const char *member)
{
    const enum number_format weights = weights_of(class);
    return strcmp(member, "weights") == 0 || weights == FORMAT_FP8 ? weights : FORMAT_FP16;
}

/* Whether kernels of a class may have weights of a format: those named after one have that, 16-bit ones no int4. */
static bool takes_weights(enum kernel_class class, enum number_format format)
{
    const enum number_format weights = weights_of(class);
    return weights == FORMAT_FP16 ? format != FORMAT_INT4 : format == weights;
}

/* The same for what products are computed in. */
static bool computes_in(enum kernel_class class, enum number_format format)
{
    if (weights_of(class) == FORMAT_FP8) return format == FORMAT_FP8;
    return format != FORMAT_FP8 && format != FORMAT_INT4;
}

static int check_formats(struct profile_reader *reader, const struct kernel_call *call)
{
    bool has_weights = false;
    for (const struct kernel_member *member = kernel_members(call->class); member->name != NULL; member++) {
        if (member->kind != MEMBER_FORMAT) continue;
        const bool is_weights = strcmp(member->name, "weights") == 0;
        const enum number_format format = (enum number_format)kernel_member_value(call, member);
        has_weights |= is_weights;
        if (!has_weights || (is_weights ? takes_weights(call->class, format) : computes_in(call->class, format)))
            continue;
        char what[DIAG_TEXT_CHARS];
        snprintf(what, sizeof what, "'%s' has no '%s' in", kernel_class_info(call->class)->name, member->name);
        return profile_simple_fail(reader, profile_column(reader, member->name),
                                   "products in fp8 are gemm_fp8, moe_fp8 or moe_fp8_tensor, weights in int4 gemm_int4 "
                                   "or moe_int4",
                                   what);
    }
    return 0;
}

/* --- Members that contradict each other --- */

static const struct kernel_member *find_member(enum kernel_class class, const char *name)
{
    const struct kernel_member *member = kernel_members(class);
    while (member->name != NULL && strcmp(member->name, name) != 0) member++;
    return member->name != NULL ? member : NULL;
}

static int check_order(struct profile_reader *reader, const struct kernel_call *call)
{
    static const char *const at_most[][2] = {
        {"chosen", "experts"}, {"held", "experts"}, {"kv_heads", "q_heads"}, {"nodes", "gpus"}};
    for (size_t i = 0; i < sizeof at_most / sizeof *at_most; i++) {
        const struct kernel_member *few = find_member(call->class, at_most[i][0]);
        const struct kernel_member *many = find_member(call->class, at_most[i][1]);
        if (few == NULL || many == NULL) continue;
        const double most = kernel_member_value(call, many);
        if (kernel_member_value(call, few) <= most) continue;
        char what[DIAG_TEXT_CHARS];
        snprintf(what, sizeof what, "'%s' must be at most '%s', which is %g; got", few->name, many->name, most);
        return profile_simple_fail(reader, profile_column(reader, few->name), NULL, what);
    }
    return 0;
}

int profile_simple_check_call(struct profile_reader *reader, const struct kernel_call *call)
{
    const struct kernel_member *gpus = find_member(call->class, "gpus");
    if (gpus != NULL && kernel_member_value(call, gpus) < 2.0)
        return profile_simple_fail(reader, profile_column(reader, gpus->name), NULL,
                                   "a collective has 2 GPUs at least, got");
    const int code = check_formats(reader, call);
    return code == 0 ? check_order(reader, call) : code;
}
