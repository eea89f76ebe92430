/* Checks of our own logic, in three tiers. Bad input is never one of these: it gets a diag (err.h).
 *
 *     SIM_ASSERT(x)   debug builds only: costs too much, or holds by construction
 *     SIM_REQUIRE(x)  always: cheap, and going on would corrupt the results
 *     SIM_BUG(...)    always: this point must not be reached
 *
 * All three report file, line and a text, and end the process at once with status 70 (abort in debug builds, for a
 * debugger). Nothing is cleaned up: a results database keeps the run as one left open, which `--resume` removes. */
#ifndef ORRERY_CORE_CHECK_H
#define ORRERY_CORE_CHECK_H

__attribute__((noreturn, cold, format(printf, 3, 4))) void sim_bug(const char *file, int line, const char *format, ...);

#define SIM_BUG(...) sim_bug(__FILE__, __LINE__, __VA_ARGS__)

#define SIM_REQUIRE(condition)                                                                                         \
    do {                                                                                                               \
        if (__builtin_expect(!(condition), 0)) SIM_BUG("required: %s", #condition);                                    \
    } while (0)

/* Two integers that a numbered law (sim/world/world.h) has equal. */
#define SIM_LAW(law, left, right)                                                                                      \
    do {                                                                                                               \
        const long long law_left = (left), law_right = (right);                                                        \
        if (__builtin_expect(law_left != law_right, 0))                                                                \
            SIM_BUG("%s is violated: %lld != %lld", law, law_left, law_right);                                         \
    } while (0)

#ifdef ORRERY_DEBUG
#define SIM_ASSERT(condition) SIM_REQUIRE(condition)
#else
#define SIM_ASSERT(condition) ((void)(1 || (condition))) /* never evaluated, yet it counts as used */
#endif

#endif
