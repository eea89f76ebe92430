/* What happened to a request beyond one replica and one sequence: its KV that is handed over to the replica that
 * decodes it, and the sequences that it becomes.
 *
 * Leaves out: which of several sequences lost its place. If replicas fail, sequences of one request may decode at
 * several replicas; the story follows the one that was routed to last. */
#include "sim/cli/explain/story_parts.h"

#include "sim/core/err.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Below it a difference of times is rounding: times are whole nanoseconds. */
static const double LEAST_LONGER_S = 2e-9;

/* --- Hand-over --- */

static bool is_own(const struct story *story, int64_t request, const char *service)
{
    return !story->subject.is_job && request == story->subject.id && strcmp(service, story->subject.service) == 0;
}

/* " at 25 GB/s of node0/nic-out and node1/nic-in". */
static void add_limit(char *text, size_t size, const struct handover_part *part)
{
    const char *link = part->link, *last = part->last;
    const bool is_pair = link != NULL && strcmp(link, last) != 0;
    if (!(part->link_bytes_per_s > 0)) return;
    snprintf(text, size, " at %.4g GB/s%s%s%s%s", part->link_bytes_per_s / 1e9, link != NULL ? " of " : "",
             link != NULL ? link : "", is_pair ? " and " : "", is_pair ? last : "");
}

static int tell_part(struct story *story, const struct handover_part *part, const char *which)
{
    char limit[128] = "", longer[64] = "", time[32];
    const double took_s = part->moved_s - part->start_s, longer_s = took_s - part->alone_s;
    if (part->bytes == 0) return 0;
    add_limit(limit, sizeof limit, part);
    if (longer_s > LEAST_LONGER_S)
        snprintf(longer, sizeof longer, ", %s longer beside other traffic", story_time(time, longer_s));
    return story_tell(story, part->moved_s, "transfer", "%s%" PRId64 " bytes of KV in %s from %.6f s on%s%s", which,
                      part->bytes, story_time(time, took_s), part->start_s, limit, longer);
}

static int on_arrived(struct story *story, const struct handover_row *row)
{
    const bool is_divided = row->parts[0].bytes > 0;
    int code = tell_part(story, &row->parts[0], "layers but the last, beside the prompt: ");
    if (code == 0) code = tell_part(story, &row->parts[1], is_divided ? "the rest: " : "");
    story->in_batch = true;
    story->joins_at_s = row->t_s;
    story->has_arrived = true;
    story->meanwhile = (struct story_work){0};
    story->waits_from_s = row->t_s;
    return code;
}

/* The decoding replica has room. Its batches were cut at this decision, so they are all known. */
static int on_taken(struct story *story, const struct handover_row *row)
{
    char time[32];
    const int code = story_tell_wait(story, row->t_s);
    return code != 0 ? code
                     : story_tell(story, row->t_s, "taken",
                                  "%s/%" PRId64 " has room, %s after the prompt: it takes %" PRId64 " of %" PRId64
                                  " free KV blocks",
                                  row->service, row->to, story_time(time, row->t_s - story->processed_s), row->blocks,
                                  row->free_blocks);
}

static int on_processed(struct story *story, const struct handover_row *row)
{
    story->in_batch = false;
    story->processed_s = story->waits_from_s = row->t_s;
    story->meanwhile = (struct story_work){0};
    story->replica = row->to;
    if (row->to >= 0) return 0;
    return story_tell(story, row->t_s, "held", "no replica that decodes is up: its KV stays at %s/%" PRId64,
                      row->service, row->from);
}

int story_on_handover(void *context, const struct handover_row *row)
{
    struct story *story = context;
    if (!is_own(story, row->request, row->service)) return 0;
    switch (row->step) {
    case HANDOVER_PROCESSED: return on_processed(story, row);
    case HANDOVER_TAKEN: return on_taken(story, row);
    case HANDOVER_ARRIVED: return on_arrived(story, row);
    }
    return 0;
}

int story_tell_join(struct story *story, double t_s)
{
    if (!story->has_arrived) return 0;
    story->has_arrived = false;
    story->meanwhile = (struct story_work){0};
    const double waited_s = t_s - story->joins_at_s;
    story->joins_at_s = t_s;
    char time[32];
    if (!(waited_s > 0)) return 0;
    return story_tell(story, t_s, "joins", "the next iteration of %s/%" PRId64 ", %s after its KV has arrived",
                      story->subject.service, story->replica, story_time(time, waited_s));
}

/* --- Sequences --- */

int story_on_sequence(void *context, const struct sequence_row *row)
{
    struct story *story = context;
    struct story_sequences *own = &story->sequences;
    if (!is_own(story, row->request, row->service)) return 0;
    if (!row->begins) {
        own->decoding -= own->decoding > 0;
        if (own->decoding == 0) story_leave(story, row->t_s);
        return story_tell(story, row->t_s, "sequence", "%" PRId64 "%s after %" PRId64 " token%s; %" PRId64 " left",
                          row->sequence, row->is_dropped ? " gives its place up" : " ends", row->tokens,
                          story_plural((double)row->tokens), row->live);
    }
    const bool is_first = !(own->forked_at_s == row->t_s);
    if (is_first) own->decoding = 1;
    own->decoding++;
    own->n = row->sequences;
    own->forked_at_s = row->t_s;
    if (!is_first) return 0;
    return story_tell(story, row->t_s, "forks", "into %" PRId64 " sequences, which share the KV so far",
                      row->sequences);
}
