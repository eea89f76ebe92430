/* Public logs of jobs: philly, acme, helios, openb, pai and swf. Jobs without GPUs are kept unless "cpu_jobs" is false;
 * jobs that never ran are left out and counted. All but swf are sorted here by (submission, row). */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

#include <math.h>
#include <string.h>

/* Defines the format `id` from its row_format id_rows. The last argument is how its files are recognised. */
#define JOB_LOG(id, summary_, source_, params_, ...)                                                                   \
    static int id##_open(const void *params, const struct source_options *options, struct job_source **source,         \
                         struct diag *diag)                                                                            \
    {                                                                                                                  \
        return file_trace_jobs(&id##_rows, params, options, source, diag);                                             \
    }                                                                                                                  \
    const struct trace_format trace_##id = {.name = #id,                                                               \
                                            .summary = summary_,                                                       \
                                            .source = source_,                                                         \
                                            .params = params_,                                                         \
                                            .params_bytes = sizeof(struct job_file),                                   \
                                            __VA_ARGS__,                                                               \
                                            .open_jobs = id##_open};

/* Reads the run time: from start_ns, the time in column `start`, to the time in column `end`. */
static bool read_run_time(struct reader *reader, int start, sim_ns start_ns, int end, enum time_unit unit,
                          sim_ns *duration_ns)
{
    sim_ns end_ns;
    if (!reader_time(reader, end, unit, &end_ns)) return false;
    *duration_ns = end_ns - start_ns;
    if (*duration_ns >= 0) return true;
    reader_bad(reader, end, NULL, "'%s' is before '%s'", reader->columns[end].name, reader->columns[start].name);
    return false;
}

/* --- philly --- */

/* Microsoft Philly jobs (2017) as derived by the Sia simulator: timestamp,duration,num_gpus,gpu_time,virtual_cluster.
 * Time starts at the earliest submission. Durations are in seconds; a duration of 0 stays 0. Ids are rows. gpu_time,
 * which is duration times GPUs, is not read. */
enum { PHILLY_TIMESTAMP, PHILLY_DURATION, PHILLY_GPUS, PHILLY_CLUSTER, PHILLY_COLUMNS };

static const struct csv_column philly_columns[PHILLY_COLUMNS] = {
    {.name = "timestamp"}, {.name = "duration"}, {.name = "num_gpus"}, {.name = "virtual_cluster", .optional = true}};

static enum row_result philly_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, PHILLY_TIMESTAMP, TIME_CALENDAR, &job->submit_ns) ||
        !reader_duration(reader, PHILLY_DURATION, TIME_S, &job->duration_ns) ||
        !reader_i32(reader, PHILLY_GPUS, 0, INT32_MAX, &job->gpus) ||
        (job->group = reader_intern(reader, PHILLY_CLUSTER)) == NULL)
        return ROW_BAD;
    return file_trace_job(reader, job);
}

static const struct row_format philly_rows = {
    .from_first = true, .columns = philly_columns, .n_columns = PHILLY_COLUMNS, .row = philly_row};

JOB_LOG(philly, "Microsoft Philly training jobs of 2017, one row per job",
        "Jeon et al., USENIX ATC 2019; derived list of Jayaram Subramanya et al., Sia, SOSP 2023",
        file_trace_unsorted_job_params, .header = "timestamp,duration,num_gpus",
        .published = {"https://github.com/siasosp23/artifacts",
                      "sia-simulator/traces/philly.csv", "none stated"})

/* --- acme, helios --- */

/* Two logs of Slurm with calendar times of submission, start and end.
 *
 * Acme (Seren and Kalos, 2023): job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,
 * duration,queue,gpu_time. Four more columns of Kalos are not read. The group is the type of job.
 *
 * Helios (SenseTime, 2020): job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,
 * queue. The group is the virtual cluster. More than half of the jobs have no GPUs.
 *
 * Time starts at the earliest submission. The run time is the duration, else end minus start; jobs with neither never
 * started. Jobs that ran out of time or lost their node have failed, as the study of Acme counts them. */
