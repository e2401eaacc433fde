#include "model/xid_catalogue.h"

const struct weir_xid *weir_xid_find(uint32_t code)
{
    for (size_t i = 0; i < weir_n_xids; i++)
        if (weir_xids[i].code == code)
            return &weir_xids[i];
    return NULL;
}

const struct weir_sxid *weir_sxid_find(uint32_t code)
{
    for (size_t i = 0; i < weir_n_sxids; i++)
        if (weir_sxids[i].code == code)
            return &weir_sxids[i];
    return NULL;
}

const char *weir_xid_origin_name(enum weir_xid_origin origin)
{
    static const char *const names[WEIR_XID_ORIGIN_MAX] = {
        [WEIR_XID_ORIGIN_UNKNOWN] = "unknown",   [WEIR_XID_ORIGIN_APP] = "app",
        [WEIR_XID_ORIGIN_HARDWARE] = "hardware", [WEIR_XID_ORIGIN_DRIVER] = "driver",
        [WEIR_XID_ORIGIN_FIRMWARE] = "firmware", [WEIR_XID_ORIGIN_FABRIC] = "fabric",
        [WEIR_XID_ORIGIN_CONFIG] = "config",     [WEIR_XID_ORIGIN_VM] = "vm"};

    return origin < WEIR_XID_ORIGIN_MAX ? names[origin] : NULL;
}

const char *weir_xid_fatal_name(enum weir_xid_fatal fatal)
{
    static const char *const names[WEIR_XID_FATAL_MAX] = {[WEIR_XID_FATAL_UNKNOWN] = "unknown",
                                                          [WEIR_XID_FATAL_NO] = "no",
                                                          [WEIR_XID_FATAL_YES] = "yes",
                                                          [WEIR_XID_FATAL_DEPENDS] = "depends"};

    return fatal < WEIR_XID_FATAL_MAX ? names[fatal] : NULL;
}

static const struct {
    const char *name;
    const char *words;
} sxid_classes[WEIR_SXID_CLASS_MAX] = {
    [WEIR_SXID_CLASS_NONE] = {"unclassified", "what the line's own severity says"},
    [WEIR_SXID_CLASS_CORRECTED_ECC] = {"corrected-ecc", "nothing: a single bit was corrected"},
    [WEIR_SXID_CLASS_LINK_NOISE] = {"link-noise", "nothing: the link sent something again"},
    [WEIR_SXID_CLASS_BAD_RESPONSE] =
        {"bad-response", "a GPU answered a request with an error: mostly a program's doing"},
    [WEIR_SXID_CLASS_THERMAL] = {"thermal",
                                 "nothing yet: the switch speaks of its temperature or its host"},
    [WEIR_SXID_CLASS_FATAL_PORT] =
        {"fatal-port", "the GPU at that port cannot use NVLink until the fabric is reset"},
    [WEIR_SXID_CLASS_FATAL_FABRIC] =
        {"fatal-fabric", "no GPU at that switch can use NVLink until the fabric is reset"},
};

const char *weir_sxid_class_name(enum weir_sxid_class class)
{
    return class < WEIR_SXID_CLASS_MAX ? sxid_classes[class].name : NULL;
}

const char *weir_sxid_class_words(enum weir_sxid_class class)
{
    return class < WEIR_SXID_CLASS_MAX ? sxid_classes[class].words : NULL;
}
