#include "cmd/attach_output.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <string.h>
#include <unistd.h>

enum { MEMBERS_MAX = 100000, FD_OF_STREAM_0 = STDOUT_FILENO };

void weir_attach_output_init(struct weir_attach_output *output, bool label,
                             int (*write)(void *ctx, int fd, struct weir_str data,
                                          struct weir_err *err),
                             void *write_ctx)
{
    memset(output, 0, sizeof(*output));
    output->label = label;
    output->write = write;
    output->write_ctx = write_ctx;
}

void weir_attach_output_finish(struct weir_attach_output *output)
{
    weir_vec_foreach (member, &output->members) {
        weir_buf_finish(&member->streams[0].line);
        weir_buf_finish(&member->streams[1].line);
    }
    weir_vec_finish(&output->members);
}

/* NULL: no memory, or a member beyond reason. */
static struct weir_attach_member *member_of(struct weir_attach_output *output, uint32_t member)
{
    struct weir_attach_member fresh = {0};

    if (member >= MEMBERS_MAX)
        return NULL;
    weir_buf_init(&fresh.streams[0].line, (size_t)2 * WEIR_ATTACH_LINE_MAX);
    weir_buf_init(&fresh.streams[1].line, (size_t)2 * WEIR_ATTACH_LINE_MAX);
    while (output->members.n <= member)
        if (weir_vec_push(&output->members, fresh) < 0)
            return NULL;
    return &output->members.items[member];
}

static struct weir_attach_member *need_member(struct weir_attach_output *output, uint32_t member,
                                              struct weir_err *err)
{
    struct weir_attach_member *found = member_of(output, member);

    if (found == NULL)
        weir_error(err, WEIR_E_NO_MEMORY, "no memory for the output of member %u", member);
    return found;
}

int weir_attach_output_start(struct weir_attach_output *output, uint32_t member, int64_t attempt,
                             const uint64_t starts[2], struct weir_err *err)
{
    struct weir_attach_member *found = need_member(output, member, err);

    if (found == NULL)
        return WEIR_E_NO_MEMORY;
    found->attempt = attempt;
    for (unsigned stream = 0; stream < 2; stream++) {
        found->streams[stream].printed = starts[stream];
        found->streams[stream].at = starts[stream];
    }
    return 0;
}

/* Lines of several members must not run into one another: each is printed whole, in one write. */
static int put_line(struct weir_attach_output *output, uint32_t member, unsigned stream,
                    struct weir_str line, struct weir_err *err)
{
    weir_cleanup_buf struct weir_buf text = WEIR_BUF_INIT((size_t)3 * WEIR_ATTACH_LINE_MAX);

    weir_buf_printf(&text, "[%u] ", member);
    weir_buf_str(&text, line);
    if (!weir_str_ends_with(line, WEIR_STR("\n")))
        weir_buf_putc(&text, '\n');
    if (weir_buf_check(&text, "a line of output", err) < 0)
        return text.failed;
    return output->write(output->write_ctx, FD_OF_STREAM_0 + (int)stream, weir_buf_view(&text),
                         err);
}

static int put_labelled(struct weir_attach_output *output, uint32_t member, unsigned stream,
                        struct weir_buf *line, struct weir_str data, struct weir_err *err)
{
    while (data.len > 0) {
        ptrdiff_t end = weir_str_find_char(data, '\n');
        size_t n = end >= 0 ? (size_t)end + 1 : data.len;
        int result;

        n = n < WEIR_ATTACH_LINE_MAX ? n : WEIR_ATTACH_LINE_MAX;
        weir_buf_str(line, weir_str_sub(data, 0, n));
        data = weir_str_sub(data, n, data.len);
        if (line->failed == 0 && line->data[line->len - 1] != '\n' &&
            line->len < WEIR_ATTACH_LINE_MAX)
            continue;
        result = weir_buf_check(line, "a line of output", err);
        if (result == 0)
            result = put_line(output, member, stream, weir_buf_view(line), err);
        weir_buf_reset(line);
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_attach_output_put(struct weir_attach_output *output, uint32_t member, unsigned stream,
                           struct weir_str data, struct weir_err *err)
{
    struct weir_attach_member *found = need_member(output, member, err);
    struct weir_attach_stream *place;
    uint64_t again;

    if (found == NULL)
        return WEIR_E_NO_MEMORY;
    place = &found->streams[stream];
    again = place->printed > place->at ? place->printed - place->at : 0;
    place->at += data.len;
    if (again >= data.len)
        return 0;
    data = weir_str_sub(data, (size_t)again, data.len);
    place->printed = place->at;
    if (output->label)
        return put_labelled(output, member, stream, &place->line, data, err);
    return output->write(output->write_ctx, FD_OF_STREAM_0 + (int)stream, data, err);
}

static int flush_member(struct weir_attach_output *output, uint32_t member, struct weir_err *err)
{
    struct weir_attach_member *found = &output->members.items[member];

    for (unsigned stream = 0; stream < 2; stream++) {
        struct weir_buf *line = &found->streams[stream].line;
        int result = 0;

        if (line->len > 0)
            result = put_line(output, member, stream, weir_buf_view(line), err);
        weir_buf_reset(line);
        if (result < 0)
            return result;
    }
    return 0;
}

int weir_attach_output_attempt(struct weir_attach_output *output, uint32_t member, int64_t attempt,
                               struct weir_err *err)
{
    struct weir_attach_member *found = need_member(output, member, err);
    bool is_new;
    int result = 0;

    if (found == NULL)
        return WEIR_E_NO_MEMORY;
    is_new = found->attempt != 0 && attempt != found->attempt;
    if (is_new)
        result = flush_member(output, member, err);
    found->attempt = attempt;
    for (unsigned stream = 0; is_new && stream < 2; stream++) {
        found->streams[stream].printed = 0;
        found->streams[stream].at = 0;
    }
    return result;
}

int weir_attach_output_gap(struct weir_attach_output *output, uint32_t member, unsigned stream,
                           uint64_t to, uint64_t *ret_lost, struct weir_err *err)
{
    struct weir_attach_member *found = need_member(output, member, err);
    struct weir_attach_stream *place;

    if (found == NULL)
        return WEIR_E_NO_MEMORY;
    place = &found->streams[stream];
    place->at = to;
    *ret_lost = to > place->printed ? to - place->printed : 0;
    place->printed += *ret_lost;
    return 0;
}

void weir_attach_output_reconnected(struct weir_attach_output *output, bool restart)
{
    weir_vec_foreach (member, &output->members) {
        for (unsigned stream = 0; stream < 2; stream++)
            member->streams[stream].at = restart ? 0 : member->streams[stream].printed;
    }
}

int weir_attach_output_flush(struct weir_attach_output *output, struct weir_err *err)
{
    for (uint32_t member = 0; member < output->members.n; member++) {
        int result = flush_member(output, member, err);

        if (result < 0)
            return result;
    }
    return 0;
}
