/* The rig's store: the real one, where each write can be made to fail. For app_rig*.c only. */
#ifndef WEIR_TESTS_SUPPORT_APP_RIG_STORE_H
#define WEIR_TESTS_SUPPORT_APP_RIG_STORE_H

#include "app_rig.h"

struct weir_store app_rig_wrap_store(struct app_rig *rig);

#endif
