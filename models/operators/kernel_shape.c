#include "models/operators/kernel_shape.h"

#define AT(shape_name, member) offsetof(struct kernel_call, shape.shape_name.member)
#define RUNNING(shape_name, member) {#member, MEMBER_NUMBER, MEMBER_RUNNING, AT(shape_name, member), 1.0, true}
#define NEEDED(shape_name, member) {#member, MEMBER_NUMBER, MEMBER_FIXED, AT(shape_name, member), 1.0, true}
#define MAYBE(shape_name, member, min) {#member, MEMBER_NUMBER, MEMBER_FIXED, AT(shape_name, member), min, false}
#define FOLLOWS(shape_name, member) {#member, MEMBER_NUMBER, MEMBER_FOLLOWING, AT(shape_name, member), 1.0, false}
#define FORMAT_OF(shape_name, member) {#member, MEMBER_FORMAT, MEMBER_FIXED, AT(shape_name, member), 0.0, false}
#define FLAG_OF(shape_name, member) {#member, MEMBER_FLAG, MEMBER_FIXED, AT(shape_name, member), 0.0, false}
#define END {NULL, MEMBER_NUMBER, MEMBER_FIXED, 0, 0.0, false}

static const struct kernel_member gemm_members[] = {RUNNING(gemm, m),         NEEDED(gemm, n),          NEEDED(gemm, k),
                                                    FORMAT_OF(gemm, weights), FORMAT_OF(gemm, compute), END};

static const struct kernel_member prefill_members[] = {
    NEEDED(prefill, sequences),
    RUNNING(prefill, tokens),
    {"past", MEMBER_NUMBER, MEMBER_RUNNING, AT(prefill, past), 0.0, false},
    FOLLOWS(prefill, pairs),
    MAYBE(prefill, decodes, 0.0),
    MAYBE(prefill, decode_context, 0.0),
    FOLLOWS(prefill, decode_longest),
    NEEDED(prefill, q_heads),
    NEEDED(prefill, kv_heads),
    MAYBE(prefill, key_dim, 1.0),
    MAYBE(prefill, value_dim, 1.0),
    MAYBE(prefill, window, 0.0),
    FORMAT_OF(prefill, kv),
    FORMAT_OF(prefill, compute),
    FLAG_OF(prefill, shared_kv),
    FLAG_OF(prefill, full),
    FLAG_OF(prefill, writes_kv),
    END};

static const struct kernel_member decode_members[] = {
    RUNNING(decode, sequences),   RUNNING(decode, context), FOLLOWS(decode, longest),      NEEDED(decode, q_heads),     NEEDED(decode, kv_heads),
    MAYBE(decode, key_dim, 1.0),  MAYBE(decode, value_dim, 1.0), MAYBE(decode, window, 0.0),  FORMAT_OF(decode, kv),
    FORMAT_OF(decode, compute),   FLAG_OF(decode, shared_kv),    FLAG_OF(decode, writes_kv),  END};

static const struct kernel_member elementwise_members[] = {RUNNING(elementwise, tokens), NEEDED(elementwise, width),
                                                           MAYBE(elementwise, number_bytes, 0.5), END};

static const struct kernel_member moe_members[] = {
    RUNNING(moe, tokens),      NEEDED(moe, hidden),      NEEDED(moe, inner),        NEEDED(moe, chosen),
    NEEDED(moe, experts),      MAYBE(moe, held, 1.0),    MAYBE(moe, matrices, 1.0), MAYBE(moe, skew, 0.0),
    FLAG_OF(moe, in_turn),     FLAG_OF(moe, dispatched), FORMAT_OF(moe, weights),   FORMAT_OF(moe, compute), END};

static const struct kernel_member collective_members[] = {
    RUNNING(collective, bytes),
    NEEDED(collective, gpus),
    MAYBE(collective, nodes, 1.0),
    FOLLOWS(collective, link_bytes_per_s),
    FOLLOWS(collective, network_bytes_per_s),
    FLAG_OF(collective, switch_adds),
    END};

#define GEMM_MEMBERS gemm_members
#define GEMM_FP8_MEMBERS gemm_members
#define PREFILL_MEMBERS prefill_members
#define DECODE_MEMBERS decode_members
#define ELEMENTWISE_MEMBERS elementwise_members
#define MOE_MEMBERS moe_members
#define COLLECTIVE_MEMBERS collective_members

static const struct kernel_member *const members_of[] = {
#define CLASS_MEMBERS(id, name, kind) kind##_MEMBERS,
    KERNEL_CLASSES(CLASS_MEMBERS)
#undef CLASS_MEMBERS
};

const struct kernel_member *kernel_members(enum kernel_class class)
{
    return members_of[class];
}

double kernel_member_value(const struct kernel_call *call, const struct kernel_member *member)
{
    const char *at = (const char *)call + member->offset;
    switch (member->kind) {
    case MEMBER_NUMBER: return *(const double *)(const void *)at;
    case MEMBER_FORMAT: return (double)*(const enum number_format *)(const void *)at;
    case MEMBER_FLAG: break;
    }
    return *(const bool *)at ? 1.0 : 0.0;
}

void kernel_call_place(const struct kernel_call *call, struct kernel_place *place)
{
    size_t n_fixed = 0, n_running = 0;
    *place = (struct kernel_place){.running = {0.0}};
    for (const struct kernel_member *member = members_of[call->class]; member->name; member++) {
        double value = kernel_member_value(call, member);
        if (member->kind == MEMBER_FORMAT && value == FORMAT_BF16) value = FORMAT_FP16;
        if (member->role == MEMBER_FIXED) place->fixed[n_fixed++] = value;
        if (member->role == MEMBER_RUNNING) place->running[n_running++] = value;
    }
}
