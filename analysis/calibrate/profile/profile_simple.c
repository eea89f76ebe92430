/* Our own profile format: one row per measured kernel call.
 *
 *     kernel,m,n,k,weights,compute,time_us,group
 *     gemm,16,4096,4096,fp16,fp16,21.5,llama-2-7b
 *
 * `kernel` is a class of models/kernel.h. The other columns are members of its shape by name (models/operators/dense.h
 * and its neighbours), and the time as `time_s` or `time_us`. Columns of other classes stay empty. Optional members
 * have the defaults below. `group` names rows that are held out together, by default those of one shape. `operator`
 * names the operator of a layer, `set` the parameter set of the file, "isolated" by default; `source` and `tflops` are
 * remarks. Any other column is an error. */
#include "analysis/calibrate/profile/profile_format.h"

#include "models/kernel.h"
#include "sim/core/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 160, MAX_QUOTE_CHARS = 60 };

/* Reports "WHAT 'FIELD'" at a field of the current row. Returns SIM_E_DATA. */
static int fail(struct profile_reader *reader, int column, const char *hint, const char *what)
{
    char where[DIAG_WHERE_CHARS];
    const struct csv_field field = sheet_text(&reader->sheet, column);
    sheet_where(&reader->sheet, column, where);
    return diag_error(reader->sheet.diag, SIM_E_DATA, where, hint, "%s '%.*s'", what,
                      field.n_chars < MAX_QUOTE_CHARS ? (int)field.n_chars : MAX_QUOTE_CHARS, field.chars);
}

/* --- Columns --- */

/* All names of columns. Members that several classes have occur more than once. */
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

/* Checks that the header has only known columns, each once, and one of time. Returns 0 or SIM_E_DATA. */
static int check_columns(struct profile_reader *reader)
{
    const char *names[MAX_NAMES];
    const size_t n_names = list_columns(names);
    for (size_t i = 0; i < reader->sheet.n_header; i++) {
        const char *name = reader->sheet.header[i];
        char hint[DIAG_TEXT_CHARS] = "'orrery calibrate --help' lists the members of every kernel";
        if (is_listed(name, reader->sheet.header, i)) return fail(reader, (int)i, NULL, "another column");
        if (is_listed(name, names, n_names)) continue;
        const char *nearest = text_nearest(name, names, n_names);
        if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
        return fail(reader, (int)i, hint, "unknown column");
    }
    const int seconds = sheet_position(&reader->sheet, "time_s"),
              microseconds = sheet_position(&reader->sheet, "time_us");
    if (seconds < 0 || microseconds < 0) return 0;
    return fail(reader, seconds > microseconds ? seconds : microseconds, "leave one of them out",
                "both 'time_us' and 'time_s' are given:");
}

/* --- Formats --- */

static enum number_format weights_of(enum kernel_class class)
{
    switch (class) {
    case KERNEL_GEMM_FP8:
    case KERNEL_MOE_FP8:
    case KERNEL_MOE_FP8_MASKED:
    case KERNEL_MOE_FP8_CONTIGUOUS:
    case KERNEL_MOE_FP8_TENSOR: return FORMAT_FP8;
    case KERNEL_GEMM_FP8_BLOCK: return FORMAT_FP8_BLOCK;
    case KERNEL_GEMM_NVFP4:
    case KERNEL_MOE_NVFP4: return FORMAT_NVFP4;
    case KERNEL_MOE_MXFP4: return FORMAT_MXFP4;
    case KERNEL_GEMM_INT4:
    case KERNEL_MOE_INT4: return FORMAT_INT4;
    default: return FORMAT_FP16;
    }
}

static bool has_four_bits(enum number_format format)
{
    return format == FORMAT_INT4 || format == FORMAT_NVFP4 || format == FORMAT_MXFP4;
}

/* Whether kernels of a class narrow activations to the format of the weights. */
static bool narrows(enum kernel_class class)
{
    const enum number_format weights = weights_of(class);
    return weights == FORMAT_FP8 || weights == FORMAT_FP8_BLOCK || weights == FORMAT_NVFP4;
}

/* The format of a member whose field is empty: that of the class's weights, products in fp16 otherwise. */
static enum number_format default_format(enum kernel_class class, const char *member)
{
    return strcmp(member, "weights") == 0 || narrows(class) ? weights_of(class) : FORMAT_FP16;
}

/* Whether experts of a class have a scale per block of weights. */
static bool is_by_block(enum kernel_class class)
{
    return class == KERNEL_MOE_FP8 || class == KERNEL_MOE_FP8_MASKED || class == KERNEL_MOE_FP8_CONTIGUOUS;
}

