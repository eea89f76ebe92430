/* The border to routers: what they may ask beyond the loads, of the present or of the latest report. */
#include "sim/world/service/fleet.h"

static const struct replica_usage *reported(const struct fleet_view *view, int32_t replica)
{
    const struct fleet_reports *reports = &view->fleet->reports;
    return reports->period_ns > 0 ? &reports->usages[fleet_view_number(view, replica)] : NULL;
}

static const struct replica *replica_at(const struct fleet_view *view, int32_t replica)
{
    return &view->fleet->replicas[fleet_view_number(view, replica)];
}

int64_t fleet_view_kv_used_blocks(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->kv_blocks : replica_used_blocks(replica_at(view, replica), view->now_ns);
}

int64_t fleet_view_prefix_tokens(const struct fleet_view *view, int32_t replica, const struct request_view *request)
{
    struct replica *candidate = &view->fleet->replicas[fleet_view_number(view, replica)];
    if (candidate->prefixes.block_tokens == 0) return 0;
    replica_catch_up(candidate, view->now_ns);
    return replica_cached_tokens(candidate, request_of(request));
}

int64_t fleet_view_kv_total_blocks(const struct fleet_view *view, int32_t replica)
{
    return replica_at(view, replica)->kv.total_blocks;
}

int64_t fleet_view_kv_total_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct kvcache *kv = &replica_at(view, replica)->kv;
    return kv->total_blocks * kv->block_tokens;
}

int64_t fleet_view_decode_context_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->decode_context_tokens
                         : replica_decode_context_tokens(replica_at(view, replica), view->now_ns);
}

int64_t fleet_view_entering_prompts(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->entering_prompts : replica_entering_prompts(replica_at(view, replica));
}

int64_t fleet_view_idle_sequences(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    return usage != NULL ? usage->idle_sequences : replica_idle_sequences(replica_at(view, replica));
}

enum pool_role fleet_view_role(const struct fleet_view *view, int32_t replica)
{
    return (enum pool_role)fleet_pool_of(view->fleet, fleet_view_number(view, replica))->config.role;
}

int64_t fleet_view_reserved_tokens(const struct fleet_view *view, int32_t replica)
{
    const struct replica_usage *usage = reported(view, replica);
    *view->fleet->asked_oracle = true;
    return usage != NULL ? usage->reserved_tokens : view->fleet->reserved_tokens[fleet_view_number(view, replica)];
}

int64_t fleet_view_full_tokens(const struct fleet_view *view, const struct request_view *request)
{
    const struct request *asked = request_of(request);
    *view->fleet->asked_oracle = true;
    return (int64_t)asked->prompt_tokens + asked->output_tokens;
}
