-- One row per run: an LLM, the length of its prompts, and the tokens per second that the block makes.
create temp view block as
select run.scenario ->> '$.services.block.llm' as llm,
       run.scenario ->> '$.services.block.trace.prompt.tokens' as prompt,
       run.scenario ->> '$.services.block.kv.offload.host_attention' as host_attention,
       rate.value as tokens_per_s
from run
join metric as rate on rate.run_id = run.id and rate.name = 'service.output_tokens_per_s'
where run.status = 'done';