/* Whether kernels of a class may have weights of a format: the format in the class's name; any of 4 bits for int4; any
 * wider one where the name has none. */
static bool takes_weights(enum kernel_class class, enum number_format format)
{
    const enum number_format weights = weights_of(class);
    if (weights == FORMAT_FP16) return !has_four_bits(format);
    if (weights == FORMAT_INT4) return has_four_bits(format);
    return format == weights || (is_by_block(class) && format == FORMAT_FP8_BLOCK);
}

/* Whether kernels of a class may compute products in a format. */
static bool computes_in(enum kernel_class class, enum number_format format)
{
    if (narrows(class)) return takes_weights(class, format);
    return format != FORMAT_FP8 && format != FORMAT_FP8_BLOCK && !has_four_bits(format);
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
        return fail(reader, sheet_position(&reader->sheet, member->name),
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
        return fail(reader, sheet_position(&reader->sheet, few->name), NULL, what);
    }
    return 0;
}

/* Checks that a complete call has formats of its class and no members that contradict each other. Returns 0 or
 * SIM_E_DATA. */
static int check_call(struct profile_reader *reader, const struct kernel_call *call)
{
    const struct kernel_member *gpus = find_member(call->class, "gpus");
    if (gpus != NULL && kernel_member_value(call, gpus) < 2.0)
        return fail(reader, sheet_position(&reader->sheet, gpus->name), NULL, "a collective has at least 2 GPUs, got");
    const int code = check_formats(reader, call);
    return code == 0 ? check_order(reader, call) : code;
}

/* --- Defaults --- */

static void set_if_absent(double *value, double fallback)
{
    if (isnan(*value)) *value = fallback;
}

static void complete_prefill(struct kernel_call *call, const struct gpu_spec *gpu)
{
    struct prefill_shape *shape = &call->shape.prefill;
    (void)gpu;
    set_if_absent(&shape->past, 0.0);
    set_if_absent(&shape->pairs, shape->tokens * (shape->tokens + 2.0 * shape->past) / shape->sequences);
    set_if_absent(&shape->key_dim, 128.0);
    set_if_absent(&shape->value_dim, shape->key_dim);
    set_if_absent(&shape->window, 0.0);
    set_if_absent(&shape->decodes, 0.0);
    set_if_absent(&shape->decode_context, 0.0);
    set_if_absent(&shape->decode_longest, 0.0);
}

static void complete_decode(struct kernel_call *call, const struct gpu_spec *gpu)
{
    struct decode_shape *shape = &call->shape.decode;
    (void)gpu;
    set_if_absent(&shape->key_dim, 128.0);
    set_if_absent(&shape->value_dim, shape->key_dim);
    set_if_absent(&shape->window, 0.0);
    set_if_absent(&shape->longest, 0.0);
}

static void complete_elementwise(struct kernel_call *call, const struct gpu_spec *gpu)
{
    (void)gpu;
    set_if_absent(&call->shape.elementwise.number_bytes, 2.0);
}

static void complete_scan(struct kernel_call *call, const struct gpu_spec *gpu)
{
    struct scan_shape *shape = &call->shape.scan;
    double *const members[] = {&shape->keys,       &shape->sequences, &shape->window,
                               &shape->query_flop, &shape->pair_flop, &shape->query_bytes,
                               &shape->pair_bytes, &shape->key_bytes, &shape->sequence_bytes};
    (void)gpu;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) set_if_absent(members[i], 0.0);
}

static void complete_moe(struct kernel_call *call, const struct gpu_spec *gpu)
{
    struct moe_shape *shape = &call->shape.moe;
    (void)gpu;
    set_if_absent(&shape->held, shape->experts);
    set_if_absent(&shape->matrices, 3.0);
    set_if_absent(&shape->skew, 0.0);
}

static void complete_collective(struct kernel_call *call, const struct gpu_spec *gpu)
{
    struct collective_shape *shape = &call->shape.collective;
    set_if_absent(&shape->nodes, 1.0);
    const int64_t on_node = (int64_t)(shape->gpus / shape->nodes);
    set_if_absent(&shape->link_bytes_per_s, gpu_link_bytes_per_s(gpu, on_node));
    set_if_absent(&shape->bridges, (double)gpu_bridges(gpu, on_node));
    shape->host_staged |= gpu_host_staged(gpu, on_node);
    set_if_absent(&shape->network_bytes_per_s, gpu->pcie_bytes_per_s);
}

