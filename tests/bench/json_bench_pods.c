#include "json_bench_pods.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/rng.h"
#include "fmt/json.h"

#include <string.h>

enum { POD_BYTES_MAX = 64 * 1024, N_ENV = 24 };

static void put(struct weir_json_writer *w, const char *key, const char *value)
{
    weir_json_key(w, key);
    weir_json_text(w, value);
}

static void put_empty(struct weir_json_writer *w, const char *key)
{
    weir_json_key(w, key);
    weir_json_object_begin(w);
    weir_json_object_end(w);
}

static void put_hex(struct weir_json_writer *w, struct weir_rng *rng, const char *key,
                    const char *before)
{
    char text[128];

    snprintf(text, sizeof(text), "%s%016llx%08llx", before, (unsigned long long)weir_rng_next(rng),
             (unsigned long long)weir_rng_next(rng) & 0xFFFFFFFF);
    put(w, key, text);
}

static void put_time(struct weir_json_writer *w, struct weir_rng *rng, const char *key)
{
    char text[64];

    snprintf(text, sizeof(text), "2026-11-%02uT%02u:%02u:%02uZ",
             1 + (unsigned)(weir_rng_below(rng, 30)), (unsigned)weir_rng_below(rng, 24),
             (unsigned)weir_rng_below(rng, 60), (unsigned)weir_rng_below(rng, 60));
    put(w, key, text);
}

static void open_field(struct weir_json_writer *w, const char *key)
{
    weir_json_key(w, key);
    weir_json_object_begin(w);
    put_empty(w, ".");
}

static void put_managed_spec(struct weir_json_writer *w)
{
    char key[64];

    weir_json_key(w, "f:spec");
    weir_json_object_begin(w);
    weir_json_key(w, "f:containers");
    weir_json_object_begin(w);
    open_field(w, "k:{\"name\":\"worker\"}");
    open_field(w, "f:env");
    for (unsigned i = 0; i < N_ENV; i++) {
        snprintf(key, sizeof(key), "k:{\"name\":\"TRAIN_SETTING_%u\"}", i);
        open_field(w, key);
        put_empty(w, "f:name");
        put_empty(w, "f:value");
        weir_json_object_end(w);
    }
    weir_json_object_end(w);
    put_empty(w, "f:image");
    put_empty(w, "f:imagePullPolicy");
    put_empty(w, "f:name");
    open_field(w, "f:resources");
    open_field(w, "f:limits");
    put_empty(w, "f:cpu");
    put_empty(w, "f:memory");
    put_empty(w, "f:nvidia.com/gpu");
    weir_json_object_end(w);
    weir_json_object_end(w);
    put_empty(w, "f:terminationMessagePath");
    put_empty(w, "f:terminationMessagePolicy");
    weir_json_object_end(w);
    weir_json_object_end(w);
    put_empty(w, "f:dnsPolicy");
    put_empty(w, "f:enableServiceLinks");
    put_empty(w, "f:restartPolicy");
    put_empty(w, "f:schedulerName");
    put_empty(w, "f:securityContext");
    put_empty(w, "f:terminationGracePeriodSeconds");
    weir_json_object_end(w);
}

static void put_managed_status(struct weir_json_writer *w)
{
    static const char *const conditions[] = {"ContainersReady", "Initialized", "Ready"};
    char key[64];

    weir_json_key(w, "f:status");
    weir_json_object_begin(w);
    weir_json_key(w, "f:conditions");
    weir_json_object_begin(w);
    for (size_t i = 0; i < 3; i++) {
        snprintf(key, sizeof(key), "k:{\"type\":\"%s\"}", conditions[i]);
        open_field(w, key);
        put_empty(w, "f:lastProbeTime");
        put_empty(w, "f:lastTransitionTime");
        put_empty(w, "f:status");
        put_empty(w, "f:type");
        weir_json_object_end(w);
    }
    weir_json_object_end(w);
    put_empty(w, "f:containerStatuses");
    put_empty(w, "f:hostIP");
    put_empty(w, "f:phase");
    put_empty(w, "f:podIP");
    put_empty(w, "f:startTime");
    weir_json_object_end(w);
}

static void put_managed(struct weir_json_writer *w, struct weir_rng *rng, const char *manager,
                        void (*fields)(struct weir_json_writer *))
{
    weir_json_object_begin(w);
    put(w, "manager", manager);
    put(w, "operation", "Update");
    put(w, "apiVersion", "v1");
    put_time(w, rng, "time");
    put(w, "fieldsType", "FieldsV1");
    weir_json_key(w, "fieldsV1");
    weir_json_object_begin(w);
    fields(w);
    weir_json_object_end(w);
    weir_json_object_end(w);
}