enum {
    SLURM_SUBMIT,
    SLURM_DURATION,
    SLURM_GPUS,
    SLURM_START,
    SLURM_END,
    SLURM_NODES,
    SLURM_ID,
    SLURM_USER,
    SLURM_GROUP,
    SLURM_TYPE,
    SLURM_STATE,
    SLURM_COLUMNS
};

static const struct status_word slurm_states[] = {
    {"COMPLETED", JOB_COMPLETES}, {"CANCELLED", JOB_IS_CANCELLED}, {"FAILED", JOB_FAILS},        {"TIMEOUT", JOB_FAILS},
    {"NODE_FAIL", JOB_FAILS},     {"BOOT_FAIL", JOB_FAILS},        {"OUT_OF_MEMORY", JOB_FAILS}, {NULL, JOB_COMPLETES}};

/* 1 with a run time, 0 if the job never ran, -1 if the row is bad. */
static int slurm_run_time(struct reader *reader, sim_ns *duration_ns)
{
    sim_ns start_ns;
    if (reader_has(reader, SLURM_DURATION))
        return reader_duration(reader, SLURM_DURATION, TIME_S, duration_ns) ? 1 : -1;
    if (!reader_has(reader, SLURM_START) || !reader_has(reader, SLURM_END)) return 0;
    return reader_time(reader, SLURM_START, TIME_CALENDAR, &start_ns) &&
                   read_run_time(reader, SLURM_START, start_ns, SLURM_END, TIME_CALENDAR, duration_ns)
               ? 1
               : -1;
}

static enum row_result slurm_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, SLURM_SUBMIT, TIME_CALENDAR, &job->submit_ns) ||
        !reader_i32(reader, SLURM_GPUS, 0, INT32_MAX, &job->gpus) ||
        (reader_has(reader, SLURM_NODES) && !reader_i32(reader, SLURM_NODES, 0, INT32_MAX, &job->nodes)) ||
        !file_trace_names(reader, SLURM_ID, SLURM_GROUP, SLURM_USER, SLURM_TYPE, job))
        return ROW_BAD;
    job->status = file_trace_status(reader, SLURM_STATE, slurm_states);
    const int ran = slurm_run_time(reader, &job->duration_ns);
    if (ran == 0) return reader_leave_out(reader, "never-started", "jobs that never started left out");
    return ran < 0 ? ROW_BAD : file_trace_job(reader, job);
}

#define SLURM_LOG(id, group)                                                                                           \
    static const struct csv_column id##_columns[SLURM_COLUMNS] = {                                                     \
        [SLURM_SUBMIT] = {.name = "submit_time"},                                                                      \
        [SLURM_DURATION] = {.name = "duration"},                                                                       \
        [SLURM_GPUS] = {.name = "gpu_num"},                                                                            \
        [SLURM_START] = {.name = "start_time", .optional = true},                                                      \
        [SLURM_END] = {.name = "end_time", .optional = true},                                                          \
        [SLURM_NODES] = {.name = "node_num", .optional = true},                                                        \
        [SLURM_ID] = {.name = "job_id", .optional = true},                                                             \
        [SLURM_USER] = {.name = "user", .optional = true},                                                             \
        [SLURM_GROUP] = {.name = group, .optional = true},                                                             \
        [SLURM_TYPE] = {.name = "type", .optional = true},                                                             \
        [SLURM_STATE] = {.name = "state", .optional = true}};                                                          \
    static const struct row_format id##_rows = {                                                                       \
        .from_first = true, .columns = id##_columns, .n_columns = SLURM_COLUMNS, .row = slurm_row};

SLURM_LOG(acme, "type")
JOB_LOG(acme, "Acme: jobs of the LLM clusters Seren and Kalos, 2023", "Hu et al., NSDI 2024; InternLM/AcmeTrace",
        file_trace_unsorted_job_params, .header = "submit_time,duration,gpu_num,type",
        .published = {"https://github.com/InternLM/AcmeTrace",
                      NULL, "CC-BY-4.0"})

