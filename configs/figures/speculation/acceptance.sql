-- One row per run: the data set, its place on the axis, tokens per step, and tokens per second of the user.
create temp view user as
select run.scenario ->> '$.services.chat.acceptance.dataset' as dataset,
       case run.scenario ->> '$.services.chat.acceptance.dataset'
           when 'gsm8k' then 1 when 'cnn' then 2 when 'instructcoder' then 3 else 4 end as place,
       (select value from metric where run_id = run.id and name = 'speculation.tokens_per_step') as tokens_per_step,
       1 / tpot.value as tokens_per_s
from run
join metric as tpot on tpot.run_id = run.id and tpot.name = 'request.tpot_s.mean'
where run.status = 'done';
