#!/usr/bin/env python3
"""Real NVML clients on the simulated driver: nvidia-ml-py, gpustat and nvitop show the fleet and its processes.

nvml_clients.py SIM_FLEET"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import client_venv

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
            "processes": [[p.pid, p.usedGpuMemory] for p in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)],
            "graphics": len(pynvml.nvmlDeviceGetGraphicsRunningProcesses(gpu)),
        })
    except pynvml.NVMLError as error:
        out["gpus"].append({"error": error.value, "text": str(error)})
pynvml.nvmlShutdown()
print(json.dumps(out))
"""


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


def main():
    Clients.venv = client_venv.find()
    Clients.sim_fleet = sys.argv[1]
    unittest.main(argv=sys.argv[:1], verbosity=2)


if __name__ == "__main__":
    main()
