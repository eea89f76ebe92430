-- One row per run: the LLM, the batch, the interval that was asked for (0: by the policy) and taken, times of prompts
-- and tokens.
create temp view layer as
select run.scenario ->> '$.services.batch.llm' as llm,
       run.scenario ->> '$.services.batch.trace.count' as sequences,
       run.scenario ->> '$.services.batch.kv.offload.phase' as phase,
       run.scenario ->> '$.services.batch.kv.offload.interval' as asked,
       (select value from metric where run_id = run.id and name = 'offload.interval_layers') as interval,
       1e3 * (select value from metric where run_id = run.id and name = 'request.ttft_s.mean') as prompt_ms,
       1e3 * (select value from metric where run_id = run.id and name = 'request.tpot_s.p50') as token_ms
from run
where run.status = 'done';
