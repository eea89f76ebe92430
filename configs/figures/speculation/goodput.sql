-- Tokens per second follow from how long requests take, since each user always has one (Little's law).
-- One row per run: users, the policy (a probing one apart), tokens per second, and the share of iterations with drafts.
create temp view speed as
select run.scenario ->> '$.services.chat.trace.arrival.users' as users,
       coalesce(run.scenario ->> '$.services.chat.speculation.policy', run.scenario ->> '$.services.chat.speculation')
           || case when coalesce(run.scenario ->> '$.services.chat.speculation.probe_every', 0) > 0 then '-probing'
                   else '' end as policy,
       (run.scenario ->> '$.services.chat.trace.arrival.users') * output.value / finished.value / e2e.value as tokens_per_s,
       coalesce((select value from metric where run_id = run.id and name = 'speculation.iterations_frac'), 0) as drafted
from run
join metric as e2e on e2e.run_id = run.id and e2e.name = 'request.e2e_s.mean'
join metric as output on output.run_id = run.id and output.name = 'request.output_tokens.sum'
join metric as finished on finished.run_id = run.id and finished.name = 'request.finished'
where run.status = 'done';

-- Tokens per second of the goodput rule, without and with probing, over those without drafts.
create temp view gain as
select rule.users, rule.policy, rule.drafted, rule.tokens_per_s / none.tokens_per_s as gain
from speed as rule
join speed as none on none.users = rule.users and none.policy = 'none'
where rule.policy like 'smartspec%';
