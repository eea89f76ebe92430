-- One row per run: a user with a prompt of this many tokens.
create temp view session as
select run.scenario ->> '$.services.session.trace.prompt.tokens' as tokens,
       ttft.value as prefill_s,
       e2e.value - ttft.value as decode_s
from run
join metric as ttft on ttft.run_id = run.id and ttft.name = 'request.ttft_s.mean'
join metric as e2e on e2e.run_id = run.id and e2e.name = 'request.e2e_s.mean'
where run.status = 'done';

-- Of users who ask at once, those whose prompts are processed before the first of them is done.
create temp view crowd as
select run.scenario ->> '$.services.session.trace.prompt.tokens' as tokens, count(*) as users
from run
join request on request.run_id = run.id
where run.status = 'done'
  and request.queue_s < (select min(e2e_s) from request as other where other.run_id = run.id)
group by run.id;
