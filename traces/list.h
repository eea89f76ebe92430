/* Every trace format and generator, one line each, in the order of listings: TRACE_FORMAT(symbol). Define TRACE_FORMAT
 * before including this file; registry.h turns it into declarations, registry.c into the table. */

/* requests */
TRACE_FORMAT(trace_azure_llm)
TRACE_FORMAT(trace_burstgpt)
TRACE_FORMAT(trace_mooncake)
TRACE_FORMAT(trace_lengths)
TRACE_FORMAT(trace_csv)
TRACE_FORMAT(trace_vllm_log)
TRACE_FORMAT(trace_request_log)
TRACE_FORMAT(trace_vllm_bench)
TRACE_FORMAT(trace_sglang_bench)
TRACE_FORMAT(trace_sharegpt)
TRACE_FORMAT(trace_sessions)
TRACE_FORMAT(trace_generate)
TRACE_FORMAT(trace_generate_sessions)
TRACE_FORMAT(trace_generate_clients)

/* jobs */
TRACE_FORMAT(trace_philly)
TRACE_FORMAT(trace_acme)
TRACE_FORMAT(trace_helios)
TRACE_FORMAT(trace_openb)
TRACE_FORMAT(trace_pai)
TRACE_FORMAT(trace_swf)
TRACE_FORMAT(trace_muri)
TRACE_FORMAT(trace_pollux)
TRACE_FORMAT(trace_csv_jobs)
TRACE_FORMAT(trace_inline_jobs)
TRACE_FORMAT(trace_generate_jobs)
TRACE_FORMAT(trace_generate_job_types)
TRACE_FORMAT(trace_generate_rounds)
TRACE_FORMAT(trace_generate_evaluation)
