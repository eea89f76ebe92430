#include "sim/study/map.h"

#include "sim/study/crash.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that parent and children share: the next item, the number of those that are done, then the results. */
struct common {
    _Alignas(64) atomic_size_t next;
    atomic_size_t n_done;
    _Alignas(64) char results[];
};

static void work_on(const struct map *map, struct common *common)
{
    for (;;) {
        const size_t item = atomic_fetch_add(&common->next, 1);
        if (item >= map->n || (map->interrupt != NULL && *map->interrupt != 0)) return;
        map->act(map->context, item, common->results + item * map->result_bytes);
        atomic_fetch_add(&common->n_done, 1);
    }
}

/* Starts a child; returns its id, or -1. It ends with its parent. */
static pid_t start(const struct map *map, struct common *common)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) work_on(map, common);
    _exit(0);
}

/* Describes how a child died; a child that ended well changes nothing. */
static void wait_for(pid_t child, char *why, size_t why_bytes)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (status != 0) crash_describe("a process", status, why, why_bytes);
}

int map_run(const struct map *map, void *results, struct diag *diag)
{
    enum { MOST_WORKERS = 256 };
    pid_t children[MOST_WORKERS];
    char why[DIAG_TEXT_CHARS] = "a process ended early";
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n_workers = map->workers > 0 ? (size_t)map->workers : cores > 0 ? (size_t)cores : 1, n_started = 0;
    if (n_workers > map->n) n_workers = map->n;
    if (n_workers > MOST_WORKERS) n_workers = MOST_WORKERS;
    const size_t bytes = sizeof(struct common) + map->n * map->result_bytes;
    struct common *common = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (common == MAP_FAILED) return diag_nomem(diag);
    int code = 0;
    while (n_started < n_workers && (children[n_started] = start(map, common)) > 0) n_started++;
    if (n_started == 0 && map->n > 0) code = diag_system_error(diag, "a process", "cannot start", errno);
    for (size_t i = 0; i < n_started; i++) wait_for(children[i], why, sizeof why);
    if (map->interrupt != NULL && *map->interrupt != 0) code = SIM_E_INTERRUPTED;
    if (code == 0 && common->n_done < map->n) code = diag_error(diag, SIM_E_CRASH, NULL, NULL, "%s", why);
    if (code == 0 || code == SIM_E_CRASH) memcpy(results, common->results, map->n * map->result_bytes);
    munmap(common, bytes);
    return code;
}
