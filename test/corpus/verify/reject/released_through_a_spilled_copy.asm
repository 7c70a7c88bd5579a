# SPDX-License-Identifier: MIT
# expect: reject use_after_release 11
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
stxdw [%r10-8], %r0
ldxdw %r1, [%r10-8]
mov %r2, 0
call 132 # near:
stdw [%r6], 1
# near: call 132
out:
mov %r0, 0
exit
