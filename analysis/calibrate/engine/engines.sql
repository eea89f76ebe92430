-- The accuracy of every engine's preset as a Markdown table. Expects a table file(name, json), one row per preset.
.mode list
.separator ""
.headers off

-- Errors are shown in percent with one decimal, half of a tenth rounded up. Tenths of a percent are integers, so that no release of
-- sqlite rounds otherwise; the billionth is above the error of the product and below the last digit of the files.
create table rounded as
    select file.rowid as place, file.name, kind.key as kind, part.key as part,
           json_extract(part.value, '$.rows') as rows,
           cast(1000 * json_extract(part.value, '$.median') + 0.5 + 1e-9 as integer) as median,
           cast(1000 * json_extract(part.value, '$.p90') + 0.5 + 1e-9 as integer) as p90,
           json_extract(file.json, '$.fitted_on') as fitted_on,
           ifnull((select group_concat(value, ', ') from json_each(file.json, '$.measured_on')), '-') as gpus,
           ifnull((select group_concat(json_extract(value, '$.tensor_parallel'), ', ')
                   from json_each(file.json, '$.overhead')), '-') as degrees
    from file, json_each(file.json) as kind, json_each(kind.value) as part
    where kind.key in ('fit', 'kernels_fit', 'held_out') and part.key <> 'all';
create table error as
    select *, printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both from rounded;

select '| engine | GPUs | tensor parallel | fitted on | what | rows fitted | error | rows held out | error |';
select '|---|---|---|---|---|---:|---:|---:|---:|';
select '| ' || name || ' | ' || gpus || ' | ' || degrees || ' | ' || case when max(kind = 'kernels_fit') then 'fit of kernels' else ifnull(fitted_on, '-') end || ' | ' || part || ' | ' ||
       ifnull(max(case when kind <> 'held_out' then rows end), '') || ' | ' ||
       ifnull(max(case when kind <> 'held_out' then both end), '') || ' | ' ||
       ifnull(max(case when kind = 'held_out' then rows end), '') || ' | ' ||
       ifnull(max(case when kind = 'held_out' then both end), '') || ' |'
from error group by name, part order by place, part;
