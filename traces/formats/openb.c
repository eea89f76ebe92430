/* Alibaba 2023 pods (cluster-trace-gpu-v2023, "openb"):
 * name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase, creation_time,deletion_time,scheduled_time; times
 * in seconds from the start of the trace. Sorted here by (creation, row).
 *
 * A pod of one GPU may ask for a share of it (gpu_milli). The run time is deletion minus scheduling; of pods that were
 * never scheduled (phase Pending) it is deletion minus creation, which is counted. Pods without GPUs are kept unless
 * "cpu_jobs" is false. The group is the quality of service, the user is empty, the id is the row. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

enum { CREATION, DELETION, SCHEDULED, NUM_GPU, GPU_MILLI, QOS, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {{.name = "creation_time"},  {.name = "deletion_time"},
                                                     {.name = "scheduled_time"}, {.name = "num_gpu"},
                                                     {.name = "gpu_milli"},      {.name = "qos", .optional = true}};

static bool read_run_time(struct reader *reader, struct job_record *job)
{
    sim_ns start_ns = job->submit_ns, end_ns;
    bool scheduled = reader_has(reader, SCHEDULED);
    if (scheduled && !reader_time(reader, SCHEDULED, TIME_S, &start_ns)) return false;
    if (!reader_time(reader, DELETION, TIME_S, &end_ns)) return false;
    if (end_ns < start_ns) {
        reader_bad(reader, DELETION, NULL, "'deletion_time' is before '%s'",
                   reader->columns[scheduled ? SCHEDULED : CREATION].name);
        return false;
    }
    if (!scheduled) reader_note(reader, "never-scheduled", "pods never scheduled run as long as they existed");
    job->duration_ns = end_ns - start_ns;
    return true;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, CREATION, TIME_S, &job->submit_ns) ||
        !reader_i32(reader, NUM_GPU, 0, INT32_MAX, &job->gpus) ||
        !reader_i32(reader, GPU_MILLI, 0, 1000, &job->gpu_milli) || !read_run_time(reader, job) ||
        (job->group = reader_intern(reader, QOS)) == NULL) {
        return ROW_BAD;
    }
    return file_trace_job(reader, job);
}

static const struct row_format rows = {.columns = columns, .n_columns = N_COLUMNS, .row = read_row};

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return file_trace_jobs(&rows, params, options, source, diag);
}

const struct trace_format trace_openb = {.name = "openb",
                                         .summary = "Alibaba 2023 pods that share GPUs",
                                         .source = "Weng et al., USENIX ATC 2023; alibaba/clusterdata",
                                         .params = file_trace_unsorted_job_params,
                                         .params_bytes = sizeof(struct job_file),
                                         .open_jobs = open_jobs};