SLURM_LOG(helios, "vc")
JOB_LOG(helios, "Helios: training jobs of four SenseTime clusters, 2020",
        "Hu et al., SC 2021; S-Lab-System-Group/HeliosData", file_trace_unsorted_job_params,
        .header = "submit_time,duration,gpu_num,vc",
        .published = {"https://github.com/S-Lab-System-Group/HeliosData",
                      "data", "CC-BY-4.0"})

/* --- openb --- */

/* Alibaba 2023 pods (cluster-trace-gpu-v2023, "openb"): name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,
 * pod_phase,creation_time,deletion_time,scheduled_time; times in seconds from the start of the trace.
 *
 * A pod of one GPU may request a share of it (gpu_milli), and GPU models (gpu_spec, "V100M16|V100M32"). The run time is
 * deletion minus scheduling. For pods that were never scheduled (phase Pending) it is deletion minus creation, which is
 * counted. In lists without times (the resampled ones) all pods are submitted at 0 and never end. The group is the
 * quality of service, the user is empty, the id is the row. */
enum {
    OPENB_CREATION,
    OPENB_DELETION,
    OPENB_SCHEDULED,
    OPENB_GPUS,
    OPENB_GPU_MILLI,
    OPENB_CPU_MILLI,
    OPENB_MEMORY,
    OPENB_GPU_SPEC,
    OPENB_QOS,
    OPENB_COLUMNS
};

static const struct csv_column openb_columns[OPENB_COLUMNS] = {{.name = "creation_time", .optional = true},
                                                               {.name = "deletion_time", .optional = true},
                                                               {.name = "scheduled_time", .optional = true},
                                                               {.name = "num_gpu"},
                                                               {.name = "gpu_milli"},
                                                               {.name = "cpu_milli", .optional = true},
                                                               {.name = "memory_mib", .optional = true},
                                                               {.name = "gpu_spec", .optional = true},
                                                               {.name = "qos", .optional = true}};

static bool openb_has_column(const struct reader *reader, int column)
{
    return reader->positions[column] >= 0;
}

static bool openb_times(struct reader *reader, struct job_record *job)
{
    if (!openb_has_column(reader, OPENB_CREATION) && !openb_has_column(reader, OPENB_DELETION)) {
        reader_note(reader, "no-times", "pods of a list without times come at the start and stay without end");
        job->duration_ns = READER_MAX_NS;
        return true;
    }
    if (!reader_time(reader, OPENB_CREATION, TIME_S, &job->submit_ns)) return false;
    sim_ns start_ns = job->submit_ns;
    const bool scheduled = reader_has(reader, OPENB_SCHEDULED);
    if (scheduled && !reader_time(reader, OPENB_SCHEDULED, TIME_S, &start_ns)) return false;
    if (!read_run_time(reader, scheduled ? OPENB_SCHEDULED : OPENB_CREATION, start_ns, OPENB_DELETION, TIME_S,
                       &job->duration_ns))
        return false;
    if (!scheduled) reader_note(reader, "never-scheduled", "pods never scheduled run as long as they existed");
    return true;
}

static bool openb_amount(struct reader *reader, int column, int64_t *amount)
{
    return !openb_has_column(reader, column) || reader_i64(reader, column, 0, INT64_C(1) << 40, amount);
}

static enum row_result openb_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    int64_t memory_mib = 0;
    if (!reader_i32(reader, OPENB_GPUS, 0, INT32_MAX, &job->gpus) ||
        !reader_i32(reader, OPENB_GPU_MILLI, 0, 1000, &job->gpu_milli) || !openb_times(reader, job) ||
        !openb_amount(reader, OPENB_CPU_MILLI, &job->cpu_milli) || !openb_amount(reader, OPENB_MEMORY, &memory_mib) ||
        (job->group = reader_intern(reader, OPENB_QOS)) == NULL ||
        (job->gpu_models = reader_intern(reader, OPENB_GPU_SPEC)) == NULL)
        return ROW_BAD;
    job->memory_bytes = memory_mib << 20;
    return file_trace_job(reader, job);
}

