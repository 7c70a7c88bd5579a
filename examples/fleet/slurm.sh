#!/bin/sh
# SPDX-License-Identifier: MIT
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
# One job name for all nodes; each node's first process starts the agent.
export NCCLBPF_JOB="slurm-$SLURM_JOB_ID"
export NCCLBPF_FLEET=https://etcd-a:2379,https://etcd-b:2379,https://etcd-c:2379
export NCCLBPF_FLEET_CACERT=/etc/ncclbpf/ca.pem
export NCCLBPF_FLEET_CERT=/etc/ncclbpf/agent.pem NCCLBPF_FLEET_KEY=/etc/ncclbpf/agent.key
export NCCL_TUNER_PLUGIN=/usr/lib/libncclbpf.so NCCL_PROFILER_PLUGIN=/usr/lib/libncclbpf.so
exec srun --export=ALL "$@"
