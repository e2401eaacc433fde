/* Compiled, never run: MIG in our declarations of NVML against NVIDIA's header
 * (tests/e2e/nvml_layout.py). */
#include "nvml_layout.h"

SAME_VALUE(WEIR_NVML_MIG_DISABLE, NVML_DEVICE_MIG_DISABLE);
SAME_VALUE(WEIR_NVML_MIG_ENABLE, NVML_DEVICE_MIG_ENABLE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_1_SLICE, NVML_GPU_INSTANCE_PROFILE_1_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_2_SLICE, NVML_GPU_INSTANCE_PROFILE_2_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_3_SLICE, NVML_GPU_INSTANCE_PROFILE_3_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_4_SLICE, NVML_GPU_INSTANCE_PROFILE_4_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_7_SLICE, NVML_GPU_INSTANCE_PROFILE_7_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_8_SLICE, NVML_GPU_INSTANCE_PROFILE_8_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_6_SLICE, NVML_GPU_INSTANCE_PROFILE_6_SLICE);
SAME_VALUE(WEIR_NVML_GI_PROFILE_1_SLICE_REV1, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1);
SAME_VALUE(WEIR_NVML_GI_PROFILE_2_SLICE_REV1, NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1);
SAME_VALUE(WEIR_NVML_GI_PROFILE_1_SLICE_REV2, NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2);
SAME_VALUE(WEIR_NVML_GI_PROFILE_1_SLICE_GFX, NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX);
SAME_VALUE(WEIR_NVML_GI_PROFILE_2_SLICE_GFX, NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX);
SAME_VALUE(WEIR_NVML_GI_PROFILE_4_SLICE_GFX, NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX);
SAME_VALUE(WEIR_NVML_GI_PROFILE_1_SLICE_NO_ME, NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME);
SAME_VALUE(WEIR_NVML_GI_PROFILE_2_SLICE_NO_ME, NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME);
SAME_VALUE(WEIR_NVML_GI_PROFILE_1_SLICE_ALL_ME, NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME);
SAME_VALUE(WEIR_NVML_GI_PROFILE_2_SLICE_ALL_ME, NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME);
SAME_VALUE(WEIR_NVML_GI_PROFILE_3_SLICE_GFX, NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX);
SAME_VALUE(WEIR_NVML_GI_PROFILE_COUNT, NVML_GPU_INSTANCE_PROFILE_COUNT);
SAME_VALUE(WEIR_NVML_CI_PROFILE_1_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_2_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_3_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_4_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_7_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_8_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_6_SLICE, NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE);
SAME_VALUE(WEIR_NVML_CI_PROFILE_1_SLICE_REV1, NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1);
SAME_VALUE(WEIR_NVML_CI_ENGINE_SHARED, NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED);
SAME_VALUE(WEIR_NVML_GI_CAPS_P2P, NVML_GPU_INSTANCE_PROFILE_CAPS_P2P);
SAME_VALUE(WEIR_NVML_GI_CAPS_GFX, NVML_GPU_INSTANCE_PROFILE_CAPS_GFX);
SAME_VALUE(WEIR_NVML_CI_CAPS_GFX, NVML_COMPUTE_INSTANCE_PROFILE_CAPS_GFX);
SAME_VALUE(WEIR_NVML_STRUCT_VERSION(struct weir_nvml_gi_profile_info_v2, 2),
           nvmlGpuInstanceProfileInfo_v2);
SAME_VALUE(WEIR_NVML_STRUCT_VERSION(struct weir_nvml_gi_profile_info_v3, 3),
           nvmlGpuInstanceProfileInfo_v3);
SAME_VALUE(WEIR_NVML_STRUCT_VERSION(struct weir_nvml_ci_profile_info_v2, 2),
           nvmlComputeInstanceProfileInfo_v2);
SAME_VALUE(WEIR_NVML_STRUCT_VERSION(struct weir_nvml_ci_profile_info_v3, 3),
           nvmlComputeInstanceProfileInfo_v3);

SAME_SIZE(struct weir_nvml_gi_profile_info_v1, nvmlGpuInstanceProfileInfo_t);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, id, nvmlGpuInstanceProfileInfo_t, id);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, is_p2p_supported, nvmlGpuInstanceProfileInfo_t,
           isP2pSupported);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, slices, nvmlGpuInstanceProfileInfo_t, sliceCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, instances, nvmlGpuInstanceProfileInfo_t,
           instanceCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, multiprocessors, nvmlGpuInstanceProfileInfo_t,
           multiprocessorCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, copy_engines, nvmlGpuInstanceProfileInfo_t,
           copyEngineCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, decoders, nvmlGpuInstanceProfileInfo_t,
           decoderCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, encoders, nvmlGpuInstanceProfileInfo_t,
           encoderCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, jpeg_engines, nvmlGpuInstanceProfileInfo_t,
           jpegCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, ofa_engines, nvmlGpuInstanceProfileInfo_t,
           ofaCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v1, memory_mib, nvmlGpuInstanceProfileInfo_t,
           memorySizeMB);

