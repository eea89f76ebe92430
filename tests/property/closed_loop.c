/* A closed loop of alike requests: closed forms, and conservation over random loops. */
#include "analysis/calibrate/engine/closed_loop.h"
#include "tests/support/harness.h"

/* A cost that is linear in what closed_loop_times counts. */
struct linear {
    double iteration_s, sequence_s, prompt_s;
};

static double linear_cost(const void *context, const struct iteration_work *work)
{
    const struct linear *linear = context;
    return linear->iteration_s + linear->sequence_s * (double)(work->prefill_sequences + work->decode_sequences) +
           linear->prompt_s * (double)work->prefill_sequences;
}

static struct closed_loop_times run(const struct closed_loop *loop, const struct linear *linear)
{
    struct closed_loop_times times = {0};
    CHECK_EQ_INT(closed_loop_run(loop, linear_cost, linear, &times), 0);
    return times;
}

/* Prompts before decoding, all in one batch but the first: users stay in step, with tokens for all in every iteration
 * of an answer, and none of them sees a prompt but the first, which waits for the prompts of the others. */
TEST(users_in_step)
{
    const struct linear linear = {.iteration_s = 3.0, .sequence_s = 0.5, .prompt_s = 10.0};
    const struct closed_loop loop = {.users = 4, .prompt_tokens = 100, .output_tokens = 50, .batch_tokens = 400,
                                     .prompts_first = true};
    const struct closed_loop_times times = run(&loop, &linear);
    const double one_s = 3.0 + 0.5 + 10.0, others_s = 3.0 + 3.0 * 0.5 + 3.0 * 10.0;
    CHECK_NEAR(times.ttft_s, (one_s + 3.0 * others_s) / 4.0, 1e-9);
    CHECK_NEAR(times.tpot_s, 3.0 + 4.0 * 0.5 + others_s / 49.0 / 4.0, 1e-9);
    CHECK_NEAR(times.prompts, 3.0 / 49.0 / 4.0, 1e-12);
}

/* Prompts beside decoding: users come out of step however many prompts fit into a batch, and see each other's. */
TEST(users_out_of_step)
{
    const struct linear linear = {.iteration_s = 1.0};
    for (int64_t room = 1; room <= 8; room *= 2) {
        const struct closed_loop loop = {.users = 8, .prompt_tokens = 100, .output_tokens = 50,
                                         .batch_tokens = 100 * room + 8};
        const struct closed_loop_times times = run(&loop, &linear);
        CHECK_NEAR(times.prompts, 7.0 / 49.0, 1e-9);
        CHECK_NEAR(times.ttft_s, 1.0, 1e-12);
    }
}

static double context_cost(const void *context, const struct iteration_work *work)
{
    const struct linear *linear = context;
    CHECK(work->prefill_tokens == 0 && work->prefill_sequences == 0);
    return linear->iteration_s + linear->sequence_s * (double)work->decode_context_tokens;
}

/* Where other GPUs process the prompts, the cost is the mean over all ages of the contexts, from one token behind the
 * prompt to one before the last of the answer. */
TEST(decoding_alone)
{
    const struct linear linear = {.iteration_s = 3.0, .sequence_s = 0.25};
    struct rng rng = test_rng(7, "alone", 0);
    for (int i = 0; i < 200; i++) {
        const struct closed_loop loop = {.users = 1 + (int64_t)rng_below(&rng, 300),
                                         .prompt_tokens = 1 + (int64_t)rng_below(&rng, 9000),
                                         .output_tokens = 2 + (int64_t)rng_below(&rng, 2000), .decode_only = true};
        struct closed_loop_times times = {0};
        double sum_s = 0.0;
        MUST(closed_loop_run(&loop, context_cost, &linear, &times) == 0);
        for (int64_t token = 1; token < loop.output_tokens; token++)
            sum_s += 3.0 + 0.25 * (double)(loop.users * (loop.prompt_tokens + token));
        CHECK_NEAR(times.tpot_s / (sum_s / (double)(loop.output_tokens - 1)), 1.0, 1e-3);
        CHECK(times.iterations == 1.0 && times.prompts == 0.0 && times.sequences == (double)loop.users);
        CHECK(isnan(times.ttft_s));
    }
}

/* With one prompt per batch, every user sees the prompts of all others in the course of an answer. */
TEST(prompts_one_by_one)
{
    const struct linear linear = {.iteration_s = 1.0};
    const struct closed_loop mixed = {.users = 5, .prompt_tokens = 100, .output_tokens = 41, .batch_tokens = 110};
    const struct closed_loop_times beside = run(&mixed, &linear);
    CHECK_NEAR(beside.iterations, 1.0, 1e-12);
    CHECK_NEAR(beside.prompts, 4.0 / 40.0, 1e-9);
    struct closed_loop first = mixed;
    first.prompts_first = true;
    const struct closed_loop_times before = run(&first, &linear);
    CHECK(before.iterations > 1.0);
    CHECK_NEAR(before.iterations, 1.0 + before.prompts, 1e-9);
}

