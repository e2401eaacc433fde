#!/usr/bin/env python3
"""A nvidia-smi that reads NVML by itself: as much of it as tests/hardware/run asks for. FAKE_SMI_LIE=FIELD makes it say something else of that field."""
import ctypes
import os
import sys

nvml = ctypes.CDLL('libnvidia-ml.so.1')
TEXT = 96


class Memory(ctypes.Structure):
    _fields_ = [('total', ctypes.c_ulonglong), ('free', ctypes.c_ulonglong), ('used', ctypes.c_ulonglong)]


class Pci(ctypes.Structure):
    _fields_ = [('legacy', ctypes.c_char * 16), ('domain', ctypes.c_uint), ('bus', ctypes.c_uint), ('device', ctypes.c_uint), ('id', ctypes.c_uint),
                ('subsystem', ctypes.c_uint), ('text', ctypes.c_char * 32)]


def text(call, gpu):
    value = ctypes.create_string_buffer(TEXT)
    return value.value.decode() if getattr(nvml, call)(gpu, value, TEXT) == 0 else '[N/A]'


def number(call, gpu, *args, unit=1):
    value = ctypes.c_uint()
    return f'{value.value / unit:.2f}' if getattr(nvml, call)(gpu, *args, ctypes.byref(value)) == 0 else '[N/A]'


def whole(call, gpu, *args):
    return number(call, gpu, *args).removesuffix('.00')


def structure(call, gpu, kind):
    value = kind()
    assert getattr(nvml, call)(gpu, ctypes.byref(value)) == 0, call
    return value


def mig_mode(gpu):
    now, then = ctypes.c_uint(), ctypes.c_uint()
    if nvml.nvmlDeviceGetMigMode(gpu, ctypes.byref(now), ctypes.byref(then)) != 0:
        return '[N/A]'
    return 'Enabled' if now.value else 'Disabled'


def utilization(gpu):
    value = (ctypes.c_uint * 2)()
    return str(value[0]) if nvml.nvmlDeviceGetUtilizationRates(gpu, ctypes.byref(value)) == 0 else '[N/A]'


FIELDS = {
    'uuid': lambda gpu: text('nvmlDeviceGetUUID', gpu),
    'name': lambda gpu: text('nvmlDeviceGetName', gpu),
    'index': lambda gpu: whole('nvmlDeviceGetIndex', gpu),
    'memory.total': lambda gpu: str(structure('nvmlDeviceGetMemoryInfo', gpu, Memory).total >> 20),
    'memory.used': lambda gpu: str(structure('nvmlDeviceGetMemoryInfo', gpu, Memory).used >> 20),
    'pci.bus_id': lambda gpu: structure('nvmlDeviceGetPciInfo_v3', gpu, Pci).text.decode(),
    'power.limit': lambda gpu: number('nvmlDeviceGetEnforcedPowerLimit', gpu, unit=1000),
    'power.draw': lambda gpu: number('nvmlDeviceGetPowerUsage', gpu, unit=1000),
    'clocks.max.sm': lambda gpu: whole('nvmlDeviceGetMaxClockInfo', gpu, 1),
    'clocks.sm': lambda gpu: whole('nvmlDeviceGetClockInfo', gpu, 1),
    'temperature.gpu': lambda gpu: whole('nvmlDeviceGetTemperature', gpu, 0),
    'utilization.gpu': utilization,
    'mig.mode.current': mig_mode,
}


def handle_of(uuid):
    gpu = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(gpu)) == 0, uuid
    return gpu


def show_nvlinks(gpu):
    state = ctypes.c_uint()
    for link in range(18):
        if nvml.nvmlDeviceGetNvLinkState(gpu, link, ctypes.byref(state)) == 0:
            print(f'\t Link {link}: {"26.562 GB/s" if state.value else "<inactive>"}')


def main():
    assert nvml.nvmlInit_v2() == 0
    if sys.argv[1:3] == ['nvlink', '--status']:
        show_nvlinks(handle_of(sys.argv[4]))
        return
    names = sys.argv[1].removeprefix('--query-gpu=').split(',')
    assert sys.argv[2] == '--format=csv,noheader,nounits', sys.argv
    count = ctypes.c_uint()
    assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
    for index in range(count.value):
        gpu = ctypes.c_void_p()
        assert nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(gpu)) == 0
        print(', '.join('1' if name == os.environ.get('FAKE_SMI_LIE') else FIELDS[name](gpu) for name in names))


main()
