/* Rank 0 hands out batches: larger while many runs are left, small at the end so that no rank waits long. Waiting
 * ranks sleep: Open MPI's own waiting would occupy a core. */
#include "sim/study/mpi.h"

#include <mpi.h>
#include <sys/select.h>

enum { MAX_BATCH = 64, NAP_US = 200, LOOK_NAPS = 1000 };

enum tag {
    TAG_TASKS,  /* to a worker: tasks to do */
    TAG_STOP,   /* to a worker: there will be no more work */
    TAG_REPORT, /* from a worker: tasks are done */
    TAG_FINDINGS
};

/* The report of a worker that is ready again. */
struct report {
    int code; /* code that stopped it; its findings follow in the next message */
    int n_done, n_failed;
    double bytes; /* that the runs have added to its file */
};

static void nap(void)
{
    struct timeval time = {.tv_usec = NAP_US};
    select(0, NULL, NULL, NULL, &time);
}

void mpi_stop(void)
{
    MPI_Finalize();
}

bool mpi_agree(int code)
{
    int worst;
    MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return worst == 0;
}

/* --- Rank 0 --- */

struct handing {
    const struct work *work;
    struct sweep_progress progress;
    size_t next;
    int n_ranks, n_busy, n_naps, code;
};

static void send_batch(struct handing *handing, int rank)
{
    const struct work *work = handing->work;
    size_t left = work->n_tasks - handing->next, n = left / (4 * (size_t)handing->n_ranks) + 1;
    bool stops = handing->code != 0 || (work->options->interrupt != NULL && *work->options->interrupt != 0);
    if (left == 0 || stops) return;
    if (n > MAX_BATCH) n = MAX_BATCH;
    if (n > left) n = left;
    MPI_Send(&work->tasks[handing->next], (int)(n * sizeof *work->tasks), MPI_BYTE, rank, TAG_TASKS, MPI_COMM_WORLD);
    handing->next += n;
    handing->n_busy++;
}

/* Waits for a report from any rank. Returns the rank. */
static int take_report(struct handing *handing, struct diag *diag)
{
    struct report report;
    MPI_Status status;
    int is_there = 0;
    for (;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_REPORT, MPI_COMM_WORLD, &is_there, &status);
        if (is_there) break;
        nap();
        if (++handing->n_naps % LOOK_NAPS == 0 && handing->work->options->on_progress != NULL)
            handing->work->options->on_progress(handing->work->options->progress_context, &handing->progress);
    }
    MPI_Recv(&report, (int)sizeof report, MPI_BYTE, status.MPI_SOURCE, TAG_REPORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    handing->n_busy--;
    handing->progress.n_done += (size_t)report.n_done;
    handing->progress.n_failed += (size_t)report.n_failed;
    handing->progress.bytes += report.bytes;
    if (report.code == 0) return status.MPI_SOURCE;
    struct diag findings;
    MPI_Recv(&findings, (int)sizeof findings, MPI_BYTE, status.MPI_SOURCE, TAG_FINDINGS, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (handing->code == 0) {
        handing->code = report.code;
        *diag = findings;
    }
    return status.MPI_SOURCE;
}

static int mpi_run(const struct work *work, struct diag *diag)
{
    struct handing handing = {.work = work, .progress = work->progress};
    MPI_Comm_size(MPI_COMM_WORLD, &handing.n_ranks);
    for (int rank = 1; rank < handing.n_ranks; rank++) send_batch(&handing, rank);
    while (handing.n_busy > 0) send_batch(&handing, take_report(&handing, diag));
    return handing.code == 0 && handing.next < work->n_tasks ? SIM_E_INTERRUPTED : handing.code;
}

static void mpi_release(void)
{
    int n;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int rank = 1; rank < n; rank++) MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_STOP, MPI_COMM_WORLD);
}

/* --- The other ranks --- */

struct serving {
    const struct work *work;
    int rank;
    struct diag findings;
};

static void report_to(const struct serving *serving, const struct report *report)
{
    MPI_Send(report, (int)sizeof *report, MPI_BYTE, 0, TAG_REPORT, MPI_COMM_WORLD);
    if (report->code != 0)
        MPI_Send(&serving->findings, (int)sizeof serving->findings, MPI_BYTE, 0, TAG_FINDINGS, MPI_COMM_WORLD);
}

static void count(void *context, const struct sweep_progress *progress)
{
    struct report *report = context;
    report->n_done = (int)progress->n_done;
    report->n_failed = (int)progress->n_failed;
    report->bytes = progress->bytes;
}

/* A rank runs in a worker process that never calls MPI: if a run kills that process, the rank survives. */
static void do_batch(struct serving *serving, const struct task *tasks, size_t n)
{
    struct report report = {0};
    struct sweep_options options = *serving->work->options;
    struct work work = *serving->work;
    options.workers = 1;
    options.on_progress = count;
    options.progress_context = &report;
    work.options = &options;
    work.n_tasks = n;
    work.tasks = tasks;
    work.first_shard = (size_t)serving->rank;
    work.failures_shard = SHARD_OF_PARENT + (size_t)serving->rank;
    diag_init(&serving->findings);
    report.code = workers_run(&work, &serving->findings);
    report_to(serving, &report);
}

static void wait_for_rank_0(MPI_Status *status)
{
    int is_there = 0;
    for (;;) {
        MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, status);
        if (is_there) return;
        nap();
    }
}

static int mpi_serve(const struct work *work, struct diag *diag)
{
    struct serving serving = {.work = work};
    struct task tasks[MAX_BATCH];
    MPI_Status status;
    (void)diag; /* findings are sent to rank 0 */
    MPI_Comm_rank(MPI_COMM_WORLD, &serving.rank);
    do {
        int n_bytes;
        wait_for_rank_0(&status);
        MPI_Get_count(&status, MPI_BYTE, &n_bytes);
        MPI_Recv(tasks, (int)sizeof tasks, MPI_BYTE, 0, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (status.MPI_TAG == TAG_TASKS) do_batch(&serving, tasks, (size_t)n_bytes / sizeof *tasks);
    } while (status.MPI_TAG != TAG_STOP);
    return 0;
}

struct ranks mpi_start(void)
{
    int rank, n;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    return (struct ranks){.rank = rank, .n = n, .run = mpi_run, .release = mpi_release, .serve = mpi_serve};
}
