# SPDX-License-Identifier: MIT
"""train.py of torchrun.t: a training loop of PyTorch on CPUs.

Gradients go through gloo, which has no tuner. Before each of them this process
does with NCCL_TUNER_PLUGIN what NCCL would do (libstandin.so), and the ranks
compare the answers through gloo. Ends at SIGTERM, or with status 3 when ranks
differ, which would hang NCCL.
"""

import ctypes
import os
import time

import torch
import torch.distributed as dist

LOGGER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p,
                          ctypes.c_int, ctypes.c_char_p)
ALL_REDUCE, BYTES = 4, 32 << 20


class Plugin(ctypes.Structure):
    """struct host_plugin"""

    _fields_ = [("handle", ctypes.c_void_p), ("abi", ctypes.c_int), ("symbol", ctypes.c_void_p)]


class Comm(ctypes.Structure):
    """struct host_comm"""

    _fields_ = [
        ("plugin", ctypes.POINTER(Plugin)),
        ("ctx", ctypes.c_void_p),
        ("id", ctypes.c_uint64),
        ("ranks", ctypes.c_size_t),
        ("nodes", ctypes.c_size_t),
        ("max_channels", ctypes.c_int),
        ("nvls", ctypes.c_bool),
        ("algos", ctypes.c_int),
    ]


class Choice(ctypes.Structure):
    """struct host_choice"""

    _fields_ = [
        ("algo", ctypes.c_int),
        ("proto", ctypes.c_int),
        ("channels", ctypes.c_int),
        ("us", ctypes.c_float),
        ("nccl_algo", ctypes.c_int),
        ("nccl_proto", ctypes.c_int),
        ("nccl_us", ctypes.c_float),
    ]


def check(status, what):
    if status:
        raise SystemExit(f"{what}: status {status}")


def main():
    nccl = ctypes.CDLL(os.environ["STANDIN"], mode=ctypes.RTLD_GLOBAL)
    nccl.host_decide.argtypes = [
        ctypes.POINTER(Comm), ctypes.c_int, ctypes.c_size_t, ctypes.c_int, ctypes.POINTER(Choice)]
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    # As NCCL's unique ID: rank 0 makes it, the others get it.
    number = torch.tensor([int.from_bytes(os.urandom(7), "little")])
    dist.broadcast(number, 0)
    plugin, log = Plugin(), LOGGER(lambda *message: None)
    check(nccl.host_open(ctypes.byref(plugin), 5), "the tuner plugin")
    comm = Comm(plugin=ctypes.pointer(plugin), id=number.item(), ranks=ranks, nodes=1,
                max_channels=16, algos=7)
    check(nccl.host_init(ctypes.byref(comm), log), "init")
    dist.barrier()  # NCCL's ranks wait here for each other before any asks its tuner
    model = torch.nn.Linear(8, 1)
    loss_of = torch.nn.MSELoss()
    torch.manual_seed(rank)
    choice, seen = Choice(), None
    while True:
        decided = nccl.host_decide(ctypes.byref(comm), ALL_REDUCE, BYTES, 0, ctypes.byref(choice))
        check(decided, "a decision")
        mine = torch.tensor([choice.algo, choice.proto, choice.channels])
        all_of = [torch.empty_like(mine) for _ in range(ranks)]
        dist.all_gather(all_of, mine)
        if any(not torch.equal(mine, other) for other in all_of):
            print(f"rank {rank}: ranks differ: {all_of}", flush=True)
            raise SystemExit(3)
        if rank == 0 and mine.tolist() != seen:
            seen = mine.tolist()
            print("decision", *seen, flush=True)
        model.zero_grad()
        loss_of(model(torch.randn(16, 8)), torch.zeros(16, 1)).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        time.sleep(0.002)


main()
