/* cmd/subject.h — what events are about. */
#ifndef WEIR_CMD_SUBJECT_H
#define WEIR_CMD_SUBJECT_H

struct weir_client;
struct weir_err;

enum { WEIR_SUBJECT_TEXT_MAX = 256 };

/* "42", "train", "42/3" for a member, "GPU-8f1c", or with the kind before it ("node/a") becomes the
 * subject of its events, "workload/42". WEIR_E_NOT_FOUND: there is no such thing, and nothing has
 * happened to one of that name. */
int weir_subject_find(struct weir_client *client, const char *word,
                      char ret_subject[WEIR_SUBJECT_TEXT_MAX], struct weir_err *err);

#endif
