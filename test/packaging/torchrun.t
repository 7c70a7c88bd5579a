#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# PyTorch's quick start of docs/quickstart.md with the real torchrun, on CPUs: two
# processes train with gloo, and ask the tuner as NCCL would. What a shell sees
# and changes there.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/packaging/quickstart_lib.sh"
torch=$TOP/build/tools/torch/usr
[ -d "$torch" ] || skip_all "torchrun" "no PyTorch here: test/setup.sh torch"
[ -z "$(nm -D "$B/libncclbpf.so" | grep -E '__(asan|tsan)_init')" ] ||
	skip_all "torchrun" "python has no sanitizer"
trap 'kill -- "-$launcher" 2>/dev/null; finish' EXIT
trap "exit 143" TERM INT PIPE
cd "$T" || exit 1
install_here
cp "$TOP/test/packaging/torchrun_train.py" train.py
libraries=$(dirname "$torch"/lib/*/libtorch_cpu.so* | head -1):$torch/lib
cat >"$T/bin/torchrun" <<END
#!/bin/sh
export LD_LIBRARY_PATH="\$LD_LIBRARY_PATH:$libraries"
export PYTHONPATH="$torch/lib/python3/dist-packages" OMP_NUM_THREADS=1
exec python3 "$TOP/test/packaging/torchrun.py" "\$@"
END
chmod +x "$T/bin/torchrun"
export STANDIN="$B/test/fakes/host/libstandin.so"
# The page's commands; two ranks are enough.
block PyTorch torchrun | sed 's/per_node=8/per_node=2/' >torch.sh
grep -q '^torchrun .*=2 train.py$' torch.sh
ok "the page names torchrun" $?
setsid sh torch.sh >torch.log 2>&1 &
launcher=$!
attached() { [ "$("$S" -q -o tsv list 2>/dev/null | grep -c attachable)" -eq 2 ]; }
await attached
ok "the processes that torchrun starts are one job" $?
run -o tsv list
[ "$(cut -f 3 "$T/out" | grep '^[01]$' | sort | tr -d '\n')" = 01 ]
ok "each has the rank that torchrun gave it" $?
together() {
	"$S" -q -o tsv comm list >"$T/why" 2>&1 &&
		[ "$(cut -f 3 "$T/why" | sort | uniq -c | awk '{ print $1 }')" = 2 ]
}
await together
ok "they are one communicator" $?
decided() { grep -q "^decision $1\$" torch.log; }
await decided '[0-9].*'
ok "NCCL's own choice comes first" $?
status 0 "a policy is loaded" policy load "$B/policies/nvlink_ring_mid.policy"
status 0 "and used by both ranks" policy use nvlink_ring_mid
await decided '1 1 [0-9]*'
ok "both ranks follow it: no training step had different answers" $?
status 0 "it is undone" policy undo
own=$(grep -m1 '^decision' torch.log)
back() { [ "$(tail -1 torch.log)" = "$own" ]; }
await back
ok "and NCCL's choice is back on both ranks" $?
kill -- "-$launcher"
gone() { ! pgrep -g "$launcher" >/dev/null; }
await gone
ok "torchrun ends, and its processes" $?
grep -q differ torch.log && cp torch.log "$T/why"
! grep -q differ torch.log
ok "the ranks never differed" $?
