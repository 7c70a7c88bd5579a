#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The quick starts of docs/quickstart.md as they are printed: their commands and
# files are taken from the page, the pod from examples/containers. Slurm is a real
# one (its daemons in a folder of this test), the pod is read by a real kubectl and
# its containers are played.
# torchrun and python are played: they start NCCL's stand-in, one process a rank,
# with the environment that torchrun and srun give a rank (torchrun.t has the real
# torchrun).
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/packaging/quickstart_lib.sh"
T=$(cd "$T" && pwd -P)
tools=$TOP/build/tools
unset SLURM_CONF KUBECONFIG
daemons=
stop() {
	for p in $daemons; do kill "$p" 2>/dev/null; done
	for p in $daemons; do wait "$p" 2>/dev/null; done
	[ -s "$T/munged.pid" ] && kill "$(cat "$T/munged.pid")" 2>/dev/null
	await munged_ended
	finish
}
munged_ended() { ! pgrep -f "munged .*$T/munge" >/dev/null; }
trap stop EXIT
trap "exit 143" TERM INT PIPE
cd "$T" || exit 1

install_here
cat >"$T/bin/python" <<EOF
#!/bin/sh
[ "\$*" = train.py ] || exit 64
exec "$B/test/fakes/host/standin" --ranks "\${WORLD_SIZE:-\$SLURM_NTASKS}" \\
	--rank "\${RANK:-\$SLURM_PROCID}" --meet "$T/meet" --events --seconds inf --pause-ms 2
EOF
cat >"$T/bin/torchrun" <<EOF
#!/bin/sh
n=\${1#--nproc_per_node=}
shift
for r in \$(seq 0 \$((n - 1))); do
	RANK=\$r LOCAL_RANK=\$r WORLD_SIZE=\$n LOCAL_WORLD_SIZE=\$n \\
		MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python "\$@" &
done
trap 'kill \$(jobs -p)' TERM
wait
EOF
chmod +x "$T"/bin/*
attached() { [ "$("$S" -q -o tsv list 2>/dev/null | grep -c attachable)" -eq 8 ]; }
ended() { ! pgrep -f "meet $T/meet" >/dev/null; }

block PyTorch torchrun >torch.sh
setsid sh torch.sh >torch.log 2>&1 &
launcher=$!
await attached
ok "PyTorch: eight processes that torchrun starts are one job" $?
run -o tsv list
[ "$(cut -f 3 "$T/out" | grep -c '^[0-7]$')" -eq 8 ]
ok "PyTorch: each has the rank that torchrun gave it" $?
status 0 "PyTorch: a policy is loaded" policy load "$B/policies/size_aware.policy"
status 0 "PyTorch: and used by all ranks" policy use size_aware
kill -- "-$launcher"
await ended
ok "PyTorch: torchrun ends, and its processes" $?
rm -f "$T/meet"

# nccl-tests: its options as the stand-in's, eight ranks in one process.
cat >"$T/bin/all_reduce_perf" <<EOF
#!/bin/sh
[ "\$*" = "-b 1M -e 1G -f 2 -g 8 -n 100" ] || exit 64
exec "$B/test/fakes/host/standin" --ranks 8 --threads --min 1M --max 1G --factor 2 \\
	--seconds inf --pause-ms 20
EOF
chmod +x "$T/bin/all_reduce_perf"
block nccl-tests all_reduce_perf >perf.sh
setsid sh perf.sh >perf.log 2>&1 &
launcher=$!
one_process() { [ "$("$S" -q -o tsv list 2>/dev/null | grep -c attachable)" -eq 1 ]; }
await one_process
ok "nccl-tests: one process with eight ranks" $?
"$S" decision tail follow=yes >tail.out 2>why &
follower=$!
sizes() { grep -qw 1073741824 tail.out && grep -qw 1048576 tail.out; }
await sizes
ok "nccl-tests: the decisions of all sizes are followed" $?
kill "$follower" && wait "$follower" 2>/dev/null
kill -- "-$launcher"
await eval '! one_process'
ok "nccl-tests: it ends" $?

# The commands for containers name stages and arguments that the Containerfile has.
file=$TOP/examples/containers/Containerfile
for f in "$TOP/docs/quickstart.md" "$TOP/examples/containers/README.md"; do
	grep -o -e '--target [a-z]*' -e '--build-arg [A-Z]*' -e '-f [a-z/]*Containerfile' "$f"
done | sort -u | while read -r option value; do
	case $option in
	--target) grep -q "^FROM .* AS $value\$" "$file" ;;
	--build-arg) grep -q "^ARG $value=" "$file" ;;
	-f) [ -f "$TOP/$value" ] ;;
	esac || echo "$option $value: not in $file"
done >"$T/why"
[ ! -s "$T/why" ]
ok "containers: the stages and arguments of the commands are in the Containerfile" $?

# A controller, a node with eight processors and GPUs, munge: all of this user.
# Slurm's daemons go by the name that they are called by.
node=$(hostname -s)
slurm_start() {
	root=$tools/slurm lib=$(dirname "$tools"/slurm/usr/lib/*/slurm-wlm)
	mkdir "$T/sbin" "$T/state" "$T/spool"
	for d in slurmctld slurmd slurmstepd; do ln -s "$root/usr/sbin/$d-wlm" "$T/sbin/$d"; done
	LD_LIBRARY_PATH=$lib/slurm-wlm:$lib:$LD_LIBRARY_PATH PATH=$root/usr/bin:$PATH
	export SLURM_CONF="$T/slurm.conf"
	(umask 077 && head -c 128 /dev/urandom >munge.key)
	touch gpu0 gpu1 gpu2 gpu3 gpu4 gpu5 gpu6 gpu7
	echo "Name=gpu File=$T/gpu[0-7]" >gres.conf
	ports=$(python3 -c 'import socket
s = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(x.getsockname()[1] for x in s))')
	cat >slurm.conf <<EOF
