-- The accuracy of the calibrations, for accuracy.sh: each view is a table of at most six columns. Expects a table
-- file(name, json), one row per calibration file. Every order is by names, never by the ids of json_each: these differ
-- between releases of SQLite.

-- The order of kernels in tables: products, attention, the rest of a layer, collectives.
create table kernel (place integer primary key, name text);
insert into kernel (name) values
    ('gemm'), ('gemm_fp8'), ('gemm_fp8_block'), ('gemm_nvfp4'), ('gemm_int4'), ('prefill_attention'), ('decode_attention'), ('norm'), ('rotary'),
    ('activation'), ('residual'), ('embedding'), ('kv_write'), ('sampling'), ('moe'), ('moe_fp8'), ('moe_fp8_tensor'),
    ('moe_nvfp4'), ('moe_mxfp4'), ('moe_int4'), ('moe_fp8_masked'), ('moe_fp8_contiguous'), ('all_reduce'), ('all_gather'), ('reduce_scatter'), ('all_to_all'), ('direct_all_reduce'), ('send');

create table class as
    select json_extract(file.json, '$.gpu') as gpu, sets.key as set_name, class.key as name, class.value as json,
           json_extract(class.value, '$.rows') as rows, json_extract(class.value, '$.held_out.by') as held_out_by
    from file, json_each(file.json, '$.sets') as sets, json_each(sets.value) as class;

-- Every error of a class by what it is over: held out where rows were, else of the fit.
create table error as
    select gpu, set_name, class.name, 'rows' as kind, part.key as part, part.value as json
    from class, json_each(class.json, case when held_out_by is null then '$.fit' else '$.held_out.error' end) as part
    union all
    select gpu, set_name, class.name, 'fold', part.key, part.value
    from class, json_each(class.json, '$.held_out.folds') as part
    union all
    select gpu, set_name, class.name, 'layer sum', part.key, part.value
    from class, json_each(class.json, '$.held_out.layer_sum') as part
    union all
    select gpu, set_name, class.name, 'roofline', part.key, part.value
    from class, json_each(class.json, '$.held_out.roofline') as part;

-- Errors are shown in percent with one decimal, half of a tenth rounded up. Tenths of a percent are integers, so that
-- no release of SQLite rounds otherwise; the billionth is above the error of the product and below the last digit of
-- the files.
create table rounded as
    select gpu, set_name, name, kind, part, json_extract(json, '$.median') as exact,
           cast(1000 * json_extract(json, '$.median') + 0.5 + 1e-9 as integer) as median,
           cast(1000 * json_extract(json, '$.p90') + 0.5 + 1e-9 as integer) as p90
    from error;
create table shown as
    select gpu, set_name, name, kind, part, exact, printf('%d.%d', median / 10, median % 10) as median,
           printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both
    from rounded;

-- One row per class, its errors side by side.
create table wide as
    select gpu, set_name, class.name, ifnull(place, 1000) as place, rows, held_out_by,
           max(case when kind = 'rows' and part = 'all' then both end) as "all",
           max(case when kind = 'rows' and part = '1-16' then median end) as tokens_1,
           max(case when kind = 'rows' and part = '17-256' then median end) as tokens_17,
           max(case when kind = 'rows' and part = '257-4096' then median end) as tokens_257,
           max(case when kind = 'rows' and part = '4097-' then median end) as tokens_4097,
           max(case when kind = 'rows' and part = 'qkv' then both end) as qkv,
           max(case when kind = 'rows' and part = 'out' then both end) as out,
           max(case when kind = 'rows' and part = 'up' then both end) as up,
           max(case when kind = 'rows' and part = 'down' then both end) as down,
           max(case when kind = 'rows' and part = 'head' then both end) as head,
           max(case when kind = 'rows' and part = 'nk-512-' then both end) as from_512,
           max(case when kind = 'layer sum' and part = 'all' then both end) as layer_sum,
           max(case when kind = 'roofline' and part = 'all' then both end) as roofline
    from class join shown using (gpu, set_name, name) left join kernel on kernel.name = class.name
    group by gpu, set_name, class.name;

-- The group with the largest median; of equals the first by name.
create table worst as
    select gpu, set_name, name, part, median,
           row_number() over (partition by gpu, set_name, name order by exact desc, part) as nth
    from shown where kind = 'fold';

create view "in-model" as
    select gpu as "GPU", name as "kernels", rows, ifnull(held_out_by, '-') as "held out by", "all" as "error"
    from wide where set_name = 'in-model' order by gpu, place, name;
create view isolated as
    select gpu as "GPU", name as "kernels", rows, ifnull(held_out_by, '-') as "held out by", "all" as "error"
    from wide where set_name = 'isolated' order by gpu, place, name;
create view "other-sets" as
    select gpu as "GPU", set_name as "set", name as "kernels", rows, ifnull(held_out_by, '-') as "held out by",
           "all" as "error"
    from wide where set_name not in ('in-model', 'isolated') order by gpu, set_name, place, name;
create view releases as
    select gpu as "GPU", set_name as "set", name as "kernels", rows, "all" as "error",
           ifnull(roofline, '') as "hard roofline"
    from wide where set_name like '%-%._%' order by gpu, set_name, place, name;
create view "in-model-bands" as
    select gpu as "GPU", name as "kernels", tokens_1 as "1-16", tokens_17 as "17-256", tokens_257 as "257-4096",
           tokens_4097 as "4097-"
    from wide where set_name = 'in-model' and coalesce(tokens_1, tokens_17, tokens_257, tokens_4097) is not null
    order by gpu, place, name;
create view "isolated-bands" as
    select gpu as "GPU", name as "kernels", tokens_1 as "1-16", tokens_17 as "17-256", tokens_257 as "257-4096",
           tokens_4097 as "4097-"
    from wide where set_name = 'isolated' and coalesce(tokens_1, tokens_17, tokens_257, tokens_4097) is not null
    order by gpu, place, name;
create view "worst-folds" as
    select gpu as "GPU", set_name as "set", name as "kernels", held_out_by || ' ' || part as "held out",
           worst.median as "median"
    from wide join worst using (gpu, set_name, name)
    where nth = 1 and held_out_by in ('llm', 'gpu') order by gpu, set_name, place, name;
create view roofline as
    select gpu as "GPU", set_name as "set", name as "kernels", "all" as "this model", roofline as "hard roofline"
    from wide where roofline is not null and set_name not like '%-%._%' order by gpu, set_name, place, name;
create view products as
    select gpu as "GPU", qkv, out, up, down, head
    from wide where name = 'gemm' and qkv is not null order by gpu, set_name;
create view layers as
    select gpu as "GPU", set_name as "set", name as "kernels", "all", from_512 as "n, k from 512",
           layer_sum as "sum of a layer"
    from wide where name like 'gemm%' and set_name not like '%-%._%' and coalesce(from_512, layer_sum) is not null
    order by gpu, set_name, place, name;
-- How many classes of kernels were measured on each GPU, by set; the GPU that the others come from.
create view gpus as
    select file.name as "GPU",
           count(case when set_name = 'in-model' then 1 end) as "in-model",
           count(case when set_name = 'isolated' then 1 end) as "isolated",
           count(case when set_name not in ('in-model', 'isolated') then 1 end) as "other sets",
           json_extract(file.json, '$.like') as "others as"
    from file left join class on class.gpu = file.name
    group by file.name order by file.name;
