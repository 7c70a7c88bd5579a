#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# PyTorch on one real GPU: torchrun's two processes train with PyTorch's own NCCL, joined by
# sockets because their hosts are said to differ. A policy is loaded, used and undone meanwhile;
# gradients stay equal on both ranks. Skipped where there is no GPU or no PyTorch for it.
. "$TOP/test/integration/shell_lib.sh"
[ -c /dev/nvidia0 ] || skip_all "PyTorch on one real GPU" "there is none"
command -v torchrun >/dev/null || skip_all "PyTorch on one real GPU" "there is no torchrun"
trap 'kill -- "-$launcher" 2>/dev/null; finish' EXIT
cd "$T" || exit 1
cat >train.py <<'END'
import os
import signal
import sys
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
os.environ["NCCL_HOSTID"] = f"node{rank}"
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
torch.cuda.set_device(0)
dist.init_process_group("nccl")
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 64))
model = torch.nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
print("nccl", ".".join(map(str, torch.cuda.nccl.version())), flush=True)
while True:
    data = torch.randn(64, 512, device="cuda")
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
    # the ranks' data differ, so equal parameters mean that the gradients were summed
    mine = torch.stack([p.detach().double().sum() for p in model.parameters()])
    both = [torch.empty_like(mine) for _ in range(2)]
    dist.all_gather(both, mine)
    end = torch.tensor([float(len(stopped))], device="cuda")
    dist.all_reduce(end)
    if not torch.equal(both[0], both[1]):
        print("differ", both, flush=True)
        sys.exit(1)
    if end.item():
        break
print("well", rank, flush=True)
dist.destroy_process_group()
END
NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_NET=Socket NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" \
	setsid torchrun --nproc_per_node=2 train.py >torch.log 2>&1 &
launcher=$!
deciding() {
	[ "$("$S" -q -o tsv comm list 2>/dev/null | awk -F '\t' '$9 > 20' | grep -c .)" -ge 2 ]
}
await deciding
deciding=$?
[ $deciding -eq 0 ] || cp torch.log why
ok "two processes train and decide" $deciding
grep -m1 '^nccl' torch.log | sed 's/^/# /'
"$S" -o table list | sed 's/^/# /'
status 0 "a policy is used" policy use "$B/policies/cheap_ring.policy"
passed() { run -o tsv comm list && grep -q cheap_ring out && ! grep '	\[\]	' out; }
await passed
ok "by both ranks" $?
status 0 "both decide alike" check agreement
status 0 "telemetry" telemetry on
measured() { "$S" -q -o json stats 2>/dev/null | grep -q '"gpu": *{"count": *[1-9]'; }
await measured
ok "measured, by the GPU's clock" $?
run -o table stats
sed 's/^/# /' out
status 0 "an undo" policy undo
sleep 2
for p in $(pgrep -f "python.* train.py"); do kill -TERM "$p"; done
ended() { [ "$(grep -c '^well' torch.log)" -eq 2 ]; }
await ended
ended=$?
[ $ended -eq 0 ] || tail -20 torch.log >why
ok "both end well, with equal parameters after each step" $ended
