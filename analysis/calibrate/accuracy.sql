-- The accuracy of every calibration as two Markdown tables, and which GPUs are taken for others. Expects a table
-- file(json), one row per calibration file.
.mode list
.separator ""
.headers off

create table class as
    select json_extract(file.json, '$.gpu') as gpu, kernels.key as kernels, class.key as name, class.value as json,
           row_number() over (order by file.rowid, kernels.id, class.id) as place,
           json_extract(class.value, '$.rows') as rows, json_extract(class.value, '$.held_out.by') as held_out_by
    from file, json_each(file.json, '$.sets') as kernels, json_each(kernels.value) as class;

-- Every error of a class by what it is over: held out where rows were, else of the fit.
create table error as
    select place, case when held_out_by is null then 'fit' else 'held out' end as kind, part.key as part, part.value as json
    from class, json_each(class.json, case when held_out_by is null then '$.fit' else '$.held_out.error' end) as part
    union all
    select place, 'fold', part.key, part.value from class, json_each(class.json, '$.held_out.folds') as part
    where held_out_by in ('llm', 'gpu')
    union all
    select place, 'layer sum', part.key, part.value from class, json_each(class.json, '$.held_out.layer_sum') as part
    union all
    select place, 'roofline', part.key, part.value from class, json_each(class.json, '$.held_out.roofline') as part;

-- Errors are shown in percent with one decimal, half of a tenth rounded up. Tenths of a percent are integers, so that no release of
-- sqlite rounds otherwise; the billionth is above the error of the product and below the last digit of the files.
create table rounded as
    select place, kind, part, cast(1000 * json_extract(json, '$.median') + 0.5 + 1e-9 as integer) as median,
           cast(1000 * json_extract(json, '$.p90') + 0.5 + 1e-9 as integer) as p90
    from error;
create table shown as
    select place, kind, part, printf('%d.%d', median / 10, median % 10) as median,
           printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both
    from rounded;

select '| GPU | set | kernels | rows | held out by | all | 1-16 | 17-256 | 257-4096 | 4097- | worst fold | layer sum | hard roofline |';
select '|---|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|';
select '| ' || gpu || ' | ' || kernels || ' | ' || name || ' | ' || rows || ' | ' || ifnull(held_out_by, '-') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'all' then both end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = '1-16' then median end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = '17-256' then median end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = '257-4096' then median end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = '4097-' then median end), '') || ' | ' ||
       ifnull(max(case when kind = 'fold' then printf('%8s', median) end), '') || ' | ' ||
       ifnull(max(case when kind = 'layer sum' and part = 'all' then both end), '') || ' | ' ||
       ifnull(max(case when kind = 'roofline' and part = 'all' then both end), '') || ' |'
from class join shown using (place) group by place order by place;

select '';
select '| GPU | set | kernels | qkv | out | up | down | head | n, k from 512 |';
select '|---|---|---|---:|---:|---:|---:|---:|---:|';
select '| ' || gpu || ' | ' || kernels || ' | ' || name || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'qkv' then both end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'out' then both end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'up' then both end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'down' then both end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'head' then both end), '') || ' | ' ||
       ifnull(max(case when kind in ('fit', 'held out') and part = 'nk-512-' then both end), '') || ' |'
from class join shown using (place) where name like 'gemm%' group by place order by place;

select '';
select 'What was not measured on a GPU comes from one with the same chip: ' ||
       group_concat(json_extract(json, '$.gpu') || ' (' || json_extract(json, '$.like') || ')', ', ') || '.'
from file where json_extract(json, '$.like') is not null;
