-- The engine presets, for accuracy.sh: each view is a table of at most six columns. Expects a table file(name, json),
-- one row per preset. Every order is by names, never by the ids of json_each: these differ between releases of
-- SQLite.

-- Errors are shown in percent with one decimal, half of a tenth rounded up. Tenths of a percent are integers, so that
-- no release of SQLite rounds otherwise; the billionth is above the error of the product and below the last digit of
-- the files.
create table rounded as
    select file.name, kind.key as kind, part.key as part, json_extract(part.value, '$.rows') as rows,
           cast(1000 * json_extract(part.value, '$.median') + 0.5 + 1e-9 as integer) as median,
           cast(1000 * json_extract(part.value, '$.p90') + 0.5 + 1e-9 as integer) as p90
    from file, json_each(file.json) as kind, json_each(kind.value) as part
    where kind.key in ('fit', 'kernels_fit', 'held_out', 'left_out') and part.key <> 'all';

create view errors as
    select name as engine, part as "of",
           max(case when kind <> 'held_out' then rows end) as "rows fitted",
           max(case when kind <> 'held_out' then both end) as "error",
           max(case when kind = 'held_out' then rows end) as "rows held out",
           max(case when kind = 'held_out' then both end) as "error held out"
    from (select *, printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both from rounded
          where kind <> 'left_out')
    group by name, part order by name, part;

create view measured as
    select name as engine,
           coalesce((select group_concat(value, ', ')
                     from (select value from json_each(file.json, '$.measured_on') order by key)),
                    (select group_concat(value, ', ')
                     from (select distinct json_extract(value, '$.gpu') as value
                           from json_each(file.json, '$.overhead') order by value)), '-') as "GPUs",
           ifnull((select group_concat(value, ', ')
                   from (select distinct json_extract(value, '$.tensor_parallel') as value
                         from json_each(file.json, '$.overhead') order by value)), '-') as "tensor parallel",
           case when json_extract(json, '$.kernels_fit') is not null then 'fit of the kernels'
                else ifnull(json_extract(json, '$.fitted_on'), '-') end as "fitted on"
    from file order by name;

-- The set of the collectives is named only where it differs from that of the other kernels.
create view traits as
    select name as engine, kernels || case when collectives = kernels then '' else ', collectives ' || collectives end
               as "set",
           ifnull(batching, 'vllm-v1') as "batching",
           case when graph_tokens > 0 then 'to ' || graph_tokens || ' tokens' else 'none' end as "CUDA graphs",
           case when mixed then 1 else 2 end as "attention launches",
           case when direct then 'own kernel' else 'library' end as "short all-reduce"
    from (select name, ifnull(json_extract(json, '$.kernels'), 'in-model') as kernels,
                 ifnull(json_extract(json, '$.collectives'), 'in-model') as collectives,
                 (select group_concat(case when key = 'policy' then value
                                           when type in ('true', 'false') then key || '=' || type
                                           else key || '=' || value end, ' ')
                  from (select * from json_each(file.json, '$.batching') order by key <> 'policy', key)) as batching,
                 json_extract(json, '$.graph_tokens') as graph_tokens,
                 json_extract(json, '$.mixed_attention') as mixed,
                 json_extract(json, '$.direct_all_reduce') as direct
          from file) order by name;

-- The names of these errors are "HOST__LLM".
create view "left-out" as
    select name as engine, substr(part, 1, at - 1) as "host of", substr(part, at + 2) as "LLM left out", rows,
           printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as "error"
    from (select *, instr(part, '__') as at from rounded where kind = 'left_out') order by name, part;

-- One row per overhead, in microseconds: files write "12.47ms", "47.7us", "5607ns" or "0s".
create table overhead as
    select name, host, parallel, kind, cast(text as real) * case when text like '%ns' then 0.001 when text like '%us' then 1.0
               when text like '%ms' then 1000.0 else 1000000.0 end as us
    from (select name, ifnull(json_extract(part.value, '$.gpu'), 'all') as host,
                 json_extract(part.value, '$.tensor_parallel') as parallel, kind.value as kind,
                 ifnull(json_extract(part.value, '$.' || kind.value), '0s') as text
          from file, json_each(file.json, '$.overhead') as part,
               json_each('["iteration", "sequence", "prompt"]') as kind);

create view overheads as
    select name as engine, host as "host of", parallel as "tensor parallel",
           max(case when kind = 'iteration' then shown end) as "iteration, us",
           max(case when kind = 'sequence' then shown end) as "sequence, us",
           max(case when kind = 'prompt' then shown end) as "prompt, us"
    from (select *, printf('%d.%d', tenths / 10, tenths % 10) as shown
          from (select *, cast(10 * us + 0.5 + 1e-9 as integer) as tenths from overhead))
    group by name, host, parallel order by name, host = 'all', host, parallel;
