/* Acme (Seren and Kalos, 2023):
 * job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration, queue,gpu_time; Kalos has
 * four more columns, which are not read. Sorted here by (submission, row); time starts at the earliest submission.
 *
 * The run time is duration, else end minus start; jobs with neither never started and are left out and counted. Jobs
 * without GPUs are kept unless "cpu_jobs" is false. The group is the type of job. Those that ran
 * out of time or lost their node have failed, as the study counts them. */
#include "traces/formats/file_trace.h"
#include "traces/formats/job_log.h"
#include "traces/registry.h"

static const struct job_log_columns columns = {.submit = "submit_time",
                                               .start = "start_time",
                                               .end = "end_time",
                                               .duration = "duration",
                                               .gpus = "gpu_num",
                                               .nodes = "node_num",
                                               .id = "job_id",
                                               .user = "user",
                                               .group = "type",
                                               .type = "type",
                                               .state = "state"};

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return job_log_open(&columns, params, options, source, diag);
}

const struct trace_format trace_acme = {.name = "acme",
                                        .summary = "Acme: jobs of the LLM clusters Seren and Kalos, 2023",
                                        .source = "Hu et al., NSDI 2024; InternLM/AcmeTrace",
                                        .params = file_trace_unsorted_job_params,
                                        .params_bytes = sizeof(struct job_file),
                                        .open_jobs = open_jobs};
