-- One row per run: mean times of rollouts (g), training (t) and sending (s), the span of n steps, and the rate.
create temp view step as
select coalesce(cast(run.scenario ->> '$.rl.gpus' as integer), 0) as gpus,
       cast(run.scenario ->> '$.rl.staleness' as integer) as staleness,
       cast(run.scenario ->> '$.rl.prompts' as integer) as prompts,
       steps.value as n, span.value as span, rate.value as rate, g.value as g, t.value as t, s.value as s,
       coalesce(swap.value, 0) as swap
from run
join metric as steps on steps.run_id = run.id and steps.name = 'rl.steps'
join metric as span on span.run_id = run.id and span.name = 'rl.span_s'
join metric as rate on rate.run_id = run.id and rate.name = 'rl.tokens_per_s'
join metric as g on g.run_id = run.id and g.name = 'rl.rollout_s.mean'
join metric as t on t.run_id = run.id and t.name = 'rl.training_s.mean'
join metric as s on s.run_id = run.id and s.name = 'rl.sending_s.mean'
left join metric as swap on swap.run_id = run.id and swap.name = 'rl.swap_s.sum'
where run.status = 'done';
