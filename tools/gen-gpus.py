#!/usr/bin/env python3
"""Makes the C table of the GPU catalogue: gen-gpus.py data/gpus.json OUT.c

Refuses data that the lookup or the MIG arithmetic could not live with: a name that means two
models, a profile that does not fit its grid, more streaming multiprocessors than the GPU has."""
import json
import sys

VENDORS = {"nvidia": "WEIR_GPU_VENDOR_NVIDIA", "amd": "WEIR_GPU_VENDOR_AMD", "intel": "WEIR_GPU_VENDOR_INTEL"}
LINKS = {
    "pcie": "WEIR_GPU_LINK_PCIE",
    "nvlink": "WEIR_GPU_LINK_NVLINK",
    "nvlink-bridge": "WEIR_GPU_LINK_NVLINK_BRIDGE",
    "xgmi": "WEIR_GPU_LINK_XGMI",
    "roce-ethernet": "WEIR_GPU_LINK_ETHERNET",
}


def fail(model, what):
    sys.exit(f"gen-gpus.py: {model['id']}: {what}")


def text(value):
    return "NULL" if value is None else json.dumps(value)


def number(value):
    return 0 if value is None else value


def names_of(model):
    names = [model["id"], *model["aliases"]]
    for name in (model["device_name"], model["name"]):
        if name is not None and name.lower() not in (n.lower() for n in names):
            names.append(name)
    return names


def check_profile(model, mig, profile):
    name = profile["name"]
    if profile["size"] != profile["memory_slices"]:
        fail(model, f"{name}: a placement of {profile['size']} for {profile['memory_slices']} memory slices")
    if profile["compute_slices"] > mig["compute_slices"] or profile["max_instances"] < 1:
        fail(model, f"{name}: slices or instances out of range")
    if any(start < 0 or start + profile["size"] > mig["memory_slices"] for start in profile["starts"]):
        fail(model, f"{name}: a placement outside the grid of {mig['memory_slices']}")
    if len(profile["starts"]) < profile["max_instances"]:
        fail(model, f"{name}: fewer placements than instances")
    if number(profile["sm"]) > number(model["sm_count"]) > 0:
        fail(model, f"{name}: more SMs than the GPU has")
    if number(profile["memory_mib"]) > number(model["nvml_total_mib"]) > 0:
        fail(model, f"{name}: more memory than the GPU has")


def write_profiles(out, i, model):
    mig = model["mig"]
    if not mig["supported"]:
        return
    if mig["memory_slices"] > 16:
        fail(model, "the placement mask holds 16 memory slices")
    out.append(f"static const struct weir_mig_profile profiles_{i}[] = {{")
    for profile in mig["profiles"]:
        check_profile(model, mig, profile)
        mask = sum(1 << start for start in profile["starts"])
        out.append(
            f"    {{{text(profile['name'])}, INT64_C({number(profile['memory_mib']) << 20}), {number(profile['sm'])}, "
            f"0x{mask:04x}, {profile['gi_profile_id']}, {profile['compute_slices']}, "
            f"{profile['memory_slices']}, {profile['max_instances']}}},"
        )
    out.append("};")


def capability(model):
    parts = (model["compute_capability"] or "").split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) == 2 else (0, 0)


def link_mb_per_s(link):
    for key in ("gbs_unidirectional", "gbs_unidirectional_all"):
        if key in link:
            return round(link[key] * 1000)
    return 0


def write_model(out, i, model):
    mig = model["mig"]
    link = model["interconnect"]
    major, minor = capability(model)
    for pci_id in model["pci_ids"]:
        if len(pci_id) != 9 or pci_id[4] != ":":
            fail(model, f"'{pci_id}' is no PCI id")
    if len(model["pci_ids"]) > 4:
        fail(model, "more than 4 PCI ids")
    ids = ", ".join(f"0x{p.replace(':', '')}" for p in model["pci_ids"]) or "0"
    out += [
        "    {",
        f"        .id = {text(model['id'])},",
        f"        .name = {text(model['name'])},",
        f"        .device_name = {text(model['device_name'])},",
        f"        .architecture = {text(model['architecture'])},",
        f"        .vendor = {VENDORS[model['vendor']]},",
        f"        .cc_major = {major},",
        f"        .cc_minor = {minor},",
        f"        .memory_total_bytes = INT64_C({number(model['nvml_total_mib']) << 20}),",
        f"        .memory_reserved_bytes = INT64_C({number(model['nvml_reserved_mib']) << 20}),",
        f"        .tdp_w = {number(model['tdp_w'])},",
        f"        .sm_count = {number(model['sm_count'])},",
        f"        .link = {LINKS[link['kind']]},",
        f"        .link_gen = {link.get('gen', 0)},",
        f"        .n_links = {link.get('links', 0)},",
        f"        .link_mb_per_s = {link_mb_per_s(link)},",
        f"        .max_link_domain = {model['max_nvlink_domain']},",
        f"        .n_pci_ids = {len(model['pci_ids'])},",
        f"        .pci_ids = {{{ids}}},",
    ]
    if mig["supported"]:
        out += [
            f"        .mig_memory_slices = {mig['memory_slices']},",
            f"        .mig_compute_slices = {mig['compute_slices']},",
            f"        .n_mig_profiles = {len(mig['profiles'])},",
            f"        .mig_profiles = profiles_{i},",
        ]
    out.append("    },")


def main():
    with open(sys.argv[1], encoding="utf-8") as source:
        models = json.load(source)
    out = ["/* Made by tools/gen-gpus.py from data/gpus.json. */", '#include "model/gpu_catalogue.h"', "", "#include <stddef.h>", ""]
    for i, model in enumerate(models):
        write_profiles(out, i, model)
    out.append("const struct weir_gpu_model weir_gpu_models[] = {")
    for i, model in enumerate(models):
        write_model(out, i, model)
    out += ["};", f"const size_t weir_n_gpu_models = {len(models)};", "", "const struct weir_gpu_name weir_gpu_names[] = {"]
    owners = {}
    n_names = 0
    for i, model in enumerate(models):
        for name in names_of(model):
            owner = owners.setdefault(name.lower(), model["id"])
            if owner != model["id"]:
                fail(model, f"the name '{name}' also means {owner}")
            out.append(f"    {{{text(name)}, {i}}},")
            n_names += 1
    out += ["};", f"const size_t weir_n_gpu_names = {n_names};", ""]
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        target.write("\n".join(out))


if __name__ == "__main__":
    main()
