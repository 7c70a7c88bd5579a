#!/bin/sh
# SPDX-License-Identifier: MIT
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
# One job name for all nodes, and an agent on each, which ends with the batch job. An agent that is
# killed starts again: a rank at an armed fence waits for it.
export NCCLBPF_JOB="slurm-$SLURM_JOB_ID"
export NCCLBPF_FLEET=https://etcd-a:2379,https://etcd-b:2379,https://etcd-c:2379
export NCCLBPF_FLEET_CACERT=/etc/ncclbpf/ca.pem
export NCCLBPF_FLEET_CERT=/etc/ncclbpf/agent.pem NCCLBPF_FLEET_KEY=/etc/ncclbpf/agent.key
export NCCL_TUNER_PLUGIN=/usr/lib/libncclbpf.so NCCL_PROFILER_PLUGIN=/usr/lib/libncclbpf.so
srun --export=ALL --overlap --ntasks-per-node=1 \
	sh -c 'while ncclbpf-agent; [ $? -gt 128 ]; do sleep 1; done' &
agents=$!
srun --export=ALL "$@"
status=$?
kill "$agents"
exit $status