SAME_SIZE(struct weir_nvml_gi_profile_info_v2, nvmlGpuInstanceProfileInfo_v2_t);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, version, nvmlGpuInstanceProfileInfo_v2_t, version);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, id, nvmlGpuInstanceProfileInfo_v2_t, id);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, is_p2p_supported, nvmlGpuInstanceProfileInfo_v2_t,
           isP2pSupported);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, slices, nvmlGpuInstanceProfileInfo_v2_t,
           sliceCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, instances, nvmlGpuInstanceProfileInfo_v2_t,
           instanceCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, multiprocessors, nvmlGpuInstanceProfileInfo_v2_t,
           multiprocessorCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, copy_engines, nvmlGpuInstanceProfileInfo_v2_t,
           copyEngineCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, decoders, nvmlGpuInstanceProfileInfo_v2_t,
           decoderCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, encoders, nvmlGpuInstanceProfileInfo_v2_t,
           encoderCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, jpeg_engines, nvmlGpuInstanceProfileInfo_v2_t,
           jpegCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, ofa_engines, nvmlGpuInstanceProfileInfo_v2_t,
           ofaCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, memory_mib, nvmlGpuInstanceProfileInfo_v2_t,
           memorySizeMB);
SAME_PLACE(struct weir_nvml_gi_profile_info_v2, name, nvmlGpuInstanceProfileInfo_v2_t, name);

SAME_SIZE(struct weir_nvml_gi_profile_info_v3, nvmlGpuInstanceProfileInfo_v3_t);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, version, nvmlGpuInstanceProfileInfo_v3_t, version);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, id, nvmlGpuInstanceProfileInfo_v3_t, id);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, slices, nvmlGpuInstanceProfileInfo_v3_t,
           sliceCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, instances, nvmlGpuInstanceProfileInfo_v3_t,
           instanceCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, multiprocessors, nvmlGpuInstanceProfileInfo_v3_t,
           multiprocessorCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, copy_engines, nvmlGpuInstanceProfileInfo_v3_t,
           copyEngineCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, decoders, nvmlGpuInstanceProfileInfo_v3_t,
           decoderCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, encoders, nvmlGpuInstanceProfileInfo_v3_t,
           encoderCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, jpeg_engines, nvmlGpuInstanceProfileInfo_v3_t,
           jpegCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, ofa_engines, nvmlGpuInstanceProfileInfo_v3_t,
           ofaCount);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, memory_mib, nvmlGpuInstanceProfileInfo_v3_t,
           memorySizeMB);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, name, nvmlGpuInstanceProfileInfo_v3_t, name);
SAME_PLACE(struct weir_nvml_gi_profile_info_v3, capabilities, nvmlGpuInstanceProfileInfo_v3_t,
           capabilities);

SAME_SIZE(struct weir_nvml_placement, nvmlGpuInstancePlacement_t);
SAME_PLACE(struct weir_nvml_placement, start, nvmlGpuInstancePlacement_t, start);
SAME_PLACE(struct weir_nvml_placement, size, nvmlGpuInstancePlacement_t, size);
SAME_SIZE(struct weir_nvml_placement, nvmlComputeInstancePlacement_t);
SAME_PLACE(struct weir_nvml_placement, start, nvmlComputeInstancePlacement_t, start);
SAME_PLACE(struct weir_nvml_placement, size, nvmlComputeInstancePlacement_t, size);

SAME_SIZE(struct weir_nvml_gi_info, nvmlGpuInstanceInfo_t);
SAME_PLACE(struct weir_nvml_gi_info, device, nvmlGpuInstanceInfo_t, device);
SAME_PLACE(struct weir_nvml_gi_info, id, nvmlGpuInstanceInfo_t, id);
SAME_PLACE(struct weir_nvml_gi_info, profile_id, nvmlGpuInstanceInfo_t, profileId);
SAME_PLACE(struct weir_nvml_gi_info, placement, nvmlGpuInstanceInfo_t, placement);

SAME_SIZE(struct weir_nvml_ci_profile_info_v1, nvmlComputeInstanceProfileInfo_t);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, id, nvmlComputeInstanceProfileInfo_t, id);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, slices, nvmlComputeInstanceProfileInfo_t,
           sliceCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, instances, nvmlComputeInstanceProfileInfo_t,
           instanceCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, multiprocessors, nvmlComputeInstanceProfileInfo_t,
           multiprocessorCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, copy_engines, nvmlComputeInstanceProfileInfo_t,
           sharedCopyEngineCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, decoders, nvmlComputeInstanceProfileInfo_t,
           sharedDecoderCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, encoders, nvmlComputeInstanceProfileInfo_t,
           sharedEncoderCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, jpeg_engines, nvmlComputeInstanceProfileInfo_t,
           sharedJpegCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v1, ofa_engines, nvmlComputeInstanceProfileInfo_t,
           sharedOfaCount);

