/* Synthetic prompts of retrieval-augmented generation (RAG): a system prompt, retrieved chunks, a question.
 *
 * A corpus has `corpus` chunks. Chunk number r, from 1, is retrieved with a probability in proportion to r^-popularity
 * (Zipf's law); the chunks of one prompt differ. They stand in random order, or the most popular first. A chunk has one
 * length for good, from a random stream of its own. A question is of its request alone.
 *
 * A record names the chunks, system prompt included, and the keys of its full prefix blocks: the key of a block is a
 * hash of all that stands before its end. So the same trace can be served with prefix caching and with reuse of chunks.
 *
 * Leaves out: topics, by which the chunks of a prompt would depend on each other; chunks that overlap. */
#include "sim/core/hash.h"
#include "sim/core/mem.h"
#include "sim/core/vec.h"
#include "traces/generate/arrival.h"
#include "traces/generate/distribution.h"
#include "traces/registry.h"
#include "traces/stream.h"
#include "traces/transform.h"

#include <math.h>
#include <stdio.h>

enum { MAX_DRAWS = 64, MAX_RETRIEVED = 1000 };
enum { ORDER_SHUFFLED, ORDER_POPULAR_FIRST };
static const char *const order_names[] = {"shuffled", "popular-first", NULL};

struct rag_params {
    struct trace_transform transform;
    struct generate_end end;
    struct config_variant arrival, chunk, question, output;
    int64_t corpus, retrieved, system_tokens, block_tokens;
    double popularity;
    int order;
};

struct generator {
    struct stream stream;
    const struct rag_params *params;
    const struct source_options *options;
    struct arrivals *arrivals;
    struct rng choice, question, output; /* streams "NAME.retrieved", "NAME.question", "NAME.output" */
    double *weight_ends;                 /* [corpus]: sums of the chunks' weights */
    int32_t *chunk_tokens;               /* [corpus] */
    struct prompt_chunk *chunks;         /* [retrieved + 1]: of the latest prompt */
    int32_t n_chunks;
    uint64_t *keys;
    size_t n_keys, key_capacity;
    int64_t n;
};

/* --- Choosing --- */

static bool is_chosen(const struct generator *generator, uint64_t id)
{
    for (int32_t i = 0; i < generator->n_chunks; i++)
        if (generator->chunks[i].id == id) return true;
    return false;
}

