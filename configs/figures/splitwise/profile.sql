-- One row per run: a batch of `users` prompts of `prompt` tokens, the time to process it, and the time of a token after
-- that.
create temp view batch as
select run.scenario ->> '$.services.profile.llm' as llm,
       run.scenario ->> '$.cluster.gpu' as gpu,
       run.scenario ->> '$.services.profile.trace.prompt.tokens' as prompt,
       run.scenario ->> '$.services.profile.trace.arrival.users' as users,
       (run.scenario ->> '$.services.profile.trace.prompt.tokens') *
           (run.scenario ->> '$.services.profile.trace.arrival.users') as tokens,
       1e3 * ttft.value as prompt_ms,
       1e3 * tpot.value as token_ms
from run
join metric as ttft on ttft.run_id = run.id and ttft.name = 'request.ttft_s.mean'
join metric as tpot on tpot.run_id = run.id and tpot.name = 'request.tpot_s.mean'
where run.status = 'done';
