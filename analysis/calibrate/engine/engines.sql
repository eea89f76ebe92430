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
    where kind.key in ('fit', 'kernels_fit', 'held_out') and part.key <> 'all';

create view errors as
    select name as engine, part as "of",
           max(case when kind <> 'held_out' then rows end) as "rows fitted",
           max(case when kind <> 'held_out' then both end) as "error",
           max(case when kind = 'held_out' then rows end) as "rows held out",
           max(case when kind = 'held_out' then both end) as "error held out"
    from (select *, printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both from rounded)
    group by name, part order by name, part;

create view measured as
    select name as engine,
           ifnull((select group_concat(value, ', ')
                   from (select value from json_each(file.json, '$.measured_on') order by key)), '-') as "GPUs",
           ifnull((select group_concat(value, ', ')
                   from (select json_extract(value, '$.tensor_parallel') as value
                         from json_each(file.json, '$.overhead') order by key)), '-') as "tensor parallel",
           case when json_extract(json, '$.kernels_fit') is not null then 'fit of the kernels'
                else ifnull(json_extract(json, '$.fitted_on'), '-') end as "fitted on"
    from file order by name;

create view traits as
    select name as engine, ifnull(json_extract(json, '$.kernels'), 'in-model') as "kernels",
           ifnull(json_extract(json, '$.collectives'), 'in-model') as "collectives",
           case when json_extract(json, '$.graph_tokens') > 0 then 'up to ' || json_extract(json, '$.graph_tokens') || ' tokens'
                else 'none' end as "CUDA graphs",
           case when json_extract(json, '$.mixed_attention') then 'one' else 'two' end as "attention launches",
           case when json_extract(json, '$.direct_all_reduce') then 'own kernel' else 'library' end as "short all-reduce"
    from file order by name;

create view overheads as
    select name as engine, json_extract(overhead.value, '$.tensor_parallel') as "tensor parallel",
           ifnull(json_extract(overhead.value, '$.iteration'), '0s') as "iteration",
           ifnull(json_extract(overhead.value, '$.sequence'), '0s') as "sequence",
           ifnull(json_extract(overhead.value, '$.prompt'), '0s') as "prompt"
    from file, json_each(file.json, '$.overhead') as overhead order by name, overhead.key;
