#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: each of three communicators decides with policies of its own.
. "$(dirname "$0")/../three.sh"
a=c0ffee0000000000 b=c0ffee0000000001 c=c0ffee0000000002
do_ 0 policy load "$B/policies/nvlink_ring_mid.policy"
do_ 0 policy load "$B/policies/size_aware.policy"

do_ 0 policy use nvlink_ring_mid comm=$a
do_ 0 policy use size_aware comm=$b
do_ 0 policy list
decides $a '"nvlink_ring_mid"'
decides $b '"size_aware"'
decides $c ''

# what has no policies of its own, now and later
do_ 0 policy use size_aware nvlink_ring_mid comm=others
decides $c '"size_aware","nvlink_ring_mid"'
decides $a '"nvlink_ring_mid"'
do_ 0 explain allreduce 16M comm=$a
do_ 0 explain allreduce 16M comm=$c

# a tenant goes back to what the others have
do_ 0 policy use common comm=$b
decides $b '"size_aware","nvlink_ring_mid"'
do_ 0 policy history
do_ 0 check agreement
