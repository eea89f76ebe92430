/* Files of artifacts of schedulers: jobs of Muri and Pollux, and the speeds of types of Gavel. */
#include "tests/support/harness.h"
#include "tests/support/trace_source.h"
#include "traces/formats/job_profiles.h"

/* Jobs as "id@submit:duration/gpus type " in seconds, then the first finding. */
static const char *jobs_of(const char *format, const char *more, const char *text)
{
    static char result[1024];
    SCOPED(trace_source) trace = {0};
    struct job_record job;
    size_t length = 0;
    result[0] = 0;
    trace_source_jobs(&trace, 1, "{'format': '%s', 'path': '%s'%s}", format, trace_source_file("jobs.csv", text), more);
    while (trace.code == 0 && trace_source_job(&trace, &job) == 1)
        length += (size_t)snprintf(result + length, sizeof result - length, "%lld@%g:%g/%d %s ", (long long)job.id,
                                   sim_s_from_ns(job.submit_ns), sim_s_from_ns(job.duration_ns), job.gpus, job.type);
    const char *finding = strstr(trace.message, "jobs.csv");
    if (finding != NULL) snprintf(result + length, sizeof result - length, "%s", finding);
    return result;
}

TEST(jobs_of_muri_have_the_type_of_model_and_gpus)
{
    static const char head[] = "job_id,num_gpu,submit_time,model_name,batch_size,duration\n";
    char text[256];
    snprintf(text, sizeof text, "%s7,8,2500,vgg16,16,1500\r\n9,2,500,shufflenet_v2_x1_0,128,60000\r\n", head);
    CHECK_EQ_STR(jobs_of("muri", "", text), "9@0.5:60/2 shufflenet_v2_x1_0-2 7@2.5:1.5/8 vgg16-8 ");
    snprintf(text, sizeof text, "%s7,0,2500,vgg16,16,1500\n", head);
    CHECK(strstr(jobs_of("muri", "", text), "jobs.csv:2:3: error: 'num_gpu'") != NULL);
    snprintf(text, sizeof text, "%s7,8,2500,,16,1500\n", head);
    CHECK(strstr(jobs_of("muri", "", text), "'model_name' must be the beginning of a name") != NULL);
}

#define POLLUX "name,time,application,num_replicas,batch_size\n"
#define TYPES ", 'types': {'ncf-32': {'run_times': [{'gpus': 1, 'time': '47s'}, {'gpus': 2, 'time': '30s'}]}}"

TEST(jobs_of_pollux_have_the_run_time_of_their_type_and_gpus)
{
    CHECK_EQ_STR(jobs_of("pollux", TYPES, POLLUX "a,20.0,ncf,2,32\nb,10,ncf,1,32\n"),
                 "1@10:47/1 ncf-32 0@20:30/2 ncf-32 ");
    CHECK_EQ_STR(jobs_of("pollux", TYPES, POLLUX "a,20,ncf,4,32\n"),
                 "jobs.csv:2:10: error: there is no run time of 'ncf-32' on 4 GPUs; add it to 'types' of the trace");
    CHECK(strstr(jobs_of("pollux", TYPES, POLLUX "a,20,bert,1,32\n"),
                 "jobs.csv:2:6: error: there is no run time of 'bert-32'"));
}

TEST(one_of_several_workloads_is_chosen)
{
    static const char text[] = "relative_load,workload," POLLUX "0.5,w1,a,1,ncf,1,32\n1.0,w1,b,2,ncf,1,32\n"
                               "1.0,w2,c,3,ncf,1,32\n";
    CHECK_EQ_STR(jobs_of("pollux", TYPES ", 'relative_load': '1.0', 'workload': 'w1'", text), "1@2:47/1 ncf-32 ");
    CHECK_EQ_STR(jobs_of("pollux", TYPES ", 'workload': 'w2'", text), "2@3:47/1 ncf-32 ");
    CHECK(strstr(jobs_of("pollux", TYPES ", 'workload': 'w2'", POLLUX), "workload") != NULL);
}

/* --- Profiles --- */

static void print_speeds(struct text *text, const struct config_list *speeds)
{
    const struct gpu_speed *speed = speeds->items;
    for (size_t i = 0; i < speeds->n; i++, speed++) text_printf(text, " %s %g", speed->gpu, speed->speed);
}

/* Types as "type alone GPU speed ...; other GPU speed ...|". */
static const char *types_of(const char *more, const char *document)
{
    static char result[2048];
    SCOPED(arena) arena;
    SCOPED(text) text;
    struct config_list profiles;
    struct diag diag;
    const char *path = trace_source_file("speeds.json", document);
    const char *json = test_json("{'profiles': {'format': 'gavel', 'path': '%s', 'gpus': {%s}}}", path, more);
    diag_init(&diag);
    arena_init(&arena);
    text_init(&text);
    const int code = trace_source_profiles(json, &arena, &profiles, &diag);
    CHECK_EQ_INT(code, 0);
    for (size_t i = 0; code == 0 && i < profiles.n; i++) {
        const struct job_profile *profile = (const struct job_profile *)profiles.items + i;
        const struct pair_config *pair = profile->pairs.items;
        text_add(&text, profile->type);
        print_speeds(&text, &profile->speeds);
        for (size_t k = 0; k < profile->pairs.n; k++, pair++) {
            text_printf(&text, "; %s", pair->type);
            print_speeds(&text, &pair->speeds);
        }
        text_add(&text, "|");
    }
    snprintf(result, sizeof result, "%s", text.chars);
    return result;
}

/* On the fast GPU, a job is never slower alone than beside another; two zeros cannot share. */
TEST(speeds_of_gavel_are_relative_to_those_alone_on_the_reference)
{
    static const char text[] =
        "{\"v100\": {\"('LM (batch size 5)', 1)\": {\"null\": 10, \"('A3C', 1)\": [12, 3], \"('LM (batch size 5)', 1)\": [5, 5]},"
        "            \"('A3C', 1)\": {\"null\": 4, \"('LM (batch size 5)', 1)\": [3, 12]},"
        "            \"('A3C', 4)\": {\"null\": 16, \"('A3C', 4)\": [0.0, 0.0]}, \"('Big', 1)\": {\"null\": 0}},"
        " \"k80\": {\"('LM (batch size 5)', 1)\": {\"null\": 2, \"('A3C', 1)\": [0.0, 0.0], \"('LM (batch size 5)', 1)\": [1, 1]},"
        "           \"('A3C', 1)\": {\"null\": 1}}}";
    CHECK_EQ_STR(types_of("'v100': 'fast', 'k80': 'slow'", text),
                 "lm-5 fast 1 slow 0.2; a3c fast 1; lm-5 fast 0.5 slow 0.1|a3c fast 1 slow 0.25; lm-5 fast 0.75|"
                 "a3c-x4 fast 1 slow 0|");
    CHECK_EQ_STR(types_of("'k80': 'slow'", text), "lm-5 slow 0.2; lm-5 slow 0.1|a3c slow 0.25|a3c-x4 slow 0|");
}
