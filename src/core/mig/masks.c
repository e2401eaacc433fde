#include "core/mig/masks.h"

uint32_t weir_mig_free_starts(const struct weir_mig_offer *offer, uint32_t blocked)
{
    uint32_t free = 0;

    for (uint32_t start = 0; start < WEIR_DEVICE_SLOTS_MAX; start++)
        if (weir_mig_may_start(offer, start) && (weir_mig_slots(offer, start) & blocked) == 0)
            free |= 1u << start;
    return free;
}

uint32_t weir_mig_count(const struct weir_mig_offer *offer, uint32_t blocked)
{
    uint32_t n = 0;

    for (uint32_t start = 0; start < WEIR_DEVICE_SLOTS_MAX; start++) {
        if (!weir_mig_may_start(offer, start) || (weir_mig_slots(offer, start) & blocked) != 0)
            continue;
        blocked |= weir_mig_slots(offer, start);
        n++;
    }
    return n;
}

uint32_t weir_mig_loss(const struct weir_mig_offer *offers, uint32_t n, uint32_t blocked,
                       uint32_t slots)
{
    uint32_t loss = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t lost = weir_mig_free_starts(&offers[k], blocked) &
                        ~weir_mig_free_starts(&offers[k], blocked | slots);

        for (; lost != 0; lost &= lost - 1)
            loss++;
    }
    return loss;
}

/* ---- layouts ---- */

/* More steps than any real device takes; beyond, what has been found has to do. */
enum { STEPS_MAX = 20000 };

struct search {
    const struct weir_mig_puzzle *puzzle;
    struct weir_mig_placement *placements;
    uint8_t missing[WEIR_DEVICE_SLOTS_MAX];
    uint32_t n;
    uint32_t n_steps;
    bool is_complete; /* all or nothing */
};

static uint32_t n_offers(const struct search *s)
{
    return s->puzzle->n_offers < WEIR_DEVICE_SLOTS_MAX ? s->puzzle->n_offers
                                                       : WEIR_DEVICE_SLOTS_MAX;
}

/* The largest of which some are missing, or WEIR_NONE. */
static uint32_t next_offer(const struct search *s)
{
    uint32_t best = WEIR_NONE;

    for (uint32_t k = 0; k < n_offers(s); k++)
        if (s->missing[k] > 0 &&
            (best == WEIR_NONE || s->puzzle->offers[k].size > s->puzzle->offers[best].size))
            best = k;
    return best;
}

/* The candidate starts of an offer in the order in which they are tried: where one is, then the
 * others; the `rank`th of them, or WEIR_NONE. */
static uint32_t start_of_rank(const struct search *s, uint32_t offer, uint32_t rank)
{
    uint32_t idle = s->puzzle->idle[offer] & s->puzzle->offers[offer].starts;
    const uint32_t rounds[] = {idle, s->puzzle->offers[offer].starts & ~idle};

    for (int round = 0; round < 2; round++)
        for (uint32_t start = 0; start < WEIR_DEVICE_SLOTS_MAX; start++)
            if (rounds[round] & 1u << start && rank-- == 0)
                return start;
    return WEIR_NONE;
}

static bool search(struct search *s, uint32_t blocked);

/* One of this offer, at a start from `rank` on: of equal ones the order is of no account. */
static bool place_from(struct search *s, uint32_t offer, uint32_t rank, uint32_t blocked)
{
    uint32_t start = start_of_rank(s, offer, rank);

    for (; start != WEIR_NONE; start = start_of_rank(s, offer, ++rank)) {
        uint32_t slots = weir_mig_slots(&s->puzzle->offers[offer], start);

        if ((slots & blocked) != 0)
            continue;
        if (++s->n_steps > STEPS_MAX || s->n == WEIR_DEVICE_SLOTS_MAX)
            return false;
        s->placements[s->n++] = (struct weir_mig_placement){(uint8_t)offer, (uint8_t)start};
        s->missing[offer]--;
        if (s->missing[offer] > 0 ? place_from(s, offer, rank + 1, blocked | slots)
                                  : search(s, blocked | slots))
            return true;
        if (!s->is_complete)
            return false;
        s->missing[offer]++;
        s->n--;
    }
    if (s->is_complete)
        return false;
    s->missing[offer] = 0;
    return search(s, blocked);
}

static bool search(struct search *s, uint32_t blocked)
{
    uint32_t offer = next_offer(s);

    return offer == WEIR_NONE || place_from(s, offer, 0, blocked);
}

uint32_t weir_mig_solve(const struct weir_mig_puzzle *puzzle,
                        struct weir_mig_placement ret_placements[WEIR_DEVICE_SLOTS_MAX])
{
    struct search s = {.puzzle = puzzle, .placements = ret_placements, .is_complete = true};

    memcpy(s.missing, puzzle->missing, sizeof(s.missing));
    if (search(&s, puzzle->blocked))
        return s.n;
    s = (struct search){.puzzle = puzzle, .placements = ret_placements};
    memcpy(s.missing, puzzle->missing, sizeof(s.missing));
    (void)search(&s, puzzle->blocked);
    return s.n;
}