static void put_metadata(struct weir_json_writer *w, struct weir_rng *rng, const char *name)
{
    weir_json_key(w, "metadata");
    weir_json_object_begin(w);
    put(w, "name", name);
    put(w, "generateName", "train-llm-worker-");
    put(w, "namespace", "team-research");
    put_hex(w, rng, "uid", "");
    put(w, "resourceVersion", "184467440737");
    put_time(w, rng, "creationTimestamp");
    weir_json_key(w, "labels");
    weir_json_object_begin(w);
    put(w, "app.kubernetes.io/name", "train-llm");
    put(w, "app.kubernetes.io/component", "worker");
    put(w, "batch.kubernetes.io/job-name", "train-llm-worker");
    put_hex(w, rng, "controller-uid", "");
    weir_json_object_end(w);
    weir_json_key(w, "annotations");
    weir_json_object_begin(w);
    put(w, "cni.projectcalico.org/podIP", "10.244.17.201/32");
    put(w, "kubernetes.io/note", "r\xC3\xA9sum\xC3\xA9 of \"run 7\"\nsecond line");
    weir_json_object_end(w);
    weir_json_key(w, "ownerReferences");
    weir_json_array_begin(w);
    weir_json_object_begin(w);
    put(w, "apiVersion", "batch/v1");
    put(w, "kind", "Job");
    put(w, "name", "train-llm-worker");
    put_hex(w, rng, "uid", "");
    weir_json_key(w, "controller");
    weir_json_bool(w, true);
    weir_json_key(w, "blockOwnerDeletion");
    weir_json_bool(w, true);
    weir_json_object_end(w);
    weir_json_array_end(w);
    weir_json_key(w, "managedFields");
    weir_json_array_begin(w);
    put_managed(w, rng, "kube-controller-manager", put_managed_spec);
    put_managed(w, rng, "kubelet", put_managed_status);
    weir_json_array_end(w);
    weir_json_object_end(w);
}

static void put_resources(struct weir_json_writer *w, const char *key, const char *gpus)
{
    weir_json_key(w, key);
    weir_json_object_begin(w);
    put(w, "cpu", "16");
    put(w, "memory", "128Gi");
    if (gpus != NULL)
        put(w, "nvidia.com/gpu", gpus);
    weir_json_object_end(w);
}

