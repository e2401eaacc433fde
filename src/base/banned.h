/* base/banned.h — functions that must not be used; the build includes this file before every source
 * of ours. */
#ifndef WEIR_BASE_BANNED_H
#define WEIR_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf gets strtok strtok_r
#pragma GCC poison gmtime localtime ctime asctime atoi atol atoll atof rand srand tmpnam
#pragma GCC poison mktemp tempnam

#endif
