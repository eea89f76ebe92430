/* No speculation: every decoding sequence gets one token per iteration. */
#include "policies/declared.h"
#include "sim/world/policy/speculation.h"

const struct speculator speculation_none = {
    .policy = {POLICY_HEAD(speculator, POLICY_SPECULATION),
               .name = "none",
               .summary = "no drafts: one token per sequence and iteration",
               .source = "baseline"},
    .draft = SPECULATION_DRAFT_NONE,
};