static const struct row_format openb_rows = {.columns = openb_columns, .n_columns = OPENB_COLUMNS, .row = openb_row};

JOB_LOG(openb, "Alibaba 2023 pods that share GPUs", "Weng et al., USENIX ATC 2023; alibaba/clusterdata",
        file_trace_unsorted_job_params, .header = "num_gpu,gpu_milli",
        .published = {"https://github.com/alibaba/clusterdata",
                      "cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv", "none stated"})

/* --- pai --- */

/* Alibaba PAI 2020, the task table, which has no header: job_name,task_name,inst_num,status,start_time,end_time,
 * plan_cpu,plan_mem,plan_gpu,gpu_type. Times in seconds; time starts at the earliest row.
 *
 * One row is one job, submitted when it started: the table has no earlier time. Its GPUs are inst_num times plan_gpu,
 * which is in percent of a GPU: less than one GPU in all is a share of one, more is rounded up to whole GPUs. Rows
 * without start or end are left out and counted. An empty plan_gpu is no GPU. The group is the GPU type, the user is
 * empty, the id is the row. */
enum { PAI_START, PAI_END, PAI_INSTANCES, PAI_GPU, PAI_GPU_TYPE, PAI_STATUS, PAI_COLUMNS };

static const struct csv_column pai_columns[PAI_COLUMNS] = {
    {.name = "start_time"}, {.name = "end_time"}, {.name = "inst_num"}, {.name = "plan_gpu"}, {.name = "gpu_type"},
    {.name = "status"}};
static const int pai_positions[PAI_COLUMNS] = {4, 5, 2, 8, 9, 3};

static const struct status_word pai_states[] = {
    {"Terminated", JOB_COMPLETES}, {"Failed", JOB_FAILS}, {NULL, JOB_COMPLETES}};

static bool pai_gpus(struct reader *reader, struct job_record *job)
{
    int64_t instances;
    double percent = 0;
    if (!reader_i64(reader, PAI_INSTANCES, 1, 1000000, &instances)) return false;
    if (reader_has(reader, PAI_GPU) && !reader_f64(reader, PAI_GPU, 0, &percent)) return false;
    const double milli = 10 * percent * (double)instances;
    if (milli > 1000.0 * INT32_MAX) {
        reader_bad(reader, PAI_GPU, NULL, "'plan_gpu' must be a number of percent, got %g", percent);
        return false;
    }
    const bool shared = milli > 0 && milli < 1000;
    job->gpus = (int32_t)ceil(milli / 1000);
    job->gpu_milli = shared ? (int32_t)fmax(1, rint(milli)) : 1000;
    return true;
}

static enum row_result pai_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_has(reader, PAI_START) || !reader_has(reader, PAI_END))
        return reader_leave_out(reader, "no-run-time", "tasks without start or end time left out");
    if (!reader_time(reader, PAI_START, TIME_S, &job->submit_ns) ||
        !read_run_time(reader, PAI_START, job->submit_ns, PAI_END, TIME_S, &job->duration_ns) ||
        !pai_gpus(reader, job) || (job->group = reader_intern(reader, PAI_GPU_TYPE)) == NULL)
        return ROW_BAD;
    job->status = file_trace_status(reader, PAI_STATUS, pai_states);
    return file_trace_job(reader, job);
}

static const struct row_format pai_rows = {.no_header = true,
                                           .from_first = true,
                                           .positions = pai_positions,
                                           .columns = pai_columns,
                                           .n_columns = PAI_COLUMNS,
                                           .row = pai_row};

JOB_LOG(pai, "Alibaba PAI 2020, the table of tasks", "Weng et al., MLaaS in the Wild, NSDI 2022; alibaba/clusterdata",
        file_trace_unsorted_job_params,
        .first_row = "^[^,]+,[^,]*,[0-9.]*,[A-Z][a-z]+,[0-9.]*,[0-9.]*,[0-9.]*,[0-9.]*,[0-9.]*,[^,]*$",
        .published = {"https://github.com/alibaba/clusterdata",
                      "cluster-trace-gpu-v2020/data/pai_task_table.tar.gz", "CC-BY-4.0"})

