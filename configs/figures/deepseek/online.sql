-- One row per run of the decoding unit of 18 nodes: users on a GPU, tokens per second of a user and of a node. Each
-- user always has one request, so that the node's rate follows from how long it takes (Little's law): users begin
-- together, and counting what ends in a window would count one wave too many or too few.
create temp view decode as
select (run.scenario ->> '$.services.chat.trace.arrival.users') / 144 as users,
       1 / tpot.value as user_speed,
       (run.scenario ->> '$.services.chat.trace.arrival.users') * 1211 / e2e.value / 18 as node_tokens_per_s
from run
join metric as tpot on tpot.run_id = run.id and tpot.name = 'request.tpot_s.mean'
join metric as e2e on e2e.run_id = run.id and e2e.name = 'request.e2e_s.mean'
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
