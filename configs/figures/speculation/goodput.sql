-- One row per run: users, the policy (a probing one apart), tokens per second, and the share of iterations with drafts.
create temp view speed as
select run.scenario ->> '$.services.chat.trace.arrival.users' as users,
       coalesce(run.scenario ->> '$.services.chat.speculation.policy', run.scenario ->> '$.services.chat.speculation')
           || case when coalesce(run.scenario ->> '$.services.chat.speculation.probe_every', 0) > 0 then '-probing'
                   else '' end as policy,
       rate.value as tokens_per_s,
       coalesce((select value from metric where run_id = run.id and name = 'speculation.iterations_frac'), 0) as drafted
from run
join metric as rate on rate.run_id = run.id and rate.name = 'service.output_tokens_per_s'
where run.status = 'done';

-- Tokens per second of the goodput rule, without and with probing, over those without drafts.
create temp view gain as
select rule.users, rule.policy, rule.drafted, rule.tokens_per_s / none.tokens_per_s as gain
from speed as rule
join speed as none on none.users = rule.users and none.policy = 'none'
where rule.policy like 'smartspec%';