/* Users beyond those that memory holds wait: tokens take as long as with so many users, and more of them make only the
 * first token later. */
TEST(users_wait_for_memory)
{
    const struct linear linear = {.iteration_s = 1.0, .sequence_s = 0.25};
    for (int first = 0; first < 2; first++) {
        struct closed_loop loop = {.users = 4, .prompt_tokens = 100, .output_tokens = 30, .batch_tokens = 110,
                                   .prompts_first = first == 1, .at_once = 4};
        const struct closed_loop_times few = run(&loop, &linear);
        loop.at_once = 0;
        CHECK_NEAR(run(&loop, &linear).tpot_s, few.tpot_s, 0.0);
        loop.users = 16;
        const struct closed_loop_times all = run(&loop, &linear);
        loop.at_once = 4;
        const struct closed_loop_times held = run(&loop, &linear);
        CHECK_NEAR(held.tpot_s / few.tpot_s, 1.0, 0.1);
        CHECK(held.sequences <= 4.0 * held.iterations + 1e-9 && held.tpot_s < all.tpot_s);
        CHECK(held.ttft_s > 2.0 * few.ttft_s);
    }
}

/* A prompt that fits no batch has an iteration of its own; in chunks it takes as many as it needs. */
TEST(long_prompts)
{
    const struct linear linear = {.iteration_s = 1.0};
    struct closed_loop loop = {.users = 1, .prompt_tokens = 1000, .output_tokens = 2, .batch_tokens = 300};
    CHECK_NEAR(run(&loop, &linear).ttft_s, 1.0, 1e-12);
    loop.chunked = true;
    CHECK_NEAR(run(&loop, &linear).ttft_s, 4.0, 1e-12);
}

static struct closed_loop random_loop(struct rng *rng)
{
    return (struct closed_loop){
        .users = 1 + (int64_t)rng_below(rng, 40),
        .prompt_tokens = 1 + (int64_t)rng_below(rng, 500),
        .output_tokens = 2 + (int64_t)rng_below(rng, 60),
        .batch_tokens = 64 + (int64_t)rng_below(rng, 2000),
        .chunked = rng_below(rng, 2) == 1,
        .prompts_first = rng_below(rng, 2) == 1,
    };
}

/* The counts say what a linear cost adds up to, whatever its coefficients; and nobody's token takes less than one
 * iteration, or decodes among more sequences than there are users. */
TEST(counts_explain_times)
{
    struct rng rng = test_rng(1, "closed-loop", 0);
    for (int i = 0; i < 200; i++) {
        const struct closed_loop loop = random_loop(&rng);
        const struct linear linear = {1.0 + (double)rng_below(&rng, 9), 0.01 * (double)rng_below(&rng, 9),
                                      (double)rng_below(&rng, 9)};
        const struct closed_loop_times times = run(&loop, &linear);
        const double explained = linear.iteration_s * times.iterations + linear.sequence_s * times.sequences +
                                 linear.prompt_s * times.prompts;
        const double first = linear.iteration_s * times.ttft_iterations + linear.sequence_s * times.ttft_sequences +
                             linear.prompt_s * times.ttft_prompts;
        CHECK_NEAR(times.tpot_s / explained, 1.0, 1e-9);
        CHECK_NEAR(times.ttft_s / first, 1.0, 1e-9);
        CHECK(times.ttft_prompts >= 1.0 - 1e-12); /* its own among them */
        CHECK(times.iterations >= 1.0 - 1e-12 && (loop.prompts_first || times.iterations <= 1.0 + 1e-12));
        CHECK(times.sequences <= (double)loop.users * times.iterations + 1e-9);
        CHECK(times.prompts <= times.sequences + 1e-12);
    }
}

/* With a cost per sequence alone, a prompt costs 1 and each token after the first 1: while one user has an answer, all
 * users together have as many. That holds over a whole cycle of the loop; the one answer per user that counts is not
 * always a whole one. Answers are longer than users are many, so that none waits to send its next request. */
TEST(work_is_conserved)
{
    struct rng rng = test_rng(2, "closed-loop", 0);
    for (int i = 0; i < 50; i++) {
        struct closed_loop loop = random_loop(&rng);
        const struct linear linear = {.sequence_s = 1.0};
        loop.chunked = false;
        loop.prompts_first = false;
        loop.output_tokens += loop.users;
        const struct closed_loop_times times = run(&loop, &linear);
        const double cycle_s = times.ttft_s + (double)(loop.output_tokens - 1) * times.tpot_s;
        CHECK_NEAR(cycle_s / ((double)loop.users * (double)loop.output_tokens), 1.0, 0.02);
    }
}

TEST(no_memory)
{
    const struct closed_loop loop = {.users = 4, .prompt_tokens = 1, .output_tokens = 2, .batch_tokens = 9};
    const struct linear linear = {.iteration_s = 1.0};
    struct closed_loop_times times;
    for (long n = 0; n < 2; n++) {
        mem_fail_after(n);
        CHECK_EQ_INT(closed_loop_run(&loop, linear_cost, &linear, &times), SIM_E_NOMEM);
        mem_fail_never();
    }
}
