/* The members of a kernel call's shape by name: how files spell a call, and what tells one shape from another.
 *
 * A measured kernel is known along one or two running members (rows of a product; sequences and context), at fixed
 * values of others (columns and inner dimension; heads; formats). The rest follows from these, or from the GPU and its
 * site. */
#ifndef ORRERY_MODELS_OPERATORS_KERNEL_SHAPE_H
#define ORRERY_MODELS_OPERATORS_KERNEL_SHAPE_H

#include "models/kernel.h"

enum kernel_member_kind { MEMBER_NUMBER, MEMBER_FORMAT, MEMBER_FLAG }; /* double, enum number_format, bool */
enum kernel_member_role { MEMBER_RUNNING, MEMBER_FIXED, MEMBER_FOLLOWING };

enum { KERNEL_MAX_RUNNING = 2, KERNEL_MAX_FIXED = 13, KERNEL_MAX_COLUMNS = 4 };

struct kernel_member {
    const char *name; /* as in its struct */
    enum kernel_member_kind kind;
    enum kernel_member_role role;
    size_t offset;    /* in struct kernel_call */
    double min;       /* least value of a number */
    bool required;    /* has no default in a profile */
};

/* The members of a class's shape, up to one without a name: at most KERNEL_MAX_RUNNING that run, KERNEL_MAX_FIXED that
 * are fixed, and KERNEL_MAX_COLUMNS that are not fixed. */
const struct kernel_member *kernel_members(enum kernel_class class);

/* The value of a member, whatever its kind. */
double kernel_member_value(const struct kernel_call *call, const struct kernel_member *member);

/* A call's place among measured ones; without a second running member that one is 0. What is measured in bf16 holds for
 * fp16, which is as fast, and the other way round. */
struct kernel_place {
    double fixed[KERNEL_MAX_FIXED], running[KERNEL_MAX_RUNNING];
};

void kernel_call_place(const struct kernel_call *call, struct kernel_place *place);

#endif
