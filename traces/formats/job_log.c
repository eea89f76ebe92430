/* Two logs of Slurm with calendar times of submission, start and end.
 *
 * Acme (Seren and Kalos, 2023):
 * job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration, queue,gpu_time; Kalos has
 * four more columns, which are not read. The group is the type of job. The study counts jobs that ran out of time or
 * lost their node as failed.
 *
 * Helios (SenseTime, 2020):
 * job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue. The group is the
 * virtual cluster. More than half of the jobs have no GPUs.
 *
 * Both are sorted here by (submission, row); time starts at the earliest submission. The run time is duration, else end
 * minus start; jobs with neither never started and are left out and counted. Jobs without GPUs are kept unless
 * "cpu_jobs" is false. Jobs that ran out of time or lost their node have failed. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

enum { SUBMIT, DURATION, GPUS, START, END, NODES, ID, USER, GROUP, TYPE, STATE, N_COLUMNS };

/* Slurm's states. */
static const struct fate_word states[] = {
    {"COMPLETED", JOB_COMPLETES}, {"CANCELLED", JOB_IS_CANCELLED}, {"FAILED", JOB_FAILS},        {"TIMEOUT", JOB_FAILS},
    {"NODE_FAIL", JOB_FAILS},     {"BOOT_FAIL", JOB_FAILS},        {"OUT_OF_MEMORY", JOB_FAILS}, {NULL, JOB_COMPLETES}};

/* 1 with a run time, 0 when the job never ran, -1 when the row is bad. */
static int read_duration(struct reader *reader, sim_ns *duration_ns)
{
    if (reader_has(reader, DURATION)) return reader_duration(reader, DURATION, TIME_S, duration_ns) ? 1 : -1;
    if (!reader_has(reader, START) || !reader_has(reader, END)) return 0;
    sim_ns start_ns, end_ns;
    if (!reader_time(reader, START, TIME_CALENDAR, &start_ns) || !reader_time(reader, END, TIME_CALENDAR, &end_ns)) {
        return -1;
    }
    *duration_ns = end_ns - start_ns;
    if (*duration_ns >= 0) return 1;
    return reader_bad(reader, END, NULL, "'%s' is before '%s'", reader->columns[END].name, reader->columns[START].name);
}

static bool read_names(struct reader *reader, struct job_record *job)
{
    int64_t id;
    if (reader_number(reader, ID, &id)) job->id = id;
    job->group = reader_intern(reader, GROUP);
    job->user = reader_intern(reader, USER);
    job->type = reader_intern(reader, TYPE);
    return job->group != NULL && job->user != NULL && job->type != NULL;
}

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    struct job_record *job = &record->job;
    *job = (struct job_record){.id = reader->row};
    if (!reader_time(reader, SUBMIT, TIME_CALENDAR, &job->submit_ns) ||
        !reader_i32(reader, GPUS, 0, INT32_MAX, &job->gpus) ||
        (reader_has(reader, NODES) && !reader_i32(reader, NODES, 0, INT32_MAX, &job->nodes)) ||
        !read_names(reader, job)) {
        return ROW_BAD;
    }
    job->fate = file_trace_fate(reader, STATE, states);
    int ran = read_duration(reader, &job->duration_ns);
    if (ran == 0) return reader_leave_out(reader, "never-started", "jobs that never started left out");
    return ran < 0 ? ROW_BAD : file_trace_job(reader, job);
}

static int open_log(const char *group, const void *params, const struct source_options *options,
                    struct job_source **source, struct diag *diag)
{
    const struct csv_column columns[N_COLUMNS] = {[SUBMIT] = {.name = "submit_time"},
                                                  [DURATION] = {.name = "duration"},
                                                  [GPUS] = {.name = "gpu_num"},
                                                  [START] = {.name = "start_time", .optional = true},
                                                  [END] = {.name = "end_time", .optional = true},
                                                  [NODES] = {.name = "node_num", .optional = true},
                                                  [ID] = {.name = "job_id", .optional = true},
                                                  [USER] = {.name = "user", .optional = true},
                                                  [GROUP] = {.name = group, .optional = true},
                                                  [TYPE] = {.name = "type", .optional = true},
                                                  [STATE] = {.name = "state", .optional = true}};
    const struct row_format rows = {.from_first = true, .columns = columns, .n_columns = N_COLUMNS, .row = read_row};
    return file_trace_jobs(&rows, params, options, source, diag);
}

static int open_acme(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return open_log("type", params, options, source, diag);
}

static int open_helios(const void *params, const struct source_options *options, struct job_source **source,
                       struct diag *diag)
{
    return open_log("vc", params, options, source, diag);
}

const struct trace_format trace_acme = {.name = "acme",
                                        .summary = "Acme: jobs of the LLM clusters Seren and Kalos, 2023",
                                        .source = "Hu et al., NSDI 2024; InternLM/AcmeTrace",
                                        .params = file_trace_unsorted_job_params,
                                        .params_bytes = sizeof(struct job_file),
                                        .open_jobs = open_acme};

const struct trace_format trace_helios = {.name = "helios",
                                          .summary = "Helios: training jobs of four SenseTime clusters, 2020",
                                          .source = "Hu et al., SC 2021; S-Lab-System-Group/HeliosData",
                                          .params = file_trace_unsorted_job_params,
                                          .params_bytes = sizeof(struct job_file),
                                          .open_jobs = open_helios};
