#include "tests/support/naive_rl.h"

#include <stddef.h>
#include <string.h>

enum { NEVER = -1, MOST_RUNNING = 256 };
enum phase { IDLE, FETCH, TRAIN, STASH, SEND };

struct naive_replica {
    struct naive_rl_request *queue[1024], *running[MOST_RUNNING];
    int64_t chunk[MOST_RUNNING]; /* tokens of each running request in the iteration in progress */
    int n_queue, n_running, n_in_iteration;
    sim_ns boundary_ns, moved_ns;
    bool is_held, is_halting;
};

struct run {
    struct naive_rl *rl;
    struct naive_replica replicas[NAIVE_RL_REPLICAS];
    enum phase phase;
    sim_ns phase_since_ns, train_end_ns, release_ns, generate_since_ns;
    int64_t begun, generated, trained, loaded, sending, left, n_moving, next_request;
    int64_t versions[64];
    bool is_generating;
};

static int64_t per_step(const struct naive_rl *rl)
{
    return rl->prompts * rl->samples;
}

static void note(struct run *run, enum naive_rl_action action, int64_t step, sim_ns at)
{
    run->rl->events[run->rl->n_events++] = (struct naive_rl_event){action, step, at};
}

static void begin_moves(struct run *run, enum phase phase, sim_ns now)
{
    const struct naive_rl *rl = run->rl;
    run->phase = phase;
    run->phase_since_ns = now;
    run->n_moving = rl->replicas;
    for (int r = 0; r < rl->replicas; r++) {
        struct naive_replica *replica = &run->replicas[r];
        const sim_ns lasts_ns = phase == SEND ? rl->send_ns : rl->swap_ns;
        const bool halts = phase == SEND && rl->update == NAIVE_RL_HALT;
        replica->is_held = halts;
        replica->is_halting = halts && replica->n_in_iteration > 0;
        if (!replica->is_halting) replica->moved_ns = now + lasts_ns;
    }
}

static void train(struct run *run, sim_ns now)
{
    struct naive_rl *rl = run->rl;
    const struct naive_rl_request *first = rl->requests + run->trained * per_step(rl);
    int64_t tokens = 0;
    for (int64_t i = 0; i < per_step(rl); i++) tokens += first[i].prompt + first[i].output;
    run->phase = TRAIN;
    run->phase_since_ns = now;
    run->train_end_ns = now + rl->training_ns(rl->context, tokens);
    note(run, NAIVE_RL_TRAIN, run->trained, now);
}

static void decide(struct run *run, sim_ns now)
{
    struct naive_rl *rl = run->rl;
    const bool drains = rl->update == NAIVE_RL_DRAIN, beside = rl->update == NAIVE_RL_BESIDE;
    rl->end_ns = now;
    if (run->phase == IDLE && run->trained > run->loaded && !(drains && run->is_generating)) {
        run->sending = run->trained;
        note(run, NAIVE_RL_SEND, run->trained - 1, now);
        begin_moves(run, SEND, now);
    }
    if (run->phase == IDLE && run->generated > run->trained) {
        if (rl->together)
            begin_moves(run, FETCH, now);
        else
            train(run, now);
    }
    if (!run->is_generating && run->begun < rl->steps && run->begun - run->loaded <= rl->staleness &&
        (run->phase != SEND || beside)) {
        run->is_generating = true;
        run->left = per_step(rl);
        run->release_ns = now + 1;
        run->versions[run->begun] = run->loaded;
        note(run, NAIVE_RL_GENERATE, run->begun++, now + 1);
    }
}

static void on_train_end(struct run *run, sim_ns now)
{
    struct naive_rl *rl = run->rl;
    run->train_end_ns = NEVER;
    rl->training_time_ns += now - run->phase_since_ns;
    rl->stale_sum += (double)((run->trained - run->versions[run->trained]) * per_step(rl));
    for (int64_t i = 0; i < per_step(rl); i++)
        rl->trained_tokens += rl->requests[run->trained * per_step(rl) + i].output;
    run->trained++;
    run->phase = IDLE;
    if (rl->together)
        begin_moves(run, STASH, now);
    else
        decide(run, now);
}

static void on_release(struct run *run, sim_ns now)
{
    struct naive_rl *rl = run->rl;
    run->release_ns = NEVER;
    run->generate_since_ns = now;
    for (int64_t i = 0; i < per_step(rl); i++, run->next_request++) {
        struct naive_replica *replica = &run->replicas[run->next_request % rl->replicas];
        struct naive_rl_request *request = &rl->requests[run->next_request];
        request->arrival_ns = now;
        replica->queue[replica->n_queue++] = request;
        if (replica->boundary_ns == NEVER) replica->boundary_ns = now;
    }
}