static void complete_exchange(struct kernel_call *call, const struct gpu_spec *gpu)
{
    const double usual_sms = 20.0; /* DeepEP's own default */
    struct exchange_shape *shape = &call->shape.exchange;
    set_if_absent(&shape->groups, 0.0);
    set_if_absent(&shape->nodes, 1.0);
    set_if_absent(&shape->imbalance, 1.0);
    set_if_absent(&shape->sms, usual_sms);
    set_if_absent(&shape->link_bytes_per_s, gpu_link_bytes_per_s(gpu, (int64_t)(shape->gpus / shape->nodes)));
    set_if_absent(&shape->network_bytes_per_s, gpu->pcie_bytes_per_s);
    shape->combines = call->class == KERNEL_COMBINE || call->class == KERNEL_LOW_COMBINE;
    shape->low_latency = call->class == KERNEL_LOW_DISPATCH || call->class == KERNEL_LOW_COMBINE;
}

/* --- Classes --- */

/* Sets the missing members of a call to their defaults. */
static void complete_call(struct kernel_call *call, const struct gpu_spec *gpu)
{
    typedef void complete_shape(struct kernel_call * call, const struct gpu_spec *gpu);
#define GEMM_COMPLETE NULL
#define GEMM_FP8_COMPLETE NULL
#define GEMM_STEPS_COMPLETE NULL
#define GEMM_BY_ROWS_COMPLETE NULL
#define PREFILL_COMPLETE complete_prefill
#define DECODE_COMPLETE complete_decode
#define ELEMENTWISE_COMPLETE complete_elementwise
#define MOE_COMPLETE complete_moe
#define SENT_MOE_COMPLETE complete_moe
#define COLLECTIVE_COMPLETE complete_collective
#define EXCHANGE_COMPLETE complete_exchange
#define LOW_EXCHANGE_COMPLETE complete_exchange
#define SCAN_COMPLETE complete_scan
#define DECODING_SCAN_COMPLETE complete_scan
#define CLASS_COMPLETE(id, name, kind) kind##_COMPLETE,
    static complete_shape *const completes[] = {KERNEL_CLASSES(CLASS_COMPLETE)};
#undef CLASS_COMPLETE
    if (completes[call->class] != NULL) completes[call->class](call, gpu);
}

