/* Small linear programs with known optima, without, and with several. */
#include "policies/lp.h"
#include "policies/lp_columns.h"
#include "tests/support/harness.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const double none = (double)INFINITY;

/* Minimise -3x - 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: x 2, y 6 (Hillier and Lieberman's Wyndor example). */
/* A matrix with zeros, empty columns and the last one among them, written by column and read back. */
TEST(programs_written_by_column_are_their_matrix)
{
    enum { ROWS = 4, COLUMNS = 6 };
    struct rng rng = test_rng(1, "columns", 0);
    for (int run = 0; run < 50; run++) {
        double matrix[COLUMNS][ROWS], read[COLUMNS][ROWS] = {{0}};
        struct lp_columns program;
        MUST(lp_columns_init(&program, COLUMNS, ROWS, ROWS * COLUMNS));
        for (int j = 0; j < COLUMNS; j++) {
            for (int i = 0; i < ROWS; i++) {
                matrix[j][i] = rng_below(&rng, 3) == 0 ? 0.5 + rng_uniform(&rng) : 0;
                lp_columns_add(&program, i, matrix[j][i]);
            }
            lp_columns_end(&program, j, -j, 2 * j);
        }
        const struct lp *lp = &program.lp;
        CHECK(lp->starts[0] == 0 && program.n == COLUMNS);
        for (int j = 0; j < COLUMNS; j++) {
            CHECK(lp->cost[j] == j && lp->lower[j] == -j && lp->upper[j] == 2 * j && !lp->integer[j]);
            for (int at = lp->starts[j]; at < lp->starts[j + 1]; at++) {
                CHECK(lp->values[at] != 0 && (at == lp->starts[j] || lp->row_of[at] > lp->row_of[at - 1]));
                read[j][lp->row_of[at]] = lp->values[at];
            }
        }
        CHECK(memcmp(read, matrix, sizeof matrix) == 0);
        lp_columns_fini(&program);
    }
}

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

/* All of x_0 + r x_1 = 1 cost nothing: the least x_0 + 2 x_1 is at x_1 = 1 / r if r > 2, else at x_0 = 1. */
TEST(of_several_optima_the_least_weighted_sum_is_chosen)
{
    static const double ratios[] = {0.5, 1.5, 1.9, 2.1, 3, 8};
    const double cost[] = {0, 0}, lower[] = {0, 0}, upper[] = {10, 10}, one[] = {1};
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        const double matrix[] = {1, ratios[i]};
        const struct lp lp = {.columns = 2, .rows = 1, .cost = cost, .lower = lower, .upper = upper, .matrix = matrix,
                              .row_lower = one, .row_upper = one};
        double x[2];
        MUST(lp_solve(&lp, x) == LP_OPTIMAL);
        CHECK_NEAR(x[0], ratios[i] > 2 ? 0 : 1, 1e-6);
        CHECK_NEAR(x[1], ratios[i] > 2 ? 1 / ratios[i] : 0, 1e-6);
    }
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

/* Takes all memory that the system gives to a process that may not grow, but for a block of `room` bytes. */
static void leave_memory(size_t room)
{
    mallopt(M_MMAP_MAX, 0); /* what is freed can be had again */
    void *volatile left = malloc(room);
    setrlimit(RLIMIT_AS, &(struct rlimit){0, 0});
    for (size_t bytes = 1 << 24; bytes >= 16; bytes /= 2)
        for (void *volatile block = malloc(bytes); block != NULL; block = malloc(bytes)) continue;
    free(left);
}

/* In a process of its own. Returns the outcome, or -1 if it dies. */
static int solve_with(size_t room, const struct lp *lp, double *x)
{
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        leave_memory(room);
        _exit(lp_solve(lp, x));
    }
    const bool has_ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    return has_ended ? WEXITSTATUS(status) : -1;
}

/* GLPK runs out of memory at one place after another, its environment first, for which it would abort. With enough of
 * it the program is solved. */
TEST_OPTIMISED(without_memory)
{
#ifdef __SANITIZE_ADDRESS__
    test_skip("AddressSanitizer cannot do without memory");
    return;
#endif
    enum { COLUMNS = 200, ROWS = 50 };
    static double matrix[ROWS * COLUMNS], ones[COLUMNS], zeros[COLUMNS], x[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) matrix[i] = 1 + i % 7;
    for (int i = 0; i < COLUMNS; i++) ones[i] = 1;
    const struct lp lp = {.columns = COLUMNS, .rows = ROWS, .cost = ones, .lower = zeros, .upper = ones,
                          .matrix = matrix, .row_lower = zeros, .row_upper = ones};
    int n_without = 0;
    size_t room = 16;
    for (; solve_with(room, &lp, x) == LP_NO_MEMORY && room < 1 << 26; room = room * 3 / 2) n_without++;
    CHECK(n_without > 10);
    CHECK_EQ_INT(solve_with(room, &lp, x), LP_OPTIMAL);
}
