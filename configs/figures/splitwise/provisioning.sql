-- Slowdowns against an uncontended DGX-A100, as the artifact reckons them: its prompt and token curves at the request's
-- own prompt; what follows the first token is divided by all tokens. Prompts of fewest .. most tokens take prompt_ms +
-- prompt_slope x (tokens - origin), and so on.
create temp table dgx_a100(fewest, most, origin, prompt_ms, prompt_slope, token_ms, token_slope);
insert into dgx_a100 values
    (0, 256, 128, 79.67, 0.152265625, 47.61, 0.00078125),
    (257, 512, 256, 99.16, 0.293828125, 47.71, 0.00625),
    (513, 1024, 512, 174.38, 0.2208789063, 49.31, 0.00025390625),
    (1025, 2048, 1024, 287.47, 0.2427636719, 49.44, 0.000732421875),
    (2049, 4096, 2048, 536.06, 0.3889550781, 50.19, 0.000703125),
    (4097, 8192, 4096, 1332.64, 0.551472168, 51.63, 0.00064453125),
    (8193, 16384, 8192, 3591.47, 0.2673986816, 54.27, 0.001356201172),
    (16385, 1000000000, 16384, 5782, 0.3338519287, 65.38, 0.001904296875);

create temp table slowdown as
select run_id,
       ttft_s / ttft_alone_s as ttft,
       (e2e_s - ttft_s) / output_tokens / tbt_alone_s as tbt,
       e2e_s / (ttft_alone_s + tbt_alone_s * (output_tokens - 1)) as e2e
from (select request.*,
             1e-3 * (prompt_ms + prompt_slope * (prompt_tokens - origin)) as ttft_alone_s,
             1e-3 * (token_ms + token_slope * (prompt_tokens - origin)) as tbt_alone_s
      from request
      join dgx_a100 on prompt_tokens between fewest and most
      where status = 'finished');

-- The nine limits: of 50, 90 and 99 % of the requests, on the first token, the time between tokens and the end-to-end
-- time.
create temp table slo(what, share, at_most);
insert into slo values
    ('ttft', 0.5, 2), ('ttft', 0.9, 3), ('ttft', 0.99, 6),
    ('tbt', 0.5, 1.25), ('tbt', 0.9, 1.5), ('tbt', 0.99, 5),
    ('e2e', 0.5, 1.25), ('e2e', 0.9, 1.5), ('e2e', 0.99, 5);

create temp table requests as
select run_id, count(*) as n from slowdown group by run_id;

create temp table quantile as
select ranked.run_id, ranked.what, slowdown / at_most as share_of_limit
from (select run_id, 'ttft' as what, ttft as slowdown, row_number() over (partition by run_id order by ttft) as place from slowdown
      union all
      select run_id, 'tbt', tbt, row_number() over (partition by run_id order by tbt) from slowdown
      union all
      select run_id, 'e2e', e2e, row_number() over (partition by run_id order by e2e) from slowdown) as ranked
join requests using (run_id)
join slo on slo.what = ranked.what and place = cast(ceil(share * n) as integer);

-- One row per run: machines, requests per second, and the limit that is nearest or most exceeded, as a share of it.
create temp table load as
select coalesce(run.scenario ->> '$.services.bloom.pools.prompts.replicas', run.scenario ->> '$.services.bloom.replicas') as prompts,
       coalesce(run.scenario ->> '$.services.bloom.pools.tokens.replicas', 0) as tokens,
       cast(rtrim(run.scenario ->> '$.services.bloom.trace.arrival.rate', '/s') as real) as rate,
       max(share_of_limit) as worst
from run
join quantile on quantile.run_id = run.id
where run.status = 'done'
group by run.id;

-- The largest rate within all limits, on a line between the last rate that is and the first that is not.
create temp table capacity as
with step as (select *, lead(rate) over split as next_rate, lead(worst) over split as next_worst
              from load window split as (partition by prompts, tokens order by rate))
select prompts, tokens, min(rate + (next_rate - rate) * (1 - worst) / (next_worst - worst)) as rate
from step
where worst < 1 and next_worst >= 1
group by prompts, tokens;

-- Of the splits that serve the most in steps of 10 requests/s, the one that is furthest within the limits at 70.
create temp table best as
select prompts, tokens
from capacity join load using (prompts, tokens)
where load.rate = 70 and cast(capacity.rate / 10 as integer) = (select cast(max(rate) / 10 as integer) from capacity)
order by worst, prompts limit 1;
