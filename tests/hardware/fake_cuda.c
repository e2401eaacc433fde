/* A libcuda.so.1 that has the GPUs of CUDA_VISIBLE_DEVICES and 64 GiB on each, for a machine that
 * has none: so that cuda_hold.py and what uses it are tried. Calls out of order fail. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_CONTEXT = 201 };
enum { UUID_BYTES = 16 };

#define MEMORY_BYTES ((size_t)64 << 30)

int cuInit(unsigned flags);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetUuid(unsigned char uuid[UUID_BYTES], int device);
int cuCtxCreate_v2(void **context, unsigned flags, int device);
int cuMemAlloc_v2(unsigned long long *pointer, size_t size);
int cuMemsetD8_v2(unsigned long long pointer, unsigned char value, size_t n);
int cuCtxSynchronize(void);
int cuGetErrorName(int error, const char **name);

static int is_initialised;
static int has_context;
static size_t used;

static const char *visible(void)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");

    return text != NULL ? text : "";
}

int cuInit(unsigned flags)
{
    is_initialised = flags == 0;
    return is_initialised ? OK : INVALID_VALUE;
}

int cuDeviceGetCount(int *count)
{
    *count = visible()[0] != '\0';
    for (const char *at = visible(); *at != '\0'; at++)
        *count += *at == ',';
    return is_initialised ? OK : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return is_initialised ? OK : NOT_INITIALIZED;
}

int cuDeviceGetUuid(unsigned char uuid[UUID_BYTES], int device)
{
    const char *at = strchr(visible(), '-');
    int n = 0;

    if (!is_initialised || device != 0 || at == NULL)
        return INVALID_VALUE;
    for (; n < UUID_BYTES && at[0] != '\0'; at++) {
        char digits[3] = {at[0], at[1], '\0'};

        if (*at == '-')
            continue;
        uuid[n++] = (unsigned char)strtoul(digits, NULL, 16);
        at++;
    }
    return n == UUID_BYTES ? OK : INVALID_VALUE;
}

int cuCtxCreate_v2(void **context, unsigned flags, int device)
{
    *context = &has_context;
    has_context = is_initialised && flags == 0 && device == 0;
    return has_context ? OK : INVALID_VALUE;
}

int cuMemAlloc_v2(unsigned long long *pointer, size_t size)
{
    if (!has_context)
        return INVALID_CONTEXT;
    if (size == 0 || size > MEMORY_BYTES - used)
        return size == 0 ? INVALID_VALUE : OUT_OF_MEMORY;
    *pointer = used + 1;
    used += size;
    return OK;
}

int cuMemsetD8_v2(unsigned long long pointer, unsigned char value, size_t n)
{
    (void)value;
    return pointer == 0 || pointer - 1 + n > used ? INVALID_VALUE : OK;
}

int cuCtxSynchronize(void)
{
    return has_context ? OK : INVALID_CONTEXT;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OTHER";
    return OK;
}
