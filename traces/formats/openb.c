/* Alibaba 2023 pods (cluster-trace-gpu-v2023, "openb"):
 * name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase, creation_time,deletion_time,scheduled_time; times
 * in seconds from the start of the trace. Sorted here by (creation, row).
 *
 * A pod of one GPU may ask for a share of it (gpu_milli), and for models of GPUs (gpu_spec, "V100M16|V100M32"). The run
 * time is deletion minus scheduling; of pods that were never scheduled (phase Pending) it is deletion minus creation,
 * which is counted. Lists without times (the resampled ones) have all pods at 0, without end. Pods without GPUs are
 * kept unless "cpu_jobs" is false. The group is the quality of service, the user is empty, the id is the row. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

enum { CREATION, DELETION, SCHEDULED, NUM_GPU, GPU_MILLI, CPU_MILLI, MEMORY_MIB, GPU_SPEC, QOS, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {{.name = "creation_time", .optional = true},
                                                     {.name = "deletion_time", .optional = true},
                                                     {.name = "scheduled_time", .optional = true},
                                                     {.name = "num_gpu"},
                                                     {.name = "gpu_milli"},
                                                     {.name = "cpu_milli", .optional = true},
                                                     {.name = "memory_mib", .optional = true},
                                                     {.name = "gpu_spec", .optional = true},
                                                     {.name = "qos", .optional = true}};

static bool has_column(const struct reader *reader, int column)
{
    return reader->positions[column] >= 0;
}

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

static bool read_times(struct reader *reader, struct job_record *job)
{
    if (has_column(reader, CREATION) || has_column(reader, DELETION))
        return reader_time(reader, CREATION, TIME_S, &job->submit_ns) && read_run_time(reader, job);
    reader_note(reader, "no-times", "pods of a list without times come at the start and stay without end");
    job->duration_ns = READER_MAX_NS;
    return true;
}

static bool read_amount(struct reader *reader, int column, int64_t *amount)
{
    return !has_column(reader, column) || reader_i64(reader, column, 0, INT64_C(1) << 40, amount);
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    int64_t memory_mib = 0;
    if (!reader_i32(reader, NUM_GPU, 0, INT32_MAX, &job->gpus) ||
        !reader_i32(reader, GPU_MILLI, 0, 1000, &job->gpu_milli) || !read_times(reader, job) ||
        !read_amount(reader, CPU_MILLI, &job->cpu_milli) || !read_amount(reader, MEMORY_MIB, &memory_mib) ||
        (job->group = reader_intern(reader, QOS)) == NULL ||
        (job->gpu_models = reader_intern(reader, GPU_SPEC)) == NULL)
        return ROW_BAD;
    job->memory_bytes = memory_mib << 20;
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