static int read_class(struct profile_reader *reader, int column, enum kernel_class *class)
{
    const struct csv_field field = sheet_text(&reader->sheet, column);
    const char *names[KERNEL_CLASS_COUNT];
    for (int i = 0; i < KERNEL_CLASS_COUNT; i++) {
        names[i] = kernel_class_info((enum kernel_class)i)->name;
        if (!sheet_text_is(&reader->sheet, column, names[i])) continue;
        *class = (enum kernel_class)i;
        return 0;
    }
    char word[64], hint[128] = "'orrery calibrate --help' lists the kernels";
    snprintf(word, sizeof word, "%.*s", (int)field.n_chars, field.chars);
    const char *nearest = text_nearest(word, names, KERNEL_CLASS_COUNT);
    if (nearest != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    return fail(reader, column, hint, "unknown kernel");
}

/* Sets the operator that the column names, else the first one that launches kernels of the class. */
static int read_operator(struct profile_reader *reader, int column, enum kernel_class class, enum llm_operator *op)
{
    static const enum llm_operator of_class[KERNEL_CLASS_COUNT] = {
        [KERNEL_GEMM] = OP_QKV, [KERNEL_GEMM_FP8] = OP_QKV, [KERNEL_GEMM_FP8_BLOCK] = OP_QKV,
        [KERNEL_GEMM_NVFP4] = OP_QKV, [KERNEL_GEMM_INT4] = OP_QKV, [KERNEL_MOE_NVFP4] = OP_EXPERTS,
        [KERNEL_MOE_MXFP4] = OP_EXPERTS, [KERNEL_MOE_FP8_MASKED] = OP_EXPERTS,
        [KERNEL_MOE_FP8_CONTIGUOUS] = OP_EXPERTS,
        [KERNEL_PREFILL_ATTENTION] = OP_PREFILL_ATTENTION, [KERNEL_DECODE_ATTENTION] = OP_DECODE_ATTENTION,
        [KERNEL_LATENT_DECODE] = OP_DECODE_ATTENTION, [KERNEL_LATENT_PREFILL] = OP_PREFILL_ATTENTION,
        [KERNEL_SPARSE_PREFILL] = OP_PREFILL_ATTENTION, [KERNEL_SPARSE_DECODE] = OP_DECODE_ATTENTION, [KERNEL_INDEX] = OP_INDEX,
        [KERNEL_LINEAR_PREFILL] = OP_LINEAR_ATTENTION, [KERNEL_LINEAR_DECODE] = OP_LINEAR_ATTENTION,
        [KERNEL_NORM] = OP_NORM, [KERNEL_ROTARY] = OP_ROTARY, [KERNEL_ACTIVATION] = OP_ACTIVATION,
        [KERNEL_RESIDUAL] = OP_RESIDUAL, [KERNEL_EMBEDDING] = OP_EMBEDDING, [KERNEL_KV_WRITE] = OP_KV_WRITE,
        [KERNEL_SAMPLING] = OP_SAMPLING, [KERNEL_MOE] = OP_EXPERTS, [KERNEL_MOE_FP8] = OP_EXPERTS,
        [KERNEL_MOE_FP8_TENSOR] = OP_EXPERTS, [KERNEL_MOE_INT4] = OP_EXPERTS, [KERNEL_ALL_REDUCE] = OP_ALL_REDUCE,
        [KERNEL_DIRECT_ALL_REDUCE] = OP_ALL_REDUCE, [KERNEL_ALL_GATHER] = OP_ALL_GATHER,
        [KERNEL_REDUCE_SCATTER] = OP_REDUCE_SCATTER, [KERNEL_ALL_TO_ALL] = OP_ALL_TO_ALL, [KERNEL_SEND] = OP_SEND,
        [KERNEL_DISPATCH] = OP_DISPATCH, [KERNEL_COMBINE] = OP_COMBINE, [KERNEL_LOW_DISPATCH] = OP_DISPATCH,
        [KERNEL_LOW_COMBINE] = OP_COMBINE};
    *op = of_class[class];
    if (sheet_text(&reader->sheet, column).n_chars == 0) return 0;
    for (int i = 0; i < LLM_OPERATOR_COUNT; i++) {
        if (!sheet_text_is(&reader->sheet, column, llm_operator_name((enum llm_operator)i))) continue;
        *op = (enum llm_operator)i;
        return 0;
    }
    return fail(reader, column, NULL, "unknown operator");
}

/* --- Members --- */

static int read_format(struct profile_reader *reader, int column, enum number_format absent, enum number_format *format)
{
#define FORMAT_NAME(id, name, bytes) name,
    static const char *const names[] = {NUMBER_FORMATS(FORMAT_NAME)};
#undef FORMAT_NAME
    *format = absent;
    if (sheet_text(&reader->sheet, column).n_chars == 0) return 0;
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (!sheet_text_is(&reader->sheet, column, names[i])) continue;
        *format = (enum number_format)i;
        return 0;
    }
    return fail(reader, column, "write fp16, bf16, fp8, fp8_block, int8, nvfp4, mxfp4, int4, tf32 or fp32",
                "unknown number format");
}

static int read_number(struct profile_reader *reader, int column, const struct kernel_member *member, double *value)
{
    const int code = sheet_number(&reader->sheet, column, member->min, value);
    if (code < 0 || !isnan(*value) || !member->required) return code;
    char where[DIAG_WHERE_CHARS];
    sheet_where(&reader->sheet, column, where);
    return diag_error(reader->sheet.diag, SIM_E_DATA, where, NULL, "this kernel needs '%s'", member->name);
}

static int read_member(struct profile_reader *reader, const struct kernel_member *member, struct kernel_call *call)
{
    const int column = sheet_position(&reader->sheet, member->name);
    char *at = (char *)call + member->offset;
    double flag = 0.0;
    int code = 0;
    switch (member->kind) {
    case MEMBER_NUMBER: return read_number(reader, column, member, (double *)(void *)at);
    case MEMBER_FORMAT:
        return read_format(reader, column, default_format(call->class, member->name), (enum number_format *)(void *)at);
    case MEMBER_FLAG:
        code = sheet_number(&reader->sheet, column, 0.0, &flag);
        *(bool *)at = flag > 0.0;
        return code;
    }
    return code;
}

/* The value by which rows are assigned to bands: rows of a product, tokens, or decoding sequences. */
static double band_tokens(const struct kernel_call *call)
{
    static const char *const axes[] = {"m", "tokens", "sequences"};
    double values[KERNEL_MAX_AXES];
    const struct kernel_class_info *info = kernel_class_info(call->class);
    kernel_call_axes(call, values);
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        for (size_t axis = 0; axis < info->n_axes; axis++)
            if (strcmp(info->axes[axis], axes[i]) == 0) return values[axis];
    return 0.0;
}