static void put_container(struct weir_json_writer *w, struct weir_rng *rng, const char *gpus)
{
    char key[32];

    weir_json_object_begin(w);
    put(w, "name", "worker");
    put_hex(w, rng, "image", "registry.example.com/research/train@sha256:");
    weir_json_key(w, "command");
    weir_json_array_begin(w);
    weir_json_text(w, "/bin/sh");
    weir_json_text(w, "-c");
    weir_json_text(w, "exec python3 -m train --config \"/etc/train/run.yaml\" --resume\n");
    weir_json_array_end(w);
    weir_json_key(w, "env");
    weir_json_array_begin(w);
    for (unsigned i = 0; i < N_ENV; i++) {
        weir_json_object_begin(w);
        snprintf(key, sizeof(key), "TRAIN_SETTING_%u", i);
        put(w, "name", key);
        put_hex(w, rng, "value", "value-of-it-");
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
    weir_json_key(w, "resources");
    weir_json_object_begin(w);
    put_resources(w, "limits", gpus);
    put_resources(w, "requests", gpus);
    weir_json_object_end(w);
    weir_json_key(w, "volumeMounts");
    weir_json_array_begin(w);
    for (unsigned i = 0; i < 3; i++) {
        weir_json_object_begin(w);
        put_hex(w, rng, "name", "kube-api-access-");
        weir_json_key(w, "readOnly");
        weir_json_bool(w, i == 0);
        put(w, "mountPath", "/var/run/secrets/kubernetes.io/serviceaccount");
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
    put(w, "terminationMessagePath", "/dev/termination-log");
    put(w, "terminationMessagePolicy", "File");
    put(w, "imagePullPolicy", "IfNotPresent");
    weir_json_object_end(w);
}

static void put_spec(struct weir_json_writer *w, struct weir_rng *rng, const char *gpus)
{
    weir_json_key(w, "spec");
    weir_json_object_begin(w);
    weir_json_key(w, "containers");
    weir_json_array_begin(w);
    put_container(w, rng, gpus);
    weir_json_array_end(w);
    put(w, "restartPolicy", "OnFailure");
    weir_json_key(w, "terminationGracePeriodSeconds");
    weir_json_i64(w, 30);
    put(w, "dnsPolicy", "ClusterFirst");
    put(w, "serviceAccountName", "default");
    put(w, "nodeName", "gpu-node-0417.example.com");
    weir_json_key(w, "securityContext");
    weir_json_object_begin(w);
    weir_json_object_end(w);
    weir_json_key(w, "tolerations");
    weir_json_array_begin(w);
    for (unsigned i = 0; i < 2; i++) {
        weir_json_object_begin(w);
        put(w, "key", i == 0 ? "node.kubernetes.io/not-ready" : "node.kubernetes.io/unreachable");
        put(w, "operator", "Exists");
        put(w, "effect", "NoExecute");
        weir_json_key(w, "tolerationSeconds");
        weir_json_i64(w, 300);
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
    weir_json_key(w, "priority");
    weir_json_i64(w, (int64_t)weir_rng_below(rng, 1000000));
    put(w, "schedulerName", "default-scheduler");
    weir_json_object_end(w);
}

static void put_status(struct weir_json_writer *w, struct weir_rng *rng)
{
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady", "PodScheduled"};

    weir_json_key(w, "status");
    weir_json_object_begin(w);
    put(w, "phase", "Running");
    weir_json_key(w, "conditions");
    weir_json_array_begin(w);
    for (size_t i = 0; i < 5; i++) {
        weir_json_object_begin(w);
        put(w, "type", types[i]);
        put(w, "status", "True");
        put(w, "lastProbeTime", NULL);
        put_time(w, rng, "lastTransitionTime");
        weir_json_object_end(w);
    }
    weir_json_array_end(w);
    put(w, "hostIP", "10.0.17.4");
    put(w, "podIP", "10.244.17.201");
    put_time(w, rng, "startTime");
    weir_json_key(w, "containerStatuses");
    weir_json_array_begin(w);
    weir_json_object_begin(w);
    put(w, "name", "worker");
    weir_json_key(w, "state");
    weir_json_object_begin(w);
    weir_json_key(w, "running");
    weir_json_object_begin(w);
    put_time(w, rng, "startedAt");
    weir_json_object_end(w);
    weir_json_object_end(w);
    put_empty(w, "lastState");
    weir_json_key(w, "ready");
    weir_json_bool(w, true);
    weir_json_key(w, "restartCount");
    weir_json_u64(w, weir_rng_below(rng, 5));
    put_hex(w, rng, "imageID", "registry.example.com/research/train@sha256:");
    put_hex(w, rng, "containerID", "containerd://");
    weir_json_key(w, "started");
    weir_json_bool(w, true);
    weir_json_object_end(w);
    weir_json_array_end(w);
    put(w, "qosClass", "Guaranteed");
    weir_json_object_end(w);
}

static void put_pod(struct weir_json_writer *w, struct weir_rng *rng, struct bench_sums *sums)
{
    uint64_t gpus = weir_rng_below(rng, 9);
    char name[64];
    char count[8];

    snprintf(name, sizeof(name), "train-llm-worker-%llu", (unsigned long long)sums->pods);
    snprintf(count, sizeof(count), "%u", (unsigned)gpus);
    weir_json_object_begin(w);
    put_metadata(w, rng, name);
    put_spec(w, rng, gpus > 0 ? count : NULL);
    put_status(w, rng);
    weir_json_object_end(w);
    sums->pods++;
    sums->gpus += gpus;
    sums->names += weir_hash_crc32c(0, name, strlen(name));
}

int bench_write_pods(FILE *file, uint64_t bytes, struct bench_sums *ret_sums)
{
    struct weir_buf out = WEIR_BUF_INIT(POD_BYTES_MAX);
    struct bench_sums sums = {0};
    struct weir_rng rng;
    uint64_t written = 0;
    int result = 0;

    weir_rng_init(&rng, 7);
    fputs("{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"9001\"},"
          "\"items\":[",
          file);
    while (written < bytes && result == 0) {
        struct weir_json_writer writer;

        weir_buf_reset(&out);
        if (sums.pods > 0)
            weir_buf_putc(&out, ',');
        weir_json_writer_init(&writer, &out, false);
        put_pod(&writer, &rng, &sums);
        result = weir_json_writer_end(&writer, "pod", NULL);
        if (fwrite(out.data, 1, out.len, file) != out.len)
            result = -1;
        written += out.len;
    }
    fputs("]}\n", file);
    weir_buf_finish(&out);
    *ret_sums = sums;
    return result;
}
