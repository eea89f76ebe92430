/* Conversations in the form of ShareGPT: a list of, or one after another, {"conversations": [{"from": "human", "value":
 * "..."}, {"from": "gpt", "value": "..."}, ...]}. "messages" with "role" and "content" are read as well. Other members
 * are skipped.
 *
 * One conversation is one request: the output is its first answer, the prompt all messages before. A conversation
 * without answer, or that begins with one, is left out and counted. The length of a message is its token count, if the
 * message has one, else its characters (Unicode code points) over "chars_per_token", rounded up. Arrivals come from a
 * process, for the file has no times. Later turns and the tokens of a chat template are left out. */
#include "traces/formats/document.h"
#include "traces/registry.h"

#include <math.h>
#include <string.h>

struct sharegpt_params {
    struct document_file file;
    double chars_per_token;
    const char *token_field;
};

/* Between two calls: the conversations stand in a list. */
struct sharegpt_state {
    bool started, in_list;
};

struct message {
    bool is_answer;
    int64_t n_chars, tokens; /* tokens -1: not counted in the file */
};

static bool is_either(const char *text, const char *one, const char *other)
{
    return strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

static bool is_answerer(const char *role)
{
    static const char *const names[] = {"gpt", "assistant", "chatgpt", "bing", "bard", "model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], role) == 0) return true;
    return false;
}

/* Reads a string and sets its length; null has none. */
static bool read_text(struct json_stream *json, int64_t *n_chars)
{
    *n_chars = 0;
    if (json_stream_peek(json) == 'n') return json_stream_skip(json);
    if (!json_stream_string(json)) return false;
    *n_chars = (int64_t)json->n_chars;
    return true;
}

static bool read_message(struct json_stream *json, const char *token_field, struct message *message)
{
    *message = (struct message){.tokens = -1};
    if (!json_stream_enter(json, '{')) return false;
    while (json_stream_member(json)) {
        bool read;
        if (strcmp(json->text, token_field) == 0) {
            read = document_count(json, token_field, INT32_MAX, &message->tokens);
        } else if (is_either(json->text, "from", "role")) {
            read = json_stream_string(json);
            message->is_answer = is_answerer(json->text);
        } else if (is_either(json->text, "value", "content")) {
            read = read_text(json, &message->n_chars);
        } else {
            read = json_stream_skip(json);
        }
        if (!read) return false;
    }
    return json->code == 0;
}

/* Adds the messages before the first answer to *prompt, and that answer to *output. */
static bool read_messages(struct json_stream *json, const struct sharegpt_params *params, int64_t *prompt,
                          int64_t *output)
{
    bool answered = false;
    struct message message;
    if (!json_stream_enter(json, '[')) return false;
    while (json_stream_element(json)) {
        if (!read_message(json, params->token_field, &message)) return false;
        int64_t tokens = message.tokens;
        if (tokens < 0) tokens = (int64_t)ceil((double)message.n_chars / params->chars_per_token);
        if (answered) continue;
        *(message.is_answer ? output : prompt) += tokens;
        answered = message.is_answer;
        if (*prompt > INT32_MAX || *output > INT32_MAX)
            return json_stream_bad(json, "raise \"chars_per_token\"", "a conversation has more than %d tokens",
                                   INT32_MAX);
    }
    return json->code == 0;
}

static bool read_conversation(struct json_stream *json, const struct sharegpt_params *params, int64_t *prompt,
                              int64_t *output)
{
    bool found = false;
    *prompt = *output = 0;
    if (!json_stream_enter(json, '{')) return false;
    while (json_stream_member(json)) {
        const bool wanted = !found && is_either(json->text, "conversations", "messages");
        if (!(wanted ? read_messages(json, params, prompt, output) : json_stream_skip(json))) return false;
        found |= wanted;
    }
    return json->code == 0 && (found || json_stream_bad(json, NULL, "'conversations' is missing"));
}

/* Steps to the next conversation; false at the end and after an error. */
static bool next_conversation(struct json_stream *json, struct sharegpt_state *state)
{
    const char next = json_stream_peek(json);
    if (!state->started) state->in_list = next == '[' && json_stream_enter(json, '[');
    state->started = true;
    return state->in_list ? json_stream_element(json) : next != 0;
}

static int next_request(struct document *document, union trace_record *record, enum row_result *result,
                        struct diag *diag)
{
    const struct sharegpt_params *params = (const struct sharegpt_params *)document->file;
    struct json_stream *json = &document->json;
    int64_t prompt, output;
    (void)diag;
    if (!next_conversation(json, document->state) || !read_conversation(json, params, &prompt, &output)) {
        return json->code;
    }
    *result = document_request(document, record, 0, prompt, output);
    return 1;
}

static const struct document_format format = {
    .hint = "write [{\"conversations\": [{\"from\": \"human\", \"value\": \"Hi\"}, {\"from\": \"gpt\", \"value\": \"Hi\"}]}]",
    .next = next_request,
    .state_bytes = sizeof(struct sharegpt_state)};

static int open_requests(const void *params, const struct source_options *options, struct request_source **source,
                         struct diag *diag)
{
    return document_open(&format, params, options, source, diag);
}

#define ROW_OF struct sharegpt_params
static const struct config_field sharegpt_fields[] = {
    TRACE_TIME_PARAMS,
    TRACE_LENGTH_PARAMS,
    DOCUMENT_PARAMS(REQUIRED, "arrival process: conversations have no times"),
    ROW_REAL("chars_per_token", chars_per_token, DEFAULT("4"), WITHIN(0.1, 1000),
             "characters that make a token, for messages without a token count"),
    ROW_TEXT("token_field", token_field, DEFAULT("tokens"), WITHIN(1, 100),
             "key of a message with its number of tokens, used where present"),
    {0}};
#undef ROW_OF

const struct trace_format trace_sharegpt = {.name = "sharegpt",
                                            .summary = "ShareGPT conversations, one request from each",
                                            .source = "ShareGPT, the JSON form of its public copies",
                                            .params = sharegpt_fields,
                                            .params_bytes = sizeof(struct sharegpt_params),
                                            .members = "conversations",
                                            .open_requests = open_requests};