/* --- Rows --- */

/* Positions in the header; -1: absent. */
struct columns {
    int kernel, time, group, op, set;
    double time_unit_s;
};

static int read_group(struct profile_reader *reader, const struct columns *columns, struct profile_row *row)
{
    const struct csv_field field = sheet_text(&reader->sheet, columns->group);
    if (columns->group >= 0) return profile_group(reader, &row->group, "%.*s", (int)field.n_chars, field.chars);
    const struct kernel_class_info *info = kernel_class_info(row->call.class);
    double axes[KERNEL_MAX_AXES] = {0.0};
    kernel_call_axes(&row->call, axes);
    struct text name;
    text_init(&name);
    text_add(&name, info->name);
    for (size_t i = 0; i < info->n_axes; i++) text_printf(&name, " %s%g", info->axes[i], axes[i]);
    const int code = name.failed ? diag_nomem(reader->sheet.diag)
                                 : profile_group(reader, &row->group, "%s", name.chars);
    text_fini(&name);
    return code;
}

/* Sets the parameter set from the first row; another set in a later row is an error. */
static int read_set(struct profile_reader *reader, int column)
{
    const struct csv_field field = sheet_text(&reader->sheet, column);
    const char *set = reader->profile->set;
    if (field.n_chars == 0 || (set != NULL && sheet_text_is(&reader->sheet, column, set))) {
        reader->profile->set = set != NULL ? set : "isolated";
        return 0;
    }
    if (set != NULL)
        return fail(reader, column, "write a file for each set", "all rows must be of one set, not also of");
    if (!profile_is_set_name(field.chars, field.n_chars))
        return fail(reader, column, NULL, "a set's name may hold only letters, digits, '_', '.' and '-', got");
    reader->profile->set = arena_printf(reader->sheet.arena, "%.*s", (int)field.n_chars, field.chars);
    return reader->profile->set != NULL ? 0 : diag_nomem(reader->sheet.diag);
}

static int read_row(struct profile_reader *reader)
{
    const struct columns *columns = reader->state;
    struct profile_row row = {0};
    double time = 0.0;
    int code = read_set(reader, columns->set);
    if (code == 0) code = read_class(reader, columns->kernel, &row.call.class);
    if (code < 0) return code;
    const struct kernel_member *members = kernel_members(row.call.class);
    for (const struct kernel_member *member = members; code == 0 && member->name != NULL; member++)
        code = read_member(reader, member, &row.call);
    if (code == 0) code = read_operator(reader, columns->op, row.call.class, &row.op);
    if (code == 0) code = sheet_number(&reader->sheet, columns->time, 0.0, &time);
    if (code < 0) return code;
    complete_call(&row.call, reader->options->gpu);
    code = check_call(reader, &row.call);
    if (code < 0) return code;
    row.measured_s = time * columns->time_unit_s;
    row.tokens = band_tokens(&row.call);
    code = read_group(reader, columns, &row);
    return code == 0 ? profile_add(reader, &row) : code;
}

static int find_time(const struct profile_reader *reader, double *unit_s)
{
    const int seconds = sheet_position(&reader->sheet, "time_s");
    *unit_s = seconds >= 0 ? 1.0 : 1e-6;
    return seconds >= 0 ? seconds : sheet_position(&reader->sheet, "time_us");
}

static bool recognise(const struct profile_reader *reader)
{
    double unit_s;
    return sheet_position(&reader->sheet, "kernel") >= 0 && find_time(reader, &unit_s) >= 0;
}

static int begin(struct profile_reader *reader)
{
    const struct sheet *sheet = &reader->sheet;
    struct columns *columns = arena_alloc(sheet->arena, sizeof *columns);
    if (columns == NULL) return diag_nomem(sheet->diag);
    *columns = (struct columns){.kernel = sheet_position(sheet, "kernel"), .group = sheet_position(sheet, "group"),
                                .op = sheet_position(sheet, "operator"), .set = sheet_position(sheet, "set")};
    columns->time = find_time(reader, &columns->time_unit_s);
    reader->profile->grouped_by = columns->group >= 0 ? "group" : "shape";
    reader->state = columns;
    return check_columns(reader);
}

static void finish(struct profile *profile)
{
    if (profile->set == NULL) profile->set = "isolated";
}

const struct profile_format profile_simple = {
    .name = "orrery", .recognise = recognise, .begin = begin, .read_row = read_row, .finish = finish};
