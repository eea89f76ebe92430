/* Declarations of all policies, from list.h. A policy's file includes it, so that the compiler compares the
 * definition with the declaration that the table is built from. */
#ifndef ORRERY_POLICIES_DECLARED_H
#define ORRERY_POLICIES_DECLARED_H

#define POLICY(family_struct, symbol) extern const struct family_struct symbol;
#include "policies/list.h"
#undef POLICY

#endif