/* --- swf --- */

/* Standard Workload Format: 18 numbers per line, comments start with ';', -1 is "not known". Sorted by submission, in
 * seconds from the file's own zero. Processors stand for GPUs.
 *
 * The GPUs are the processors requested (field 8), else those allocated (5). The run time is field 4. The estimate is
 * the time requested (9), else the run time. Jobs without run time or processors are left out and counted. The group is
 * the queue (15), the user is the user id (12), both as numbers, and empty if not known. Of the states (11) 0 is
 * failed and 5 cancelled; the others, some of which describe parts of a job, count as completed. */
enum {
    SWF_SUBMIT,
    SWF_ID,
    SWF_RUN_TIME,
    SWF_ALLOCATED,
    SWF_REQUESTED,
    SWF_REQUESTED_TIME,
    SWF_USER,
    SWF_QUEUE,
    SWF_STATUS,
    SWF_COLUMNS
};

static const struct csv_column swf_columns[SWF_COLUMNS] = {
    {.name = "submit time"},          {.name = "job number"},     {.name = "run time"}, {.name = "allocated processors"},
    {.name = "requested processors"}, {.name = "requested time"}, {.name = "user id"},  {.name = "queue number"},
    {.name = "status"}};
static const int swf_positions[SWF_COLUMNS] = {1, 0, 3, 4, 7, 8, 11, 14, 10};

enum { SWF_FAILED = 0, SWF_CANCELLED = 5 };

/* A number that stands for a name: "" if it is not known. */
static const char *swf_name(struct reader *reader, int column)
{
    const char *name = reader_intern(reader, column);
    return name != NULL && strcmp(name, "-1") == 0 ? "" : name;
}

static enum row_result swf_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    int32_t allocated, requested, status;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, SWF_SUBMIT, TIME_S, &job->submit_ns) ||
        !reader_i64(reader, SWF_ID, 0, INT64_MAX, &job->id) ||
        !reader_time(reader, SWF_RUN_TIME, TIME_S, &job->duration_ns) ||
        !reader_time(reader, SWF_REQUESTED_TIME, TIME_S, &job->estimate_ns) ||
        !reader_i32(reader, SWF_ALLOCATED, -1, INT32_MAX, &allocated) ||
        !reader_i32(reader, SWF_REQUESTED, -1, INT32_MAX, &requested) ||
        !reader_i32(reader, SWF_STATUS, -1, INT32_MAX, &status) || (job->group = swf_name(reader, SWF_QUEUE)) == NULL ||
        (job->user = swf_name(reader, SWF_USER)) == NULL)
        return ROW_BAD;
    if (job->duration_ns < 0) return reader_leave_out(reader, "no-run-time", "jobs without run time left out");
    job->gpus = requested > 0 ? requested : allocated;
    if (job->gpus <= 0) return reader_leave_out(reader, "no-processors", "jobs without processors left out");
    if (job->estimate_ns < 0) job->estimate_ns = 0;
    job->status = status == SWF_FAILED ? JOB_FAILS : status == SWF_CANCELLED ? JOB_IS_CANCELLED : JOB_COMPLETES;
    return file_trace_job(reader, job);
}

static const struct row_format swf_rows = {.csv = {.dialect = CSV_DIALECT_BLANKS, .comment = ';'},
                                           .no_header = true,
                                           .positions = swf_positions,
                                           .columns = swf_columns,
                                           .n_columns = SWF_COLUMNS,
                                           .row = swf_row};

JOB_LOG(swf, "Standard Workload Format of batch logs; processors stand for GPUs",
        "Chapin et al., JSSPP 1999; Parallel Workloads Archive", file_trace_job_params,
        .first_row = "^[[:blank:]]*-?[0-9.]+([[:blank:]]+-?[0-9.]+){17}[[:blank:]]*$")
