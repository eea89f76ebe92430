/* Services that keep an engine from scheduling beside the GPU: their iterations take what those of vLLM 0.12 take. The
 * preset vllm-0.14 has its CPU overhead. */
#include "tests/support/bed.h"
#include "tests/support/harness.h"

/* %s: the batching policy, what else the service has, the engine. */
static struct bed_rows *serve(const char *batching, const char *more, const char *engine)
{
    return bed_run(NULL,
                   "{'cluster': {'nodes': 1, 'gpu': 'h100-sxm'}, 'services': {'chat': {'llm': 'llama-3.1-8b',"
                   " 'tensor_parallel': 2, 'batching': %s, %s 'cost': {'kind': 'operators', 'engine': '%s'},"
                   " 'trace': {'format': 'generate', 'count': 12, 'arrival': {'process': 'poisson', 'rate': '20/s'},"
                   " 'prompt': {'distribution': 'uniform', 'min': 1, 'max': 300},"
                   " 'output': {'distribution': 'uniform', 'min': 1, 'max': 20}}}}}",
                   batching, more, engine);
}

static bool same_times(const struct bed_rows *a, const struct bed_rows *b)
{
    if (a->n_requests != b->n_requests || a->n_requests == 0) return false;
    for (size_t i = 0; i < a->n_requests; i++)
        if (a->requests[i].e2e_s != b->requests[i].e2e_s || a->requests[i].ttft_s != b->requests[i].ttft_s)
            return false;
    return true;
}

#define AHEAD "{'policy': 'vllm-v1', 'async': true}"
#define RATES "'acceptance': {'rates': [0.5]},"

TEST(a_host_is_hidden_where_vllm_schedules_ahead)
{
    static const struct {
        const char *batching, *more;
        bool hidden;
    } cases[] = {
        {AHEAD, "", true},
        {"{'policy': 'vllm-v1', 'async': false}", "", false},
        {"'vllm-v0'", "", false},
        {"'sarathi'", "", false},
        {AHEAD, "'pipeline_parallel': 2,", false},
        {AHEAD, "'speculation': 'ngram'," RATES, false},
        {AHEAD, "'speculation': {'policy': 'fixed', 'drafts': 2}," RATES, false},
        {AHEAD, "'speculation': 'none',", true},
        {AHEAD, "'speculation': {'policy': 'mtp', 'drafts': 1}," RATES, true},
        {AHEAD, "'speculation': {'policy': 'eagle', 'depth': 2, 'branches': 2, 'tokens': 4}," RATES, true},
        {"'vllm-v1'", "'pools': {'a': {'batching': " AHEAD "}},", true},
        {AHEAD, "'pools': {'a': {'batching': 'vllm-v1'}},", false},
        {AHEAD, "'pools': {'a': {'pipeline_parallel': 2}},", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bed_rows *before = serve(cases[i].batching, cases[i].more, "vllm-0.12");
        const struct bed_rows *after = serve(cases[i].batching, cases[i].more, "vllm-0.14");
        if (!CHECK_EQ_INT(before->code, 0) || !CHECK_EQ_INT(after->code, 0)) continue;
        const double before_s = bed_metric(before, "request.e2e_s.mean");
        const double after_s = bed_metric(after, "request.e2e_s.mean");
        if (!CHECK(cases[i].hidden ? after_s < before_s : same_times(before, after)))
            printf("\n  case %zu: %.9g s by vllm-0.12, %.9g s by vllm-0.14", i, before_s, after_s);
    }
}
