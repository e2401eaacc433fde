/* base/arena.h — memory with one lifetime: a tick, a request, a document. Freed or reset whole,
 * never by piece.
 *
 * Chunks double from 4 KiB up to 1 MiB; a larger piece gets a chunk of its own. Under ASan unused
 * space is poisoned. Not thread-safe: one owner at a time. */
#ifndef WEIR_BASE_ARENA_H
#define WEIR_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct weir_arena_chunk;

struct weir_arena {
    struct weir_arena_chunk *head; /* newest */
    unsigned char *next;
    unsigned char *end;
    size_t max_bytes;  /* 0: unlimited */
    size_t used_bytes; /* of all chunks */
};

#define WEIR_ARENA_INIT                                                                            \
    {                                                                                              \
        NULL, NULL, NULL, 0, 0                                                                     \
    }

void weir_arena_init(struct weir_arena *arena, size_t max_bytes);
void weir_arena_finish(struct weir_arena *arena); /* frees all; the arena can be used again */
/* Forgets all, keeps the largest chunk of up to 1 MiB for the next round. */
void weir_arena_reset(struct weir_arena *arena);

/* Zeroed, aligned to 16 bytes. NULL when memory is short or max_bytes would be passed. */
void *weir_arena_alloc(struct weir_arena *arena, size_t size);
void *weir_arena_alloc_array(struct weir_arena *arena, size_t n, size_t size);
/* Not zeroed and not aligned: for bytes. */
char *weir_arena_bytes(struct weir_arena *arena, size_t size);
/* Copies n bytes and a closing NUL. */
char *weir_arena_strndup(struct weir_arena *arena, const char *text, size_t n);
char *weir_arena_printf(struct weir_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes room for n items in *items (of `size` bytes, *cap allotted), at least doubling; the old
 * place is left to the arena. 0 or WEIR_E_NO_MEMORY with all as it was. */
int weir_arena_grow(struct weir_arena *arena, void *items_ptr, uint32_t *cap, uint32_t n,
                    size_t size);

#define weir_arena_new(arena, type) ((type *)weir_arena_alloc((arena), sizeof(type)))
#define weir_arena_new_n(arena, type, n)                                                           \
    ((type *)weir_arena_alloc_array((arena), (n), sizeof(type)))

#endif
