/* Helios (SenseTime, 2020):
 * job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue. Sorted here by
 * (submission, row); time starts at the earliest submission.
 *
 * The run time is duration, else end minus start; jobs with neither never started and are left out and counted. Jobs
 * without GPUs, more than half of the log, are kept unless "cpu_jobs" is false. The group is the virtual cluster.
 * Jobs that ran out of time or lost their node have failed. */
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
                                               .group = "vc",
                                               .type = "type",
                                               .state = "state"};

static int open_jobs(const void *params, const struct source_options *options, struct job_source **source,
                     struct diag *diag)
{
    return job_log_open(&columns, params, options, source, diag);
}

const struct trace_format trace_helios = {.name = "helios",
                                          .summary = "Helios: training jobs of four SenseTime clusters, 2020",
                                          .source = "Hu et al., SC 2021; S-Lab-System-Group/HeliosData",
                                          .params = file_trace_unsorted_job_params,
                                          .params_bytes = sizeof(struct job_file),
                                          .open_jobs = open_jobs};
