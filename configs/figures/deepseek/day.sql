-- One row for the unit's day: tokens per second of a user, and of the 12 nodes that process prompts and the 18 that
-- decode; share of input tokens from the cache; income of a node by the prices of R1 per million tokens, as published:
-- input from the cache, other input, output.
create temp view day as
select run.id as run_id, 1 / tpot.value as user_speed, input.value / 86400 / 12 as input_per_s,
       output.value / 86400 / 18 as output_per_s, hits.value as hit_frac,
       (input.value * (0.14 * hits.value + 0.55 * (1 - hits.value)) + 2.19 * output.value) / 1e6 / 30 as node_usd,
       finished.value / arrived.value as served_frac
from run
join metric as tpot on tpot.run_id = run.id and tpot.name = 'request.tpot_s.mean'
join metric as input on input.run_id = run.id and input.name = 'request.prompt_tokens.sum'
join metric as output on output.run_id = run.id and output.name = 'request.output_tokens.sum'
join metric as hits on hits.run_id = run.id and hits.name = 'prefix.hit_frac'
join metric as arrived on arrived.run_id = run.id and arrived.name = 'request.arrived'
join metric as finished on finished.run_id = run.id and finished.name = 'request.finished'
where run.status = 'done';

-- Users of the decoding unit in each hour of the run, in the mean. The first hour includes the empty start.
create temp view hour as
select run_id, cast(t_s / 3600 as integer) as hour, avg(value) as users
from sample where series = 'replica.running' and entity = 'chat/3' and t_s < 86400 group by 1, 2;