SAME_SIZE(struct weir_nvml_ci_profile_info_v2, nvmlComputeInstanceProfileInfo_v2_t);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, version, nvmlComputeInstanceProfileInfo_v2_t,
           version);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, id, nvmlComputeInstanceProfileInfo_v2_t, id);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, slices, nvmlComputeInstanceProfileInfo_v2_t,
           sliceCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, instances, nvmlComputeInstanceProfileInfo_v2_t,
           instanceCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, multiprocessors,
           nvmlComputeInstanceProfileInfo_v2_t, multiprocessorCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, copy_engines, nvmlComputeInstanceProfileInfo_v2_t,
           sharedCopyEngineCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, decoders, nvmlComputeInstanceProfileInfo_v2_t,
           sharedDecoderCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, encoders, nvmlComputeInstanceProfileInfo_v2_t,
           sharedEncoderCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, jpeg_engines, nvmlComputeInstanceProfileInfo_v2_t,
           sharedJpegCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, ofa_engines, nvmlComputeInstanceProfileInfo_v2_t,
           sharedOfaCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v2, name, nvmlComputeInstanceProfileInfo_v2_t, name);

SAME_SIZE(struct weir_nvml_ci_profile_info_v3, nvmlComputeInstanceProfileInfo_v3_t);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, version, nvmlComputeInstanceProfileInfo_v3_t,
           version);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, id, nvmlComputeInstanceProfileInfo_v3_t, id);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, slices, nvmlComputeInstanceProfileInfo_v3_t,
           sliceCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, instances, nvmlComputeInstanceProfileInfo_v3_t,
           instanceCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, multiprocessors,
           nvmlComputeInstanceProfileInfo_v3_t, multiprocessorCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, copy_engines, nvmlComputeInstanceProfileInfo_v3_t,
           sharedCopyEngineCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, decoders, nvmlComputeInstanceProfileInfo_v3_t,
           sharedDecoderCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, encoders, nvmlComputeInstanceProfileInfo_v3_t,
           sharedEncoderCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, jpeg_engines, nvmlComputeInstanceProfileInfo_v3_t,
           sharedJpegCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, ofa_engines, nvmlComputeInstanceProfileInfo_v3_t,
           sharedOfaCount);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, name, nvmlComputeInstanceProfileInfo_v3_t, name);
SAME_PLACE(struct weir_nvml_ci_profile_info_v3, capabilities, nvmlComputeInstanceProfileInfo_v3_t,
           capabilities);

SAME_SIZE(struct weir_nvml_ci_info_v2, nvmlComputeInstanceInfo_t);
SAME_PLACE(struct weir_nvml_ci_info_v2, device, nvmlComputeInstanceInfo_t, device);
SAME_PLACE(struct weir_nvml_ci_info_v2, gpu_instance, nvmlComputeInstanceInfo_t, gpuInstance);
SAME_PLACE(struct weir_nvml_ci_info_v2, id, nvmlComputeInstanceInfo_t, id);
SAME_PLACE(struct weir_nvml_ci_info_v2, profile_id, nvmlComputeInstanceInfo_t, profileId);
SAME_PLACE(struct weir_nvml_ci_info_v2, placement, nvmlComputeInstanceInfo_t, placement);

SAME_SIZE(struct weir_nvml_attributes, nvmlDeviceAttributes_t);
SAME_PLACE(struct weir_nvml_attributes, multiprocessors, nvmlDeviceAttributes_t,
           multiprocessorCount);
SAME_PLACE(struct weir_nvml_attributes, copy_engines, nvmlDeviceAttributes_t,
           sharedCopyEngineCount);
SAME_PLACE(struct weir_nvml_attributes, decoders, nvmlDeviceAttributes_t, sharedDecoderCount);
SAME_PLACE(struct weir_nvml_attributes, encoders, nvmlDeviceAttributes_t, sharedEncoderCount);
SAME_PLACE(struct weir_nvml_attributes, jpeg_engines, nvmlDeviceAttributes_t, sharedJpegCount);
SAME_PLACE(struct weir_nvml_attributes, ofa_engines, nvmlDeviceAttributes_t, sharedOfaCount);
SAME_PLACE(struct weir_nvml_attributes, gi_slices, nvmlDeviceAttributes_t, gpuInstanceSliceCount);
SAME_PLACE(struct weir_nvml_attributes, ci_slices, nvmlDeviceAttributes_t,
           computeInstanceSliceCount);
SAME_PLACE(struct weir_nvml_attributes, memory_mib, nvmlDeviceAttributes_t, memorySizeMB);
