-- Errors of the judged rows. `shipped`: by the presets as they are; `left out`: by constants fitted without the row's
-- group; `roofline`: by the naive roofline, where it knows the LLM; `ttft`: of the shipped presets.
create temp view error as
select 'shipped' as measure, group_name, in_fit, abs(tpot_error) as value from board where judged
union all
select 'left out', group_name, in_fit, abs(left_out_error) from board where judged
union all
select 'roofline', group_name, in_fit, abs(roofline_error) from board where judged and roofline_error is not null
union all
select 'left out where roofline', group_name, in_fit, abs(left_out_error) from board
where judged and roofline_error is not null
union all
select 'ttft', group_name, in_fit, abs(ttft_error) from board where judged;

-- Each error in its group, among the rows that a fit used alike, and among all.
create temp view part as
select measure, 'group' as kind, group_name as name, value from error
union all
select measure, 'fit', in_fit, value from error
union all
select measure, 'all', '', value from error;

-- Medians and 90th percentiles between order statistics: the two nearest ranks weigh by their nearness.
create temp view part_quantile as
select measure, kind, name, n, sum(value * max(0, 1 - abs(rank - 0.5 * (n - 1)))) as median,
       sum(value * max(0, 1 - abs(rank - 0.9 * (n - 1)))) as p90
from (select measure, kind, name, value, count(*) over (partition by measure, kind, name) as n,
             row_number() over (partition by measure, kind, name order by value) - 1 as rank from part)
group by measure, kind, name;

create temp view group_quantile as
select measure, name as group_name, n, median, p90 from part_quantile where kind = 'group';
create temp view fit_quantile as select measure, name as in_fit, n, median, p90 from part_quantile where kind = 'fit';
create temp view quantile as select measure, n, median, p90 from part_quantile where kind = 'all';

-- Share of the judged rows inside their interval of 90 %, which comes from the errors of all other groups.
create temp view coverage as
select group_name, count(*) as n, avg(tpot_ms between fast_tpot_ms and slow_tpot_ms) as covered
from board where judged group by group_name;

-- Rows with prompts on other GPUs: the predicted TPOT of the replicas that decode. A row below the bound writes several
-- tokens at once. A group is one GPU, LLM, engine and pair of lengths.
create temp view apart as
select group_name || ', ' || prompt_tokens || ' + ' || output_tokens as name, tpot_ms, predicted_tpot_ms,
       tpot_ms < bound_tpot_ms as is_several, tpot_error, 1.0 * users / workers as users
from board where mode = 'disagg' and first_copy and predicted_tpot_ms is not null;

-- Spearman's rank correlation of predicted and measured TPOT; equal values share their mean rank.
create temp view apart_rank as
select name, is_several,
       rank() over (partition by name order by users) + 0.5 * (count(*) over (partition by name, users) - 1) as u,
       rank() over (partition by name order by tpot_ms) + 0.5 * (count(*) over (partition by name, tpot_ms) - 1) as m,
       rank() over (partition by name order by predicted_tpot_ms)
         + 0.5 * (count(*) over (partition by name, predicted_tpot_ms) - 1) as p
from apart where not is_several;
create temp view apart_order as
select name, count(*) as n,
       coalesce((avg(m * p) - avg(m) * avg(p)) /
                sqrt((avg(m * m) - avg(m) * avg(m)) * (avg(p * p) - avg(p) * avg(p))), 0) as rho,
       coalesce((avg(m * u) - avg(m) * avg(u)) /
                sqrt((avg(m * m) - avg(m) * avg(m)) * (avg(u * u) - avg(u) * avg(u))), 0) as rho_users
from apart_rank group by name;
create temp view apart_quantile as
select name, n, sum(value * max(0, 1 - abs(rank - 0.5 * (n - 1)))) as median,
       sum(value * max(0, 1 - abs(rank - 0.9 * (n - 1)))) as p90
from (select name, abs(tpot_error) as value, count(*) over (partition by name) as n,
             row_number() over (partition by name order by abs(tpot_error)) - 1 as rank from apart where not is_several)
group by name;

-- Rows with prompts on other GPUs against intervals of 90 %: `covered` lie inside the one of fast_tpot_ms, `faster`
-- took less. `wide_covered` lie inside one that also holds 90 % of such rows of other groups (quantiles `low` and
-- `high` of measured over predicted TPOT).
create temp view apart_ratio as
select group_name, tpot_ms / predicted_tpot_ms as ratio, fast_tpot_ms / predicted_tpot_ms as fast,
       slow_tpot_ms / predicted_tpot_ms as slow
from board where mode = 'disagg' and first_copy and predicted_tpot_ms is not null and not tpot_ms < bound_tpot_ms;
create temp view apart_others as
select group_name, sum(ratio * max(0, 1 - abs(rank - 0.05 * (n - 1)))) as low,
       sum(ratio * max(0, 1 - abs(rank - 0.95 * (n - 1)))) as high
from (select g.group_name, o.ratio, count(*) over (partition by g.group_name) as n,
             row_number() over (partition by g.group_name order by o.ratio) - 1 as rank
      from (select distinct group_name from apart_ratio) as g
      join apart_ratio as o on o.group_name <> g.group_name)
group by group_name;
create temp view apart_coverage as
select group_name, count(*) as n, avg(ratio between fast and slow) as covered, avg(ratio < fast) as faster,
       min(fast) as fast, max(slow) as slow,
       avg(ratio between min(fast, coalesce(low, fast)) and max(slow, coalesce(high, slow))) as wide_covered
from apart_ratio left join apart_others using (group_name) where fast is not null group by group_name;

-- One row per GPU, LLM and engine.
create temp view board_groups as
select b.*, l.median as left_out_median, l.p90 as left_out_p90, s.median as shipped_median, s.p90 as shipped_p90,
       r.median as roofline_median, r.p90 as roofline_p90
from (select group_name, min(gpu) as gpu, count(*) as rows, sum(first_copy) as measurements,
             sum(predicted_tpot_ms is not null) as predicted, sum(judged) as judged,
             case when sum(in_fit = 'row') > 0 then 'row' else min(in_fit) end as in_fit,
             group_concat(distinct reason) as reasons
      from board group by group_name) as b
left join group_quantile as l on l.measure = 'left out' and l.group_name = b.group_name
left join group_quantile as s on s.measure = 'shipped' and s.group_name = b.group_name
left join group_quantile as r on r.measure = 'roofline' and r.group_name = b.group_name;
