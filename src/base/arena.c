#include "base/arena.h"

#include "base/err.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ASAN 1
#endif
#endif
#ifdef ARENA_ASAN
#include <sanitizer/asan_interface.h>
#define POISON(ptr, n)   ASAN_POISON_MEMORY_REGION((ptr), (n))
#define UNPOISON(ptr, n) ASAN_UNPOISON_MEMORY_REGION((ptr), (n))
#else
#define POISON(ptr, n)   ((void)(ptr), (void)(n))
#define UNPOISON(ptr, n) ((void)(ptr), (void)(n))
#endif

enum { ALIGN = 16, CHUNK_MIN = 4096, CHUNK_MAX = 1024 * 1024 };

struct weir_arena_chunk {
    struct weir_arena_chunk *older;
    size_t size; /* of data */
    _Alignas(ALIGN) unsigned char data[];
};

void weir_arena_init(struct weir_arena *arena, size_t max_bytes)
{
    *arena = (struct weir_arena)WEIR_ARENA_INIT;
    arena->max_bytes = max_bytes;
}

static void free_chunks(struct weir_arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct weir_arena_chunk *older = chunk->older;

        UNPOISON(chunk->data, chunk->size);
        weir_mem_free(chunk);
        chunk = older;
    }
}

void weir_arena_finish(struct weir_arena *arena)
{
    if (arena == NULL)
        return;
    free_chunks(arena->head);
    weir_arena_init(arena, arena->max_bytes);
}

void weir_arena_reset(struct weir_arena *arena)
{
    struct weir_arena_chunk *keep = arena->head;

    if (keep == NULL)
        return;
    /* The largest that is no single large piece: one large request must not be paid for ever. */
    for (struct weir_arena_chunk *c = arena->head; c != NULL; c = c->older)
        if (c->size <= CHUNK_MAX && (keep->size > CHUNK_MAX || c->size > keep->size))
            keep = c;
    if (keep->size > CHUNK_MAX) {
        weir_arena_finish(arena);
        return;
    }
    for (struct weir_arena_chunk **link = &arena->head; *link != NULL; link = &(*link)->older) {
        if (*link == keep) {
            *link = keep->older;
            break;
        }
    }
    free_chunks(arena->head);
    keep->older = NULL;
    arena->head = keep;
    arena->next = keep->data;
    arena->end = keep->data + keep->size;
    arena->used_bytes = keep->size;
    POISON(keep->data, keep->size);
}

static bool grow(struct weir_arena *arena, size_t size)
{
    size_t want = arena->head == NULL ? CHUNK_MIN : arena->head->size * 2;
    struct weir_arena_chunk *chunk;

    if (want > CHUNK_MAX)
        want = CHUNK_MAX;
    if (size > want)
        want = size;
    if (arena->max_bytes > 0) {
        size_t left = arena->max_bytes - arena->used_bytes;

        if (arena->used_bytes > arena->max_bytes || size > left)
            return false;
        if (want > left)
            want = left;
    }
    chunk = weir_mem_alloc(sizeof(*chunk) + want);
    if (chunk == NULL)
        return false;
    chunk->size = want;
    chunk->older = arena->head;
    POISON(chunk->data, want);
    arena->head = chunk;
    arena->next = chunk->data;
    arena->end = chunk->data + want;
    arena->used_bytes += want;
    return true;
}

static void *take(struct weir_arena *arena, size_t size, size_t align)
{
    size_t pad;
    unsigned char *piece;

    if (size > SIZE_MAX / 2)
        return NULL;
    pad = (align - ((uintptr_t)arena->next & (align - 1))) & (align - 1);
    if (arena->next == NULL || (size_t)(arena->end - arena->next) < size + pad) {
        if (!grow(arena, size > 0 ? size : 1))
            return NULL;
        pad = 0; /* chunk data is aligned */
    }
    piece = arena->next + pad;
    UNPOISON(piece, size);
    arena->next = piece + size;
    return piece;
}

void *weir_arena_alloc(struct weir_arena *arena, size_t size)
{
    void *piece = take(arena, size, ALIGN);

    if (piece != NULL)
        memset(piece, 0, size);
    return piece;
}

void *weir_arena_alloc_array(struct weir_arena *arena, size_t n, size_t size)
{
    size_t total;

    if (__builtin_mul_overflow(n, size, &total))
        return NULL;
    return weir_arena_alloc(arena, total);
}

char *weir_arena_bytes(struct weir_arena *arena, size_t size)
{
    return take(arena, size, 1);
}

char *weir_arena_strndup(struct weir_arena *arena, const char *text, size_t n)
{
    char *copy = n < SIZE_MAX ? weir_arena_bytes(arena, n + 1) : NULL;

    if (copy == NULL)
        return NULL;
    if (n > 0)
        memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *weir_arena_printf(struct weir_arena *arena, const char *format, ...)
{
    va_list args;
    va_list again;
    char *text = NULL;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n >= 0)
        text = weir_arena_bytes(arena, (size_t)n + 1);
    if (text != NULL)
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}

int weir_arena_grow(struct weir_arena *arena, void *items_ptr, uint32_t *cap, uint32_t n,
                    size_t size)
{
    uint32_t want = *cap < 8 ? 8 : *cap;
    void *old;
    void *items;

    if (n <= *cap)
        return 0;
    while (want < n)
        want = want > UINT32_MAX / 2 ? UINT32_MAX : want * 2;
    items = weir_arena_alloc_array(arena, want, size);
    if (items == NULL)
        return WEIR_E_NO_MEMORY;
    memcpy(&old, items_ptr, sizeof(old));
    if (*cap > 0)
        memcpy(items, old, *cap * size);
    memcpy(items_ptr, &items, sizeof(items));
    *cap = want;
    return 0;
}
