-- The accuracy of every GPU's law of power as a Markdown table. Expects a table file(name, json), one row per GPU.
.mode list
.separator ""
.headers off

create table part as
    select file.rowid as place, file.name, part.key as part, part.value as json,
           (select group_concat(key || ' ' || value, ', ') from json_each(part.value, '$.parameters')) as parameters,
           (select group_concat(value, ', ') from json_each(part.value, '$.at_bound')) as at_bound
    from file, json_each(file.json) as part
    where part.key in ('activity', 'clock');

-- Errors are shown in percent with one decimal, half of a tenth rounded up. Tenths of a percent are integers, so that no release of
-- sqlite rounds otherwise; the billionth is above the error of the product and below the last digit of the files.
create table rounded as
    select part.place, part.part, kind.key as kind, error.key as what,
           json_extract(error.value, '$.rows') as rows,
           cast(1000 * json_extract(error.value, '$.median') + 0.5 + 1e-9 as integer) as median,
           cast(1000 * json_extract(error.value, '$.p90') + 0.5 + 1e-9 as integer) as p90
    from part, json_each(json_object('fitted', json_extract(part.json, '$.fit'),
                                     'held out', json_extract(part.json, '$.held_out.error'))) as kind,
         json_each(kind.value) as error
    where not (part.part = 'clock' and error.key = 'all');
create table error as
    select *, printf('%d.%d / %d.%d', median / 10, median % 10, p90 / 10, p90 % 10) as both from rounded;

select '| GPU | part | parameters | at bound | of | rows fitted | error | rows held out | error |';
select '|---|---|---|---|---|---:|---:|---:|---:|';
select '| ' || name || ' | ' || part || ' | ' || case when what in ('all', 'slowdown') then parameters else '' end || ' | ' || case when what in ('all', 'slowdown') then ifnull(at_bound, '') else '' end || ' | ' || what || ' | ' ||
       ifnull(max(case when kind = 'fitted' then rows end), '') || ' | ' ||
       ifnull(max(case when kind = 'fitted' then both end), '') || ' | ' ||
       ifnull(max(case when kind = 'held out' then rows end), '') || ' | ' ||
       ifnull(max(case when kind = 'held out' then both end), '') || ' |'
from error join part using (place, part)
group by place, part, what order by place, part, what in ('all', 'slowdown') desc, what;
select '';
select 'Taken from a GPU with the same chip: ' || group_concat(name || ' (' || json_extract(json, '$.like') || ')', ', ') || '.'
from file where json_extract(json, '$.like') is not null;
