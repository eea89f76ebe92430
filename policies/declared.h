/* Declarations of all policies, from list.h. Every policy's file includes it, so that the compiler checks the
 * definition against the declaration behind the table. */
#ifndef ORRERY_POLICIES_DECLARED_H
#define ORRERY_POLICIES_DECLARED_H

#define POLICY(family_struct, symbol) extern const struct family_struct symbol;
#include "policies/list.h"
#undef POLICY

#endif
