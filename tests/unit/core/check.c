/* A violated requirement ends the process, in the way of the build. Sanitizers end it where it errs. */
#include "sim/core/check.h"
#include "tests/support/harness.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The wait status of a silent child that ends with what `act` returns. */
static int act_in_child(int (*act)(int), int with)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        close(STDERR_FILENO);
        _exit(act(with));
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static int require(int holds)
{
    SIM_REQUIRE(holds);
    return 0;
}

TEST(a_violated_requirement_ends_the_process)
{
    int status = act_in_child(require, true);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = act_in_child(require, false);
#ifdef ORRERY_DEBUG
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#else
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 70);
#endif
}

#ifdef __SANITIZE_ADDRESS__
int __lsan_do_recoverable_leak_check(void); /* from the sanitizer's interface */

static int add_one(int n)
{
    volatile int sum = n;
    sum = sum + 1;
    return sum == n;
}

static int lose(int n_bytes)
{
    void *volatile block = n_bytes == 0 ? NULL : malloc((size_t)n_bytes);
    block = NULL;
    return block != NULL || __lsan_do_recoverable_leak_check() != 0 ? 7 : 0;
}

TEST(undefined_behaviour_ends_the_process)
{
    CHECK_EQ_INT(act_in_child(add_one, INT_MAX - 1), 0);
    const int status = act_in_child(add_one, INT_MAX);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1); /* as the sanitizer reports it */
}

TEST(lost_memory_is_found)
{
    CHECK_EQ_INT(act_in_child(lose, 0), 0);
    const int status = act_in_child(lose, 10);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}
#endif
