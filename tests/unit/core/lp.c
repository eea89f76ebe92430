/* Small linear programs with known optima, without, and with several. */
#include "policies/lp.h"

#include <glpk.h>

#include "tests/support/harness.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double none = (double)INFINITY;

/* Minimise -3x - 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: x 2, y 6 (Hillier and Lieberman's Wyndor example). */
TEST(known_optimum)
{
    static const double cost[] = {-3, -5}, matrix[] = {1, 0, 0, 2, 3, 2}, bound[] = {4, 12, 18};
    const double lower[] = {0, 0}, upper[] = {none, none}, low[] = {-none, -none, -none};
    const struct lp lp = {.columns = 2, .rows = 3, .cost = cost, .lower = lower, .upper = upper, .matrix = matrix,
                          .row_lower = low, .row_upper = bound};
    double x[2];
    MUST(lp_solve(&lp, x) == LP_OPTIMAL);
    CHECK_NEAR(x[0], 2, 1e-6);
    CHECK_NEAR(x[1], 6, 1e-6);
}

/* x + y = 1 at equal cost: any split is an optimum, and the first column is taken. */
TEST(ties_go_to_the_first)
{
    static const double cost[] = {1, 1, 1}, matrix[] = {1, 1, 1}, one[] = {1}, lower[] = {0, 0, 0}, upper[] = {1, 1, 1};
    const struct lp lp = {.columns = 3, .rows = 1, .cost = cost, .lower = lower, .upper = upper, .matrix = matrix,
                          .row_lower = one, .row_upper = one};
    double x[3];
    MUST(lp_solve(&lp, x) == LP_OPTIMAL);
    CHECK_NEAR(x[0], 1, 1e-6);
    CHECK_NEAR(x[1] + x[2], 0, 1e-6);
}

TEST(without_optimum)
{
    static const double down[] = {-1}, coefficient[] = {1}, lower[] = {0}, two[] = {2};
    const double upper[] = {none}, no[] = {-none}, limit[] = {none}, one[] = {1};
    double x[1];
    const struct lp unbounded = {.columns = 1, .rows = 1, .cost = down, .lower = lower, .upper = upper,
                                 .matrix = coefficient, .row_lower = no, .row_upper = limit};
    CHECK_EQ_INT(lp_solve(&unbounded, x), LP_UNBOUNDED);
    struct lp infeasible = unbounded;
    infeasible.upper = one;
    infeasible.row_lower = two;
    CHECK_EQ_INT(lp_solve(&infeasible, x), LP_INFEASIBLE);
}

TEST(too_many_rows)
{
    const struct lp lp = {.columns = 1, .rows = 100000};
    double x[1];
    CHECK_EQ_INT(lp_solve(&lp, x), LP_FAILED);
}

/* A coefficient in a row that does not exist is no want of memory. */
TEST(refused_programs)
{
    static const double one[] = {1};
    static const int starts[] = {0, 1}, row_of[] = {7};
    const struct lp lp = {.columns = 1, .rows = 1, .cost = one, .lower = one, .upper = one, .starts = starts,
                          .row_of = row_of, .values = one, .row_lower = one, .row_upper = one};
    double x[1];
    unsigned char states[2] = {LP_NEW, LP_NEW};
    CHECK_EQ_INT(lp_solve_from(&lp, states, states + 1, x), LP_FAILED);
}

/* Two equal columns cannot both be in a basis: it is dropped, and the optimum is that of any other start. */
TEST(a_singular_basis_is_dropped)
{
    static const double cost[] = {1, 2}, matrix[] = {1, 1, 1, 1}, lower[] = {0, 0}, upper[] = {5, 5};
    static const double row_lower[] = {1, 1}, row_upper[] = {4, 3};
    const struct lp lp = {.columns = 2, .rows = 2, .cost = cost, .lower = lower, .upper = upper, .matrix = matrix,
                          .row_lower = row_lower, .row_upper = row_upper};
    unsigned char columns[] = {LP_BASIC, LP_BASIC}, rows[] = {LP_AT_UPPER, LP_AT_UPPER};
    double x[2];
    MUST(lp_solve_from(&lp, columns, rows, x) == LP_OPTIMAL);
    CHECK_NEAR(x[0], 1, 1e-9);
    CHECK_NEAR(x[1], 0, 1e-9);
}

/* Takes all memory that the system gives to a process that may not grow. */
static void take_all_memory(void)
{
    setrlimit(RLIMIT_AS, &(struct rlimit){0, 0});
    for (size_t bytes = 1 << 24; bytes >= 16; bytes /= 2)
        for (void *volatile block = malloc(bytes); block != NULL; block = malloc(bytes)) continue;
}

/* Without memory for its environment, GLPK itself would abort. */
TEST_OPTIMISED(without_memory_from_the_start)
{
#ifdef __SANITIZE_ADDRESS__
    test_skip("AddressSanitizer cannot do without memory");
    return;
#endif
    static const double one[] = {1};
    const struct lp lp = {.columns = 1, .rows = 1, .cost = one, .lower = one, .upper = one, .matrix = one,
                          .row_lower = one, .row_upper = one};
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        double x[1];
        take_all_memory();
        _exit(lp_solve(&lp, x) == LP_NO_MEMORY ? 0 : 1);
    }
    MUST(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* GLPK runs out of what it may allocate at one place after another: the solver says so, leaves nothing behind (under
 * ASan), and solves the next one. */
TEST(without_memory)
{
    enum { COLUMNS = 3000, ROWS = 250 };
    static double matrix[ROWS * COLUMNS], ones[COLUMNS], zeros[COLUMNS], x[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) matrix[i] = 1 + i % 7;
    for (int i = 0; i < COLUMNS; i++) ones[i] = 1;
    for (int columns = COLUMNS; columns > 200; columns /= 2) {
        const struct lp lp = {.columns = columns, .rows = ROWS, .cost = ones, .lower = zeros, .upper = ones,
                              .matrix = matrix, .row_lower = zeros, .row_upper = ones};
        glp_mem_limit(1);
        CHECK_EQ_INT(lp_solve(&lp, x), LP_NO_MEMORY);
    }
    known_optimum();
}
