/* A slot's bytes, with both checksums made right so that the fields are reached, and as they are.
 */
#include "base/err.h"
#include "base/hash.h"
#include "edge/local/attempt.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t slot[WEIR_ATTEMPT_SLOT_BYTES])
{
    struct weir_attempt_status status;
    struct weir_attempt_status again;
    uint8_t record[WEIR_ATTEMPT_RECORD_BYTES];

    if (weir_attempt_slot_decode(slot, 0, &status, NULL) < 0)
        return;
    WEIR_ASSERT(memchr(status.what, '\0', sizeof(status.what)) != NULL);
    if (status.phase == WEIR_ATTEMPT_NONE)
        return;
    weir_attempt_record_encode(&status, record);
    WEIR_ASSERT(weir_attempt_record_decode(record, &again, NULL) == 0);
    WEIR_ASSERT(again.seq == status.seq && again.out_bytes == status.out_bytes);
    WEIR_ASSERT(again.phase == status.phase && strcmp(again.what, status.what) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t slot[WEIR_ATTEMPT_SLOT_BYTES] = {0};

    memcpy(slot, data, size < sizeof(slot) ? size : sizeof(slot));
    check(slot);
    for (size_t i = 0; i < 2; i++) {
        uint8_t *record = slot + i * WEIR_ATTEMPT_RECORD_BYTES;
        uint32_t crc = weir_hash_crc32c(0, record, WEIR_ATTEMPT_RECORD_BYTES - 4);

        for (size_t k = 0; k < 4; k++)
            record[WEIR_ATTEMPT_RECORD_BYTES - 4 + k] = (uint8_t)(crc >> (8 * k));
    }
    check(slot);
    return 0;
}
