#!/usr/bin/env python3
"""Real NVML clients on the simulated driver: nvidia-ml-py, gpustat, nvitop and nvidia-ctk show the fleet, its load, its
processes and MIG devices; and the jobs of a weir, which its own API must show alike.

nvml_clients.py SIM_FLEET WEIR

nvidia-ctk is not in the environment of ./dev check (it needs a newer Go than Debian's); it is taken from $WEIR_NVIDIA_CTK or
$PATH, its test is skipped without, and needs root for device nodes. One way to get it:
go install github.com/NVIDIA/nvidia-container-toolkit/cmd/nvidia-ctk@v1.20.2"""
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import client_venv
import weirlib

MIB = 1 << 20
H100_TOTAL_MIB = 81559
H100_RESERVED_MIB = 480

# Runs inside the environment, where pynvml is: prints what the driver says as JSON.
PYNVML_SCRIPT = """
import json, pynvml
pynvml.nvmlInit()
out = {"driver": pynvml.nvmlSystemGetDriverVersion(), "cuda": pynvml.nvmlSystemGetCudaDriverVersion(), "gpus": []}
for i in range(pynvml.nvmlDeviceGetCount()):
    try:
        gpu = pynvml.nvmlDeviceGetHandleByIndex(i)
        v1 = pynvml.nvmlDeviceGetMemoryInfo(gpu)
        v2 = pynvml.nvmlDeviceGetMemoryInfo(gpu, version=pynvml.nvmlMemory_v2)
        uuid = pynvml.nvmlDeviceGetUUID(gpu)
        out["gpus"].append({
            "name": pynvml.nvmlDeviceGetName(gpu),
            "uuid": uuid,
            "same_by_uuid": pynvml.nvmlDeviceGetIndex(pynvml.nvmlDeviceGetHandleByUUID(uuid)) == i,
            "bus": pynvml.nvmlDeviceGetPciInfo(gpu).busId,
            "v1": [v1.total, v1.used, v1.free],
            "v2": [v2.total, v2.reserved, v2.used, v2.free],
            "cc": pynvml.nvmlDeviceGetCudaComputeCapability(gpu),
            "power": pynvml.nvmlDeviceGetPowerUsage(gpu),
            "utilization": pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
            "processes": [[p.pid, p.usedGpuMemory] for p in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)],
            "graphics": len(pynvml.nvmlDeviceGetGraphicsRunningProcesses(gpu)),
        })
    except pynvml.NVMLError as error:
        out["gpus"].append({"error": error.value, "text": str(error)})
pynvml.nvmlShutdown()
print(json.dumps(out))
"""

# Cuts GPU 0 into 3g + 2x1g, as a client may, and prints what there is then: each MIG device with its parent, memory and
# processes.
MIG_SCRIPT = """
import json, sys, pynvml
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
if sys.argv[1] == "make":
    assert pynvml.nvmlDeviceSetMigMode(gpu, 1) == pynvml.NVML_SUCCESS
    for profile, n, compute in ((pynvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE, 1, pynvml.NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE),
                                (pynvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE, 2, pynvml.NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE)):
        for _ in range(n):
            info = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, profile)
            instance = pynvml.nvmlDeviceCreateGpuInstance(gpu, info.id)
            of = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, compute, 0)
            pynvml.nvmlGpuInstanceCreateComputeInstance(instance, of.id)
out = {"mode": pynvml.nvmlDeviceGetMigMode(gpu), "max": pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu), "devices": []}
for i in range(out["max"]):
    try:
        mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, i)
    except pynvml.NVMLError_NotFound:
        continue
    memory = pynvml.nvmlDeviceGetMemoryInfo(mig)
    attributes = pynvml.nvmlDeviceGetAttributes(mig)
    parent = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
    out["devices"].append({
        "uuid": pynvml.nvmlDeviceGetUUID(mig),
        "name": pynvml.nvmlDeviceGetName(mig),
        "parent": pynvml.nvmlDeviceGetUUID(parent) == pynvml.nvmlDeviceGetUUID(gpu),
        "gi": pynvml.nvmlDeviceGetGpuInstanceId(mig),
        "ci": pynvml.nvmlDeviceGetComputeInstanceId(mig),
        "memory": [memory.total, memory.used],
        "slices": attributes.gpuInstanceSliceCount,
        "sms": attributes.multiprocessorCount,
        "processes": [[p.pid, p.usedGpuMemory, p.gpuInstanceId] for p in pynvml.nvmlDeviceGetComputeRunningProcesses(mig)],
    })
pynvml.nvmlShutdown()
print(json.dumps(out))
"""