ClusterName=test
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$T/munge.sock
SlurmctldPort=${ports% *}
SlurmdPort=${ports#* }
StateSaveLocation=$T/state
SlurmdSpoolDir=$T/spool
SlurmctldPidFile=$T/slurmctld.pid
SlurmdPidFile=$T/slurmd.pid
PluginDir=$lib/slurm-wlm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
MailProg=/bin/true
KillWait=2
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=$node NodeAddr=127.0.0.1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 Gres=gpu:8
PartitionName=all Nodes=ALL Default=YES State=UP
EOF
	"$root/usr/sbin/munged" --force --socket="$T/munge.sock" --key-file="$T/munge.key" \
		--pid-file="$T/munged.pid" --log-file="$T/munged.log" \
		--seed-file="$T/munged.seed" >slurm.log 2>&1 || return
	"$T/sbin/slurmctld" -D -c >>slurm.log 2>&1 &
	daemons="$daemons $!"
	"$T/sbin/slurmd" -D -N "$node" -d "$T/sbin/slurmstepd" >>slurm.log 2>&1 &
	daemons="$daemons $!"
	await slurm_idle
}
slurm_idle() { sinfo -h -o %t 2>/dev/null | grep -qx idle; }
job_gone() { [ -z "$(squeue -h -j "$id" 2>/dev/null)" ]; }
# The page's command, with the job's number for ID and without a terminal.
in_job() { # shell's arguments
	sed "s/--pty ncclbpf-shell/ncclbpf-shell/; s/ID/$id/g" attach >attach.sh
	sed -i "s/\$/ \"\$@\"/" attach.sh
	timeout 300 sh attach.sh "$@" >out 2>why </dev/null
}
in_job_attached() { in_job -q -o tsv list && [ "$(grep -c attachable out)" -eq 8 ]; }
with_slurm() {
	slurm_start
	ok "Slurm: a cluster of one node" $?
	block Slurm '#SBATCH' >train.sbatch
	awk '
		/^## Slurm/ { on = 1 }
		on && match($0, /`srun --jobid[^`]*`/) {
			print substr($0, RSTART + 1, RLENGTH - 2)
			exit
		}
	' \
		"$TOP/docs/quickstart.md" >attach
	# What sbatch starts has the environment of a login, not this test's.
	id=$(env -u NCCL_TUNER_PLUGIN sbatch --parsable train.sbatch 2>why)
	[ -n "$id" ]
	ok "Slurm: sbatch takes the script" $?
	await in_job_attached
	ok "Slurm: eight tasks of srun are one job, attached to by a step of it" $?
	[ "$(awk -F '\t' -v job="$id" '$1 == job { print $3 }' out | sort |
		tr -d '\n')" = 01234567 ]
	ok "Slurm: the job is named after Slurm's, the ranks after its tasks" $?
	in_job policy load "$B/policies/size_aware.policy" && in_job policy use size_aware
	ok "Slurm: the step changes policies" $?
	scancel "$id"
	await job_gone && await ended
	ok "Slurm: scancel ends the job" $?
	rm -f "$T/meet"
}
if [ -x "$tools/slurm/usr/sbin/slurmd-wlm" ]; then
	with_slurm
else
	tests=$((tests + 1))
	echo "ok $tests - Slurm # SKIP no Slurm here: test/setup.sh slurm"
fi

# The pod as kubectl reads it, played: the init container's command, then the
# job's, with the paths of the volume and the image in folders of this test.
kubectl=$(command -v kubectl || echo "$tools/kubectl/usr/bin/kubectl")
pod() { python3 "$TOP/test/packaging/quickstart_pod.py" "$@"; }
# A file as it stands, and as the pod that kubectl makes of it: what kubectl does
# not know is lost. $1.raw, $1.json
read_pod() { # name, file
	"$kubectl" label --local -f "$2" test- -o json >"$1.raw" 2>why &&
		"$kubectl" set env --local -f "$2" -o json TEST=yes >"$1.json" 2>why
}
with_kubectl() {
	read_pod train "$TOP/examples/containers/train.yaml" &&
		read_pod fleet "$TOP/examples/fleet/kubernetes.yaml"
	ok "Kubernetes: kubectl reads the pods of examples/containers and examples/fleet" $?
	pod fields train.raw train.json >why && pod fields fleet.raw fleet.json >why
	ok "Kubernetes: it knows all of their fields" $?
	pod mounts train.json >why && pod mounts fleet.json >why
	ok "Kubernetes: what variables name lies in volumes that are mounted" $?
	mkdir -m 777 volume && mkdir -p usr/lib/x86_64-linux-gnu &&
		cp "$B/libncclbpf.so" usr/lib/x86_64-linux-gnu/
	pod script train.json "$T" plugin >init.sh 2>why && sh -e init.sh 2>why &&
		cmp volume/libncclbpf.so "$B/libncclbpf.so" >why
	ok "Kubernetes: the init container brings the plugin" $?
	pod script train.json "$T" train >train.sh 2>why
	env -u NCCLBPF_SOCKET_DIR -u LD_LIBRARY_PATH setsid sh train.sh >train.log 2>&1 &
	launcher=$!
	# The shell's container has the variables of the pod, and its own command line.
	pod script train.json "$T" shell | sed 's/^exec .*/exec "$@"/' >shell.sh
	in_pod() { env -u NCCLBPF_SOCKET_DIR sh shell.sh "$S" -q -o tsv "$@" >out 2>why; }
	in_pod_attached() { in_pod list && [ "$(grep -c '^train.attachable' out)" -eq 8 ]; }
	await in_pod_attached
	ok "Kubernetes: the sidecar's shell finds the job of the other container" $?
	in_pod policy load "$B/policies/size_aware.policy" && in_pod policy use size_aware
	ok "Kubernetes: and changes its policy" $?
	kill -- "-$launcher"
	await ended
}
if [ -x "$kubectl" ]; then
	with_kubectl
else
	tests=$((tests + 1))
	echo "ok $tests - Kubernetes # SKIP no kubectl here: test/setup.sh kubectl"
fi
