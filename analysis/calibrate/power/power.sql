-- The power models of the GPUs, for accuracy.sh: each view is a table of at most six columns. Expects a table
-- file(name, json), one row per GPU. Every order is by names, never by the ids of json_each: these differ between
-- releases of SQLite.

create table part as
    select file.name as gpu, part.key as part, part.value as json
    from file, json_each(file.json) as part
    where part.key in ('activity', 'clock');

create table parameter as
    select gpu, part, parameter.key as name,
           parameter.value || case when parameter.key in (select value from json_each(part.json, '$.at_bound'))
                                   then ' (bound)' else '' end as value
    from part, json_each(part.json, '$.parameters') as parameter;

-- Errors are shown in percent with one decimal, half of a tenth rounded up. Tenths of a percent are integers, so that
-- no release of SQLite rounds otherwise; the billionth is above the error of the product and below the last digit of
-- the files. The clock model has no rows of power and slowdown together.
create table rounded as
    select gpu, part, kind.key as kind, error.key as what, json_extract(error.value, '$.rows') as rows,
           cast(1000 * json_extract(error.value, '$.median') + 0.5 + 1e-9 as integer) as median,
           cast(1000 * json_extract(error.value, '$.p90') + 0.5 + 1e-9 as integer) as p90
    from part, json_each(json_object('fitted', json_extract(part.json, '$.fit'),
                                     'held out', json_extract(part.json, '$.held_out.error'))) as kind,
         json_each(kind.value) as error
    where not (part = 'clock' and error.key = 'all');

create table error as
    select gpu, part, what, what in ('all', 'slowdown') as is_first,
           max(case when kind = 'fitted' then rows end) as rows_fitted,
           max(case when kind = 'fitted' then both end) as fitted,
           max(case when kind = 'held out' then rows end) as rows_held_out,
           max(case when kind = 'held out' then both end) as held_out
    from (select *, printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both from rounded)
    group by gpu, part, what;

-- In watts: files write "434.61W", to which `parameter` adds " (bound)" where it applies. Rounded by tenths, as errors
-- are.
create view watts as
    select gpu as "GPU", part,
           max(case when name = 'context' then watts end) as context,
           max(case when name = 'active' then watts end) as active,
           max(case when name = 'compute' then watts end) as compute,
           max(case when name = 'memory' then watts end) as memory
    from (select *, printf('%d.%d', tenths / 10, tenths % 10) || case when value like '%bound%' then ' (bound)' else '' end
                    as watts
          from (select *, cast(10 * cast(value as real) + 0.5 + 1e-9 as integer) as tenths
                from parameter where value like '%W%'))
    group by gpu, part order by gpu, part;
create view terms as
    select gpu as "GPU", max(case when name = 'attention' then value end) as attention,
           max(case when name = 'widening' then value end) as widening
    from parameter where part = 'activity' group by gpu having attention is not null order by gpu;
create view clocks as
    select gpu as "GPU",
           max(case when name = 'clock_share' then value end) as clock_share,
           max(case when name = 'voltage_floor' then value end) as voltage_floor,
           max(case when name = 'voltage_knee' then value end) as voltage_knee
    from parameter where part = 'clock' group by gpu order by gpu;
create view activity as
    select gpu as "GPU", what as "of", rows_fitted as "rows fitted", fitted as "error", rows_held_out as "rows held out",
           held_out as "error held out"
    from error where part = 'activity' order by gpu, is_first desc, what;
create view clock as
    select gpu as "GPU", what as "of", rows_fitted as "rows fitted", fitted as "error", rows_held_out as "rows held out",
           held_out as "error held out"
    from error where part = 'clock' order by gpu, is_first desc, what;
create view alike as
    select name as "GPU", json_extract(json, '$.like') as "same chip as"
    from file where json_extract(json, '$.like') is not null order by name;
