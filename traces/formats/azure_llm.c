/* Azure LLM inference traces, 2023 and 2024: TIMESTAMP,ContextTokens,GeneratedTokens; sorted; times to 100 ns.
 * Time starts at the first request. Requests with 0 tokens on either side are left out and counted. */
#include "traces/formats/file_trace.h"
#include "traces/registry.h"

enum { TIMESTAMP, CONTEXT_TOKENS, GENERATED_TOKENS, N_COLUMNS };

static const struct csv_column columns[N_COLUMNS] = {
    {.name = "TIMESTAMP"}, {.name = "ContextTokens"}, {.name = "GeneratedTokens"}};

static enum row_result read_row(struct reader *reader, union trace_record *record)
{
    sim_ns arrival_ns;
    int64_t prompt, output;
    if (!reader_time(reader, TIMESTAMP, TIME_CALENDAR, &arrival_ns) ||
        !reader_tokens(reader, CONTEXT_TOKENS, &prompt) || !reader_tokens(reader, GENERATED_TOKENS, &output)) {
        return ROW_BAD;
    }
    return reader_request(reader, record, arrival_ns, prompt, output);
}

static const struct row_format rows = {
    .from_first = true, .requests = true, .columns = columns, .n_columns = N_COLUMNS, .row = read_row};

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    return file_trace_requests(&rows, params, options, source, diag);
}

const struct trace_format trace_azure_llm = {.name = "azure-llm",
                                             .summary = "Azure LLM inference traces of 2023 and 2024",
                                             .source = "Patel et al., Splitwise, ISCA 2024; Azure/AzurePublicDataset",
                                             .published = {"https://github.com/Azure/AzurePublicDataset",
                                                           "data/AzureLLMInferenceTrace_conv.csv", "CC-BY-4.0"},
                                             .params = file_trace_request_params,
                                             .params_bytes = sizeof(struct trace_file),
                                             .header = "TIMESTAMP,ContextTokens,GeneratedTokens",
                                             .open_requests = open_requests};
