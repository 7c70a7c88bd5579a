/* SPDX-License-Identifier: MIT */
/*
 * Each row is a fact about a rank's host, and a field of struct ncclbpf_tuner
 * of the same name, which has the fact if it is the same for all ranks of the
 * communicator (docs/coherence.md).
 *
 * name: enumerator NB_FACT_<name>, name of the field, and name in
 *       NCCLBPF_PLATFORM.
 */
FACT(gpu_arch)
FACT(gpus_per_node)
FACT(nics)
FACT(nic_mbps)
#undef FACT