static void on_moved(struct run *run, struct naive_replica *replica, sim_ns now)
{
    struct naive_rl *rl = run->rl;
    const enum phase phase = run->phase;
    replica->moved_ns = NEVER;
    if (replica->is_held && replica->n_queue + replica->n_running > 0) replica->boundary_ns = now;
    replica->is_held = false;
    if (--run->n_moving > 0) return;
    run->phase = IDLE;
    if (phase == SEND) {
        rl->n_sends++;
        rl->sending_ns += now - run->phase_since_ns;
        run->loaded = run->sending;
        decide(run, now);
        return;
    }
    rl->swapping_ns += now - run->phase_since_ns;
    if (phase == FETCH)
        train(run, now);
    else
        decide(run, now);
}

static void finish(struct run *run, struct naive_rl_request *request, sim_ns now)
{
    request->end_ns = now;
    if (--run->left > 0) return;
    run->is_generating = false;
    run->generated++;
    run->rl->generating_ns += now - run->generate_since_ns;
    decide(run, now);
}

static void end_iteration(struct run *run, struct naive_replica *replica, sim_ns now)
{
    struct naive_rl_request *ended[MOST_RUNNING];
    int n = 0, n_ended = 0;
    for (int i = 0; i < replica->n_running; i++) {
        struct naive_rl_request *request = replica->running[i];
        const bool is_prompt = request->processed < request->prompt;
        if (is_prompt) request->processed += replica->chunk[i];
        if (replica->chunk[i] > 0 && request->processed == request->prompt) request->generated++;
        if (request->generated == request->output)
            ended[n_ended++] = request;
        else
            replica->running[n++] = request;
    }
    replica->n_running = n;
    replica->n_in_iteration = 0;
    for (int i = 0; i < n_ended; i++) finish(run, ended[i], now);
}

static void begin_iteration(struct run *run, struct naive_replica *replica, sim_ns now)
{
    const struct naive_rl *rl = run->rl;
    const struct naive_rl_cost *cost = &rl->cost;
    int64_t budget = rl->budget, prompt_tokens = 0, decoding = 0, context = 0;
    replica->boundary_ns = NEVER;
    while (replica->n_running < rl->max_sequences && replica->n_queue > 0) {
        replica->running[replica->n_running++] = replica->queue[0];
        memmove(&replica->queue[0], &replica->queue[1], (size_t)--replica->n_queue * sizeof replica->queue[0]);
    }
    for (int i = 0; i < replica->n_running; i++) {
        const struct naive_rl_request *request = replica->running[i];
        const int64_t rest = request->prompt - request->processed;
        replica->chunk[i] = rest == 0 ? 1 : rest < budget ? rest : budget;
        budget -= replica->chunk[i];
        if (rest > 0) prompt_tokens += replica->chunk[i];
        decoding += rest == 0;
        context += rest == 0 ? request->prompt + request->generated : 0;
    }
    if (replica->n_running == 0) return;
    const int64_t fixed_p = prompt_tokens > 0 ? cost->prefill_ns : 0, fixed_d = decoding > 0 ? cost->decode_ns : 0;
    replica->n_in_iteration = replica->n_running;
    replica->boundary_ns = now + (fixed_p > fixed_d ? fixed_p : fixed_d) + prompt_tokens * cost->prefill_token_ns +
                           decoding * cost->sequence_ns + context * cost->context_token_ns;
}

static void on_boundary(struct run *run, struct naive_replica *replica, sim_ns now)
{
    replica->boundary_ns = NEVER;
    if (replica->n_in_iteration > 0) end_iteration(run, replica, now);
    if (!replica->is_held) {
        begin_iteration(run, replica, now);
        return;
    }
    if (replica->is_halting) replica->moved_ns = now + run->rl->send_ns;
    replica->is_halting = false;
}

static sim_ns sooner(sim_ns a, sim_ns b)
{
    return a == NEVER || (b != NEVER && b < a) ? b : a;
}

static sim_ns next_time(const struct run *run)
{
    sim_ns next = sooner(run->train_end_ns, run->release_ns);
    for (int r = 0; r < run->rl->replicas; r++)
        next = sooner(sooner(next, run->replicas[r].moved_ns), run->replicas[r].boundary_ns);
    return next;
}

/* Of one moment: the end of training, arrivals, ends of moves, boundaries. */
void naive_rl_run(struct naive_rl *rl)
{
    struct run run = {.rl = rl, .train_end_ns = NEVER, .release_ns = 0, .is_generating = true, .left = per_step(rl)};
    for (int r = 0; r < rl->replicas; r++) run.replicas[r].moved_ns = run.replicas[r].boundary_ns = NEVER;
    note(&run, NAIVE_RL_GENERATE, run.begun++, 0);
    for (sim_ns now; (now = next_time(&run)) != NEVER;) {
        if (run.train_end_ns == now) on_train_end(&run, now);
        if (run.release_ns == now) on_release(&run, now);
        for (int r = 0; r < rl->replicas; r++)
            if (run.replicas[r].moved_ns == now) on_moved(&run, &run.replicas[r], now);
        for (int r = 0; r < rl->replicas; r++)
            if (run.replicas[r].boundary_ns == now) on_boundary(&run, &run.replicas[r], now);
    }
}