EVENT_SCRIPT = """
import json, pynvml, sys
pynvml.nvmlInit()
events = pynvml.nvmlEventSetCreate()
gpu = pynvml.nvmlDeviceGetHandleByIndex(1)
pynvml.nvmlDeviceRegisterEvents(gpu, pynvml.nvmlEventTypeXidCriticalError, events)
print("listening", flush=True)
data = pynvml.nvmlEventSetWait_v2(events, 20000)
print(json.dumps([data.eventType, data.eventData, pynvml.nvmlDeviceGetIndex(data.device)]))
"""


# What a load of each may use at most and at least, in percent, once it has begun: the mean of the profile and its waves
# (src/edge/nvml/sim_model.c).
BOUNDS = {
    "steady": (83, 100),
    "saw-tooth": (24, 96),
    "starved": (0, 25),
    "bursty": (0, 84),
    "interactive": (0, 16),
    "idle": (0, 0),
    "held": (0, 0),
}


class Clients(unittest.TestCase):
    venv = None
    sim_fleet = None

    def setUp(self):
        self.data = tempfile.TemporaryDirectory()
        self.addCleanup(self.data.cleanup)

    def make_fleet(self, *args):
        subprocess.run([self.sim_fleet, self.data.name, *args], check=True)

    def run_client(self, *args):
        env = dict(os.environ, LD_LIBRARY_PATH=str(Path(self.data.name) / "lib"), PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(
            [self.venv / "bin" / args[0], *args[1:]], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_process(self):
        """Clients look pids up in the real /proc."""
        process = subprocess.Popen(["sleep", "300"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.pid

    def test_nvidia_ml_py(self):
        pid = self.start_process()
        self.make_fleet("2x2xH100+L40S", f"0:{pid}:32000", f"0:{pid + 1}:1000", f"4:{pid}:100")
        shown = json.loads(self.run_client("python", "-c", PYNVML_SCRIPT))
        self.assertEqual(shown["driver"], "570.133.20")
        self.assertEqual(shown["cuda"], 12080)
        self.assertEqual([gpu["name"] for gpu in shown["gpus"]], ["NVIDIA H100 80GB HBM3"] * 4 + ["NVIDIA L40S"])
        self.assertEqual(len({gpu["uuid"] for gpu in shown["gpus"]}), 5)
        self.assertTrue(all(gpu["same_by_uuid"] for gpu in shown["gpus"]))
        first = shown["gpus"][0]
        total, reserved, used = H100_TOTAL_MIB * MIB, H100_RESERVED_MIB * MIB, 33000 * MIB
        self.assertEqual(first["v1"], [total, used + reserved, total - used - reserved])
        self.assertEqual(first["v2"], [total, reserved, used, total - used - reserved])
        self.assertEqual(first["processes"], [[pid, 32000 * MIB], [pid + 1, 1000 * MIB]])
        self.assertEqual(first["graphics"], 0)
        self.assertEqual(first["cc"], [9, 0])
        self.assertEqual(first["power"], 70000)
        self.assertEqual(shown["gpus"][2]["bus"], "00000001:08:00.0")
        self.assertEqual(shown["gpus"][1]["processes"], [])
        self.assertEqual(shown["gpus"][4]["processes"], [[pid, 100 * MIB]])

    def test_a_lost_gpu(self):
        self.make_fleet("3xH100", "gpu 1 lost")
        shown = json.loads(self.run_client("python", "-c", PYNVML_SCRIPT))
        self.assertEqual(shown["gpus"][1], {"error": 15, "text": "GPU is lost"})
        self.assertEqual(shown["gpus"][2]["name"], "NVIDIA H100 80GB HBM3")

    def test_gpustat(self):
        pid = self.start_process()
        self.make_fleet("2xH100", f"1:{pid}:64000")
        shown = json.loads(self.run_client("gpustat", "--json"))
        self.assertEqual(shown["driver_version"], "570.133.20")
        idle, busy = shown["gpus"]
        self.assertEqual(busy["name"], "NVIDIA H100 80GB HBM3")
        self.assertEqual(busy["memory.total"], H100_TOTAL_MIB)
        self.assertEqual(busy["memory.used"], 64000)
        self.assertEqual(busy["enforced.power.limit"], 700)
        self.assertEqual(busy["temperature.gpu"], 30)
        self.assertEqual(busy["utilization.gpu"], 0)
        self.assertIsNone(busy["fan.speed"])
        self.assertEqual([(p["pid"], p["command"], p["gpu_memory_usage"]) for p in busy["processes"]], [(pid, "sleep", 64000)])
        self.assertEqual(idle["processes"], [])
        self.assertEqual(idle["memory.used"], 0)

    def test_nvitop(self):
        pid = self.start_process()
        self.make_fleet("2xH200", f"0:{pid}:1024")
        shown = self.run_client("nvitop", "-1")
        self.assertIn("Driver Version: 570.133.20", shown)
        self.assertIn("CUDA Driver Version: 12.8", shown)
        self.assertIn("00000000:08:00.0", shown)
        self.assertIn("Disabled", shown)
        self.assertRegex(shown, rf"\b{pid} C\b.*1024MiB")
        self.assertNotIn("Gpu Is Lost", shown)

    def test_load(self):
        """A job that has trained for ten minutes keeps its GPU busy and warm; its neighbour holds memory and does nothing."""
        pid = self.start_process()
        self.make_fleet("2xH100", f"load 0:{pid}:60000:steady:600", f"load 1:{pid}:20000:idle:600")
        busy, idle = json.loads(self.run_client("gpustat", "--json"))["gpus"]
        self.assertGreater(busy["utilization.gpu"], 75)
        self.assertGreater(busy["power.draw"], 500)
        self.assertGreater(busy["temperature.gpu"], 60)
        self.assertEqual(busy["memory.used"], 60000)
        self.assertEqual(idle["utilization.gpu"], 0)
        self.assertEqual(idle["power.draw"], 70)
        self.assertEqual(idle["memory.used"], 20000)
        self.assertRegex(self.run_client("nvitop", "-1"), rf"\b{pid} C\b.*58\.59GiB")

    def test_mig(self):
        pid = self.start_process()
        self.make_fleet("2xH100")
        made = json.loads(self.run_client("python", "-c", MIG_SCRIPT, "make"))
        self.assertEqual(made["mode"], [1, 1])
        self.assertEqual([device["slices"] for device in made["devices"]], [3, 1, 1])
        self.assertEqual([device["sms"] for device in made["devices"]], [60, 16, 16])
        self.assertEqual(made["devices"][1]["name"], "NVIDIA H100 80GB HBM3 MIG 1g.10gb")
        self.assertEqual(made["devices"][1]["memory"], [9851 * MIB, 0])
        self.assertEqual(len({device["uuid"] for device in made["devices"]}), 3)
        self.assertTrue(all(device["parent"] for device in made["devices"]))
        first = made["devices"][0]
        self.make_fleet("2xH100", f"load 0:{pid}:30000:steady:600:{first['gi']}:{first['ci']}")
        shown = json.loads(self.run_client("python", "-c", MIG_SCRIPT, "show"))
        self.assertEqual([device["uuid"] for device in shown["devices"]], [device["uuid"] for device in made["devices"]])
        self.assertEqual(shown["devices"][0]["processes"], [[pid, 30000 * MIB, first["gi"]]])
        self.assertEqual(shown["devices"][0]["memory"], [40448 * MIB, 30000 * MIB])
        self.assertEqual(shown["devices"][1]["processes"], [])
        text = self.run_client("nvitop", "-1")
        self.assertIn("Enabled", text)
        self.assertRegex(text, r"0:0\b.*3g\.40gb")
        self.assertRegex(text, r"0:2\b.*1g\.10gb")
        self.assertRegex(text, rf"0:0\s+{pid} C\b.*29.30GiB|0:0\s+{pid} C\b.*30000MiB")

    def test_an_xid_reaches_a_client_that_waits(self):
        self.make_fleet("2xH100")
        env = dict(os.environ, LD_LIBRARY_PATH=str(Path(self.data.name) / "lib"))
        waiting = subprocess.Popen(
            [self.venv / "bin/python", "-c", EVENT_SCRIPT], env=env, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(waiting.stdout.close)
        self.addCleanup(waiting.wait)
        self.addCleanup(waiting.kill)
        self.assertEqual(waiting.stdout.readline(), "listening\n")
        self.make_fleet("2xH100", "gpu 0 xid 13", "gpu 1 xid 31")
        self.assertEqual(json.loads(waiting.stdout.readline()), [8, 31, 1])

    def test_nvidia_ctk(self):
        tool = os.environ.get("WEIR_NVIDIA_CTK") or shutil.which("nvidia-ctk")
        if tool is None:
            self.skipTest("no nvidia-ctk: ./dev check builds it where there is a Go that can, else name it in WEIR_NVIDIA_CTK")
        if os.geteuid() != 0:
            self.skipTest("device nodes need root")
        self.make_fleet("2x2xH100")
        root = self.make_driver_root(4)
        env = dict(os.environ, WEIR_SIM_FLEET=str(Path(self.data.name) / "sim/fleet"))
        done = subprocess.run(
            [tool, "--quiet", "cdi", "generate", "--mode=nvml", f"--driver-root={root}", f"--dev-root={root}", "--format=json"],
            env=env, capture_output=True, text=True, timeout=120, check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {device["name"] for device in json.loads(done.stdout)["devices"]}
        self.assertTrue({"0", "1", "2", "3", "all"} <= names, names)
        self.assertEqual(len([name for name in names if name.startswith("GPU-")]), 4)

    def make_driver_root(self, n_gpus):
        """What nvidia-ctk expects of a machine with a driver: its library, files and device nodes."""
        root = Path(self.data.name) / "root"
        libs = root / "usr/lib/x86_64-linux-gnu"
        firmware = root / "lib/firmware/nvidia/570.133.20"
        for folder in (root / "dev", root / "etc", root / "usr/bin", libs, firmware):
            folder.mkdir(parents=True)
        nodes = [(f"nvidia{i}", 195, i) for i in range(n_gpus)]
        nodes += [("nvidiactl", 195, 255), ("nvidia-uvm", 510, 0), ("nvidia-uvm-tools", 510, 1), ("nvidia-modeset", 195, 254)]
        for name, major, minor in nodes:
            os.mknod(root / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        for name in ("libcuda", "libnvidia-ml", "libnvidia-ptxjitcompiler"):
            shutil.copy(Path(self.data.name) / "lib/libnvidia-ml.so.1", libs / f"{name}.so.570.133.20")
            (libs / f"{name}.so.1").symlink_to(f"{name}.so.570.133.20")
        (root / "etc/ld.so.cache").touch()
        (firmware / "gsp_ga10x.bin").touch()
        return root


class Jobs(unittest.TestCase):
    """A weir, its jobs, and everybody who looks at them."""

    def setUp(self):
        self.test = weirlib.Test("nvml-jobs")
        self.addCleanup(self.test.finish)
        self.server = self.test.serve("--simulate", "8xH100")

    def run_client(self, *args):
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.join(self.test.data, "lib"), PYTHONDONTWRITEBYTECODE="1")
        done = subprocess.run(
            [Clients.venv / "bin" / args[0], *args[1:]], env=env, capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start(self, *options):
        number = self.server.submit(*options, "--", "sh", "-c", "echo $$; exec sleep 1000")
        self.server.wait_state(number, "running")
        text = weirlib.wait_for("its pid", lambda: self.server.cli("logs", number).stdout.strip())
        job = self.server.job(number)
        return number, int(text), job["gpus"]

    def reading(self, key):
        return json.loads(self.server.cli("get", "gpu", key, "-o", "json").stdout)["reading"]

    def wait_until_busy(self, key):
        """Loads rise for some seconds; a steady one is then at 84 % and more."""
        weirlib.wait_for("the load to have risen",
                         lambda: self.reading(key)["metrics"].get("utilization_percent", 0) >= 75)

    def test_every_profile_is_seen_by_all(self):
        names = list(BOUNDS)
        jobs = {name: self.start("--sim-profile", name, "--gpus", "1", "--gpu-memory", f"{10 + i}Gi")
                for i, name in enumerate(names)}
        self.wait_until_busy(jobs["steady"][2][0])
        shown = {gpu["uuid"]: gpu for gpu in json.loads(self.run_client("python", "-c", PYNVML_SCRIPT))["gpus"]}
        stats = {gpu["uuid"]: gpu for gpu in json.loads(self.run_client("gpustat", "--json"))["gpus"]}
        text = self.run_client("nvitop", "-1")
        self.assertEqual(len({tuple(job[2]) for job in jobs.values()}), len(BOUNDS))
        for i, (name, (_, pid, gpus)) in enumerate(jobs.items()):
            low, high = BOUNDS[name]
            full = (10 + i) * 1024 * MIB
            (key,) = gpus
            with self.subTest(profile=name):
                (process,) = shown[key]["processes"]
                self.assertEqual(process[0], pid)
                self.assertGreater(process[1], 0 if name != "held" else full - 1)
                self.assertLessEqual(process[1], full)
                (process,) = stats[key]["processes"]
                self.assertEqual((process["pid"], process["command"]), (pid, "sleep"))
                self.assertRegex(text, rf"\b{pid} C\b")
                (process,) = self.reading(key)["processes"]
                self.assertEqual(process["pid"], pid)
                metrics = self.reading(key)["metrics"]
                for percent in (shown[key]["utilization"], stats[key]["utilization.gpu"], metrics["utilization_percent"]):
                    self.assertGreaterEqual(percent, int(low * 0.7))  # some of the rise may be left
                    self.assertLessEqual(percent, high)
                self.assertGreaterEqual(metrics["power_mw"], 70000)
                self.assertLessEqual(metrics["power_mw"], 700000)
                self.assertGreater(metrics["memory_used_bytes"], 0)
        free = next(gpu for gpu in shown if gpu not in {job[2][0] for job in jobs.values()})
        self.assertEqual(shown[free]["processes"], [])
        for number, _, _ in jobs.values():
            self.server.cli("cancel", number)
        for number, _, _ in jobs.values():
            self.server.wait_ended(number)
        after = json.loads(self.run_client("python", "-c", PYNVML_SCRIPT))["gpus"]
        self.assertEqual([gpu["processes"] for gpu in after], [[]] * 8)
        self.assertEqual([gpu["utilization"] for gpu in after], [0] * 8)
        for key in shown:
            weirlib.wait_for("the API to say so", lambda key=key: self.reading(key)["processes"] == [])

    def test_by_its_class_and_over_a_restart(self):
        _, pid, gpus = self.start("--class", "training", "--gpus", "2")
        for key in gpus:
            self.wait_until_busy(key)
        self.server.kill()
        self.server.start()
        shown = {gpu["uuid"]: gpu for gpu in json.loads(self.run_client("python", "-c", PYNVML_SCRIPT))["gpus"]}
        for key in gpus:
            ((seen, used),) = shown[key]["processes"]
            self.assertEqual(seen, pid)
            # It goes on as it was: had it begun anew, it would be at 0.
            self.assertGreater(shown[key]["utilization"], 60)
            self.assertGreater(used, 4 << 30)
            weirlib.wait_for("the API to show it", lambda key=key: [
                process["pid"] for process in self.reading(key)["processes"] or []] == [pid])

    def test_after_a_change_of_the_fleet_it_is_as_old_as_it_is(self):
        _, pid, gpus = self.start("--sim-profile", "held", "--gpu-memory", "7Gi")
        self.server.kill()
        self.server.args = ["--simulate", "8xH100+L40S"]
        self.server.start()
        shown = {gpu["uuid"]: gpu for gpu in json.loads(self.run_client("python", "-c", PYNVML_SCRIPT))["gpus"]}
        self.assertEqual(len(shown), 9)
        self.assertEqual(shown[gpus[0]]["processes"], [[pid, 7 << 30]])

    def test_an_unknown_profile_is_refused(self):
        said = self.server.cli("run", "--sim-profile", "stedy", "--", "true", check=2).stderr.decode()
        self.assertIn("did you mean steady?", said)
        status, answer = self.server.post("/v1/workloads", {
            "apiVersion": "weir.dev/v1", "kind": "Workload", "spec": {"command": ["true"], "cwd": "/", "simProfile": "stedy"}})
        self.assertEqual((status, answer["error"]["field"]), (400, "spec.simProfile"))
        self.assertEqual(answer["error"]["hint"], "did you mean 'steady'?")


def main():
    Clients.venv = client_venv.find()
    Clients.sim_fleet, weirlib.WEIR = sys.argv[1:]
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
