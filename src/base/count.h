/* base/count.h — how many there are of what is counted when it is compiled. */
#ifndef WEIR_BASE_COUNT_H
#define WEIR_BASE_COUNT_H

/* Elements of an array; not of what a pointer points to. */
#define WEIR_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#endif
