#include "sim/world/service/session_stats.h"

#include <string.h>

int session_stats_init(struct session_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    return distribution_init(&stats->duration_s);
}

void session_stats_fini(struct session_stats *stats)
{
    distribution_fini(&stats->duration_s);
}

int session_stats_merge(struct session_stats *into, const struct session_stats *from)
{
    into->is_simulated |= from->is_simulated;
    into->begun += from->begun;
    into->finished += from->finished;
    into->turns += from->turns;
    into->prompt_tokens += from->prompt_tokens;
    into->repeated_tokens += from->repeated_tokens;
    into->hit_tokens += from->hit_tokens;
    into->loaded_tokens += from->loaded_tokens;
    return distribution_merge(&into->duration_s, &from->duration_s);
}

void session_stats_add_arrival(struct session_stats *stats, const struct request *request)
{
    stats->begun += request->session.starts;
    stats->is_simulated |= !request->session.is_logged;
}

int session_stats_add_finished(struct session_stats *stats, const struct request *request, sim_ns warmup_ns, sim_ns now)
{
    const struct request_session *session = &request->session;
    const bool counts = request->view.arrival_ns >= warmup_ns;
    stats->turns += counts;
    if (session->is_logged) return 0;
    stats->is_simulated = true;
    if (counts) {
        stats->prompt_tokens += request->prompt_tokens;
        stats->repeated_tokens += session->repeated_tokens;
        stats->hit_tokens += request->cached_tokens;
        stats->loaded_tokens += request->loaded_tokens;
    }
    if (!session->ends || session->start_ns < warmup_ns) return 0;
    stats->finished++;
    return distribution_add(&stats->duration_s, sim_s_from_ns(now - session->start_ns));
}

int session_stats_emit(const struct session_stats *stats, const struct sink *sink)
{
    const struct {
        const char *name;
        int64_t value;
    } counts[] = {
        {"session.begun", stats->begun},
        {"session.finished", stats->finished},
        {"session.turns.sum", stats->turns},
        {"session.new_tokens.sum", stats->prompt_tokens - stats->repeated_tokens},
        {"session.hit_tokens.sum", stats->hit_tokens},
        {"session.loaded_tokens.sum", stats->loaded_tokens},
        {"session.recomputed_tokens.sum", stats->repeated_tokens - stats->hit_tokens - stats->loaded_tokens},
    };
    int code = 0;
    if (stats->begun == 0 && stats->turns == 0) return 0;
    if (!stats->is_simulated) {
        code = metric_emit(sink, "session.begun", (double)stats->begun);
        return code != 0 ? code : metric_emit(sink, "session.turns.sum", (double)stats->turns);
    }
    for (size_t i = 0; code == 0 && i < sizeof counts / sizeof *counts; i++)
        code = metric_emit(sink, counts[i].name, (double)counts[i].value);
    if (code == 0) code = metric_emit_distribution(sink, "session.duration_s", NULL, &stats->duration_s);
    if (code != 0 || sink->request != NULL) return code;
    return metric_emit_histogram(sink, "session.duration_s", &stats->duration_s.histogram);
}
