"""A CUDA program without a toolkit: cuda_hold.py MIB[,MIB…] SECONDS [FILE]

Makes a context on the first visible GPU, takes so much of its memory, and holds it for so long; of several amounts each is taken SECONDS after the one before,
and on top of it. Prints how many GPUs it sees and the UUID of the first ("gpus 1 GPU-…"), and "holds N MiB" after each. FILE is made once all is held."""
import ctypes
import sys
import time
import uuid


class Cuda:
    def __init__(self):
        self.library = ctypes.CDLL('libcuda.so.1')

    def call(self, name, *args):
        result = getattr(self.library, name)(*args)
        if result != 0:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(result, ctypes.byref(text))
            raise SystemExit(f'{name}: {(text.value or b"?").decode()} ({result})')


def main():
    amounts = [int(word) for word in sys.argv[1].split(',')]
    seconds = float(sys.argv[2])
    cuda = Cuda()
    count, device, context = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    name = (ctypes.c_ubyte * 16)()
    cuda.call('cuInit', 0)
    cuda.call('cuDeviceGetCount', ctypes.byref(count))
    cuda.call('cuDeviceGet', ctypes.byref(device), 0)
    cuda.call('cuDeviceGetUuid', ctypes.byref(name), device)
    print(f'gpus {count.value} GPU-{uuid.UUID(bytes=bytes(name))}', flush=True)
    cuda.call('cuCtxCreate_v2', ctypes.byref(context), 0, device)
    for amount in amounts:
        pointer = ctypes.c_uint64()
        if amount > 0:
            cuda.call('cuMemAlloc_v2', ctypes.byref(pointer), ctypes.c_size_t(amount << 20))
            cuda.call('cuMemsetD8_v2', pointer, ctypes.c_ubyte(1), ctypes.c_size_t(amount << 20))
            cuda.call('cuCtxSynchronize')
        print(f'holds {amount} MiB', flush=True)
        if len(sys.argv) > 3 and amount is amounts[-1]:
            with open(sys.argv[3], 'w', encoding='utf-8'):
                pass
        time.sleep(seconds)


if __name__ == '__main__':
    main()
