/* core/health/repeat.h — what becomes of an error that comes again.
 *
 * An episode is noted once for each code and device. Within a day:
 *   13, 31: jobs of two users had it, and theirs on no other device: the device is to be tested.
 *      Not more: two users may use one broken library, on the GPU that is given out first; NVIDIA's
 *      workflows for both end in a diagnosis too. Of 13 only what happened at one GPC and TPC
 *      counts; where no user is known nothing does. Not two jobs: who tries a program until it
 *      works would have his GPU tested each time. What was seen before counts towards no other test
 *   63: eight times, as many as a bank has rows to spare: SUPPORT
 *   74: as its register bits say, on one link
 *   others of hardware, firmware, driver or fabric: five times: SUPPORT
 *   an SXid that is only recorded: five times: WATCH
 * Sources: NVIDIA's Xid catalogue (workflows for 13, 31, 74), DCGM's and NVSentinel's published
 * thresholds; the rest is ours. */
#ifndef WEIR_CORE_HEALTH_REPEAT_H
#define WEIR_CORE_HEALTH_REPEAT_H

#include "core/health/incident.h"

enum { WEIR_FAULT_REPEAT_WINDOW_MS = 24 * 60 * 60 * 1000 };

struct weir_repeat {
    uint32_t n_episodes; /* of this code on this device, this one too */
    uint8_t action;      /* NOT_EVENT: repetition changes nothing */
    bool is_to_test;     /* it may be the device's, and may not */
    const char *why;
};

/* Notes the episode and says what it makes of the error. */
void weir_repeat_note(struct weir_health *health, const struct weir_fault_event *event,
                      const struct weir_fault_class *class, struct weir_repeat *ret_repeat);

#endif