/* A chunk by its popularity, from 1. */
static uint64_t draw_chunk(struct generator *generator)
{
    const double *ends = generator->weight_ends;
    size_t low = 0, high = (size_t)generator->params->corpus - 1;
    const double at = rng_uniform(&generator->choice) * ends[high];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ends[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

/* One that the prompt does not have: after many draws in vain, the next one behind the latest. */
static uint64_t draw_other_chunk(struct generator *generator)
{
    uint64_t id = draw_chunk(generator);
    for (int i = 0; i < MAX_DRAWS && is_chosen(generator, id); i++) id = draw_chunk(generator);
    while (is_chosen(generator, id)) id = id % (uint64_t)generator->params->corpus + 1;
    return id;
}

static void add_chunk(struct generator *generator, uint64_t id)
{
    const int32_t tokens = id > 0 ? generator->chunk_tokens[id - 1] : (int32_t)generator->params->system_tokens;
    generator->chunks[generator->n_chunks++] = (struct prompt_chunk){id, tokens};
}

static void order_chunks(struct generator *generator, int32_t first)
{
    struct prompt_chunk *chunks = generator->chunks;
    for (int32_t i = first + 1; i < generator->n_chunks; i++) {
        int32_t at = i;
        const struct prompt_chunk chunk = chunks[i];
        if (generator->params->order == ORDER_SHUFFLED) {
            at = first + (int32_t)rng_below(&generator->choice, (uint64_t)(i - first) + 1);
            chunks[i] = chunks[at];
        } else {
            for (; at > first && chunks[at - 1].id > chunk.id; at--) chunks[at] = chunks[at - 1];
        }
        chunks[at] = chunk;
    }
}

static void choose(struct generator *generator)
{
    generator->n_chunks = 0;
    if (generator->params->system_tokens > 0) add_chunk(generator, 0);
    const int32_t first = generator->n_chunks;
    for (int64_t i = 0; i < generator->params->retrieved; i++) add_chunk(generator, draw_other_chunk(generator));
    order_chunks(generator, first);
}

/* --- Keys of prefix blocks --- */

/* What is left of a prompt's text while its blocks are cut off. */
struct text_hash {
    uint64_t hash;
    int64_t place, block_tokens; /* place: in tokens */
};

/* A piece of `tokens` tokens follows. The keys have 63 bits, as tables of traces want. */
static int add_text(struct generator *generator, struct text_hash *text, uint64_t content, int64_t tokens)
{
    for (int64_t done = 0; done < tokens;) {
        const int64_t left = text->block_tokens - text->place % text->block_tokens;
        const int64_t n = left < tokens - done ? left : tokens - done;
        done += n;
        text->place += n;
        text->hash = hash_mix(hash_mix(text->hash ^ content) + (uint64_t)done);
        if (text->place % text->block_tokens != 0) continue;
        if (vec_push(&generator->keys, &generator->n_keys, &generator->key_capacity, text->hash >> 1) != 0)
            return SIM_E_NOMEM;
    }
    return 0;
}

static int find_keys(struct generator *generator, const struct request_record *request)
{
    struct text_hash text = {.block_tokens = generator->params->block_tokens};
    int64_t left = request->prompt_tokens;
    generator->n_keys = 0;
    for (int32_t i = 0; i < generator->n_chunks; i++) {
        const struct prompt_chunk *chunk = &generator->chunks[i];
        left -= chunk->tokens;
        if (add_text(generator, &text, hash_mix(chunk->id), chunk->tokens) != 0) return SIM_E_NOMEM;
    }
    return add_text(generator, &text, hash_mix(~(uint64_t)request->id), left);
}

/* --- The stream --- */

static int32_t draw_length(const struct config_variant *length, struct rng *rng)
{
    return length_draw(length->entry, length->params, rng);
}

static int fill(struct generator *generator, struct request_record *request, struct diag *diag)
{
    choose(generator);
    int64_t tokens = draw_length(&generator->params->question, &generator->question);
    for (int32_t i = 0; i < generator->n_chunks; i++) tokens += generator->chunks[i].tokens;
    if (tokens > INT32_MAX)
        return diag_error(diag, SIM_E_CONFIG, generator->options->where, "lower \"retrieved\", or shorten the chunks",
                          "a prompt would have %lld tokens, more than an int32_t counts", (long long)tokens);
    request->prompt_tokens = (int32_t)tokens;
    request->output_tokens = draw_length(&generator->params->output, &generator->output);
    request->chunks = generator->chunks;
    request->n_chunks = generator->n_chunks;
    if (find_keys(generator, request) != 0) return diag_nomem(diag);
    request->n_prefix_blocks = (int32_t)generator->n_keys;
    request->prefix_block_tokens = (int32_t)generator->params->block_tokens;
    request->prefix_blocks = generator->n_keys > 0 ? generator->keys : NULL;
    return 1;
}

static int give(struct generator *generator, sim_ns arrival_ns, union trace_record *record, struct diag *diag)
{
    if (generate_end_reached(&generator->params->end, generator->n, arrival_ns)) return 0;
    if (arrival_ns == SIM_NS_MAX) return arrivals_out_of_time(generator->options->where, diag);
    record->request = (struct request_record){.id = generator->n++, .arrival_ns = arrival_ns};
    return fill(generator, &record->request, diag);
}

static int generator_next(struct stream *stream, union trace_record *record, struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    arrivals_next(generator->arrivals);
    return generator->arrivals->ended ? 0 : give(generator, generator->arrivals->now_ns, record, diag);
}

static int generator_follow(struct stream *stream, const struct request_end *end, union trace_record *record,
                            struct diag *diag)
{
    struct generator *generator = (struct generator *)stream;
    const sim_ns think_ns = generator->arrivals->process->think(generator->arrivals, end->id);
    return give(generator, sim_ns_add(end->now_ns, think_ns), record, diag);
}

static struct source_place generator_place(const struct stream *stream)
{
    const struct generator *generator = (const struct generator *)stream;
    return generate_end_place(&generator->params->end, generator->n, generator->arrivals->now_ns);
}

static bool generator_note(const struct stream *stream, size_t index, struct source_note *note)
{
    (void)stream;
    (void)index;
    (void)note;
    return false;
}

static void generator_close(struct stream *stream)
{
    struct generator *generator = (struct generator *)stream;
    arrivals_destroy(generator->arrivals);
    mem_free(generator->weight_ends);
    mem_free(generator->chunk_tokens);
    mem_free(generator->chunks);
    mem_free(generator->keys);
    mem_free(generator);
}

static const struct stream_ops open_ops = {
    .next = generator_next, .place = generator_place, .note = generator_note, .close = generator_close};
static const struct stream_ops closed_ops = {.next = generator_next,
                                             .follow = generator_follow,
                                             .place = generator_place,
                                             .note = generator_note,
                                             .close = generator_close};

/* --- Opening --- */

static void init_stream(const struct source_options *options, const char *what, uint64_t index, struct rng *rng)
{
    char name[STREAM_NAME_CHARS];
    snprintf(name, sizeof name, "%s.%s", options->stream, what);
    rng_init(rng, options->seed, options->run, name, index);
}

static void fill_corpus(struct generator *generator)
{
    const struct rag_params *params = generator->params;
    double sum = 0.0;
    for (int64_t i = 0; i < params->corpus; i++) {
        struct rng rng;
        init_stream(generator->options, "chunk", (uint64_t)i, &rng);
        generator->chunk_tokens[i] = draw_length(&params->chunk, &rng);
        sum += pow((double)(i + 1), -params->popularity);
        generator->weight_ends[i] = sum;
    }
}

static int check(const struct rag_params *params, const struct source_options *options, struct diag *diag)
{
    const struct config_variant *lengths[] = {&params->chunk, &params->question, &params->output};
    int code = generate_end_check(&params->end, options->where, diag);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths && code == 0; i++) {
        const struct length_distribution *length = lengths[i]->entry;
        if (length->check != NULL) code = length->check(lengths[i]->params, options->where, diag);
    }
    if (code != 0 || params->retrieved <= params->corpus) return code;
    return diag_error(diag, SIM_E_CONFIG, options->where, "raise \"corpus\", or lower \"retrieved\"",
                      "a prompt has %lld different chunks, and the corpus only %lld", (long long)params->retrieved,
                      (long long)params->corpus);
}

static int open_generator(struct generator *generator, struct diag *diag)
{
    const struct rag_params *params = generator->params;
    const struct source_options *options = generator->options;
    int code = check(params, options, diag);
    if (code != 0) return code;
    generator->weight_ends = mem_zalloc((size_t)params->corpus, sizeof *generator->weight_ends);
    generator->chunk_tokens = mem_zalloc((size_t)params->corpus, sizeof *generator->chunk_tokens);
    generator->chunks = mem_zalloc((size_t)params->retrieved + 1, sizeof *generator->chunks);
    if (generator->weight_ends == NULL || generator->chunk_tokens == NULL || generator->chunks == NULL)
        return diag_nomem(diag);
    fill_corpus(generator);
    init_stream(options, "retrieved", 0, &generator->choice);
    init_stream(options, "question", 0, &generator->question);
    init_stream(options, "output", 0, &generator->output);
    return arrivals_create(params->arrival.entry, params->arrival.params, options, &generator->arrivals, diag);
}

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    struct generator *generator = mem_zalloc(1, sizeof *generator);
    if (generator == NULL) return diag_nomem(diag);
    *generator = (struct generator){.stream = {&open_ops}, .params = params, .options = options};
    struct stream *stream = &generator->stream;
    int code = open_generator(generator, diag);
    if (code != 0) {
        stream_close(stream);
        return code;
    }
    if (generator->arrivals->process->think != NULL) stream->ops = &closed_ops;
    code = transform_open(&generator->params->transform, options, true, stream, &stream, diag);
    return code != 0 ? code : stream_to_requests(stream, source, diag);
}

