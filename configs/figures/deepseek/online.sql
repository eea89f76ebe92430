-- One row per run of the decoding unit of 18 nodes: users on a GPU, tokens per second of a user and of a node.
create temp view decode as
select (run.scenario ->> '$.services.chat.trace.arrival.users') / 144 as users,
       1 / tpot.value as user_speed,
       output.value / 18 as node_tokens_per_s
from run
join metric as tpot on tpot.run_id = run.id and tpot.name = 'request.tpot_s.mean'
join metric as output on output.run_id = run.id and output.name = 'service.output_tokens_per_s'
where run.status = 'done';

-- Tokens per second of a node where a user gets 21 of them, linear between two numbers of users.
create temp view pace as
with step as (select user_speed, node_tokens_per_s,
                     lead(user_speed) over (order by users) as next_speed,
                     lead(node_tokens_per_s) over (order by users) as next_tokens_per_s from decode)
select node_tokens_per_s + (next_tokens_per_s - node_tokens_per_s) * (user_speed - 21) / (user_speed - next_speed)
           as node_tokens_per_s
from step where user_speed >= 21 and next_speed < 21;

-- One row per run of the prefill unit of 4 nodes: prompts of a GPU in an iteration, tokens of prompts per second of a
-- node, those found in the cache counted too. Every request has one token of output.
create temp view prefill as
select (run.scenario ->> '$.services.chat.batching.token_budget') / 61440 as prompts,
       4384 * output.value / 4 as node_tokens_per_s
from run
join metric as output on output.run_id = run.id and output.name = 'service.output_tokens_per_s'
where run.status = 'done';
