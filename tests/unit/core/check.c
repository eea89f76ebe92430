/* A violated requirement ends the process, in the way of the build. */
#include "sim/core/check.h"
#include "tests/support/harness.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The wait status of a child that requires `holds`, and then ends with 0. */
static int require_in_child(bool holds)
{
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        fclose(stderr);
        SIM_REQUIRE(holds);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

TEST(a_violated_requirement_ends_the_process)
{
    int status = require_in_child(true);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    status = require_in_child(false);
#ifdef ORRERY_DEBUG
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
#else
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 70);
#endif
}