#define ROW_OF struct rag_params
static const struct config_field params[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    GENERATE_END_PARAMS,
    ROW_VARIANT("arrival", arrival, REQUIRED, "arrival", "process", "arrival process"),
    ROW_INT("corpus", corpus, DEFAULT("1000"), WITHIN(1, 1e7), "chunks that can be retrieved"),
    ROW_REAL("popularity", popularity, DEFAULT("1"), WITHIN(0, 10),
             "exponent of Zipf's law for the chunks; 0: all are alike"),
    ROW_INT("retrieved", retrieved, DEFAULT("5"), WITHIN(1, MAX_RETRIEVED), "different chunks of a prompt"),
    ROW_CHOICE("order", order, DEFAULT("shuffled"), order_names, "order of the chunks of a prompt"),
    ROW_INT("system_tokens", system_tokens, DEFAULT("200"), WITHIN(0, 1e9),
            "system prompt, the first chunk of all prompts; 0: none"),
    ROW_VARIANT("chunk", chunk, REQUIRED, "length", "distribution", "length of a chunk"),
    ROW_VARIANT("question", question, REQUIRED, "length", "distribution", "tokens behind the chunks"),
    ROW_VARIANT("output", output, REQUIRED, "length", "distribution", "output lengths"),
    ROW_INT("block_tokens", block_tokens, DEFAULT("16"), WITHIN(1, 1e6), "tokens per prefix block"),
    {0}};
#undef ROW_OF

const struct trace_format trace_generate_rag = {.name = "generate-rag",
                                                .summary = "prompts of retrieved chunks",
                                                .source = "",
                                                .params = params,
                                                .params_bytes = sizeof(struct rag_params),
                                                .open_requests = open_requests};
